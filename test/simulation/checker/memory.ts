import type { Obj } from "../server/objects";
import type { Store } from "../server/store";
import { createdMs, restartsOf } from "./objects";
import { onNewLeader, type Sight, type Truth, workloadOf } from "./sight";

// What was true of the pods before they were evicted: the request comes when a pod already ends.

/** The truth is noted so often. */
const LOOK_MS = 5_000;

/** A successor without a 401 for so long has helped (SETTLED_MS of token-restart), but for the clocks, also if it is refused again later. */
const QUIET_MS = 75_000;

/** An evicted pod whose valid token some API servers refused: the successor may ask others. */
interface Split {
  readonly pod: Obj;
  readonly atMs: number;
  successor?: Obj | undefined;
  hasHelped: boolean;
}

/** The last truth about each container before its pod was asked to end, and when each pod was last dead. */
export class Memory {
  readonly #split = new Map<string, Split>();
  readonly #before = new Map<string, Map<string, Truth>>();
  readonly #dead = new Map<string, { readonly atMs: number; readonly cause: Truth["cause"] }>();
  /** The pods that were evicted, and those of which a leader cannot know: no status had them when it took over. */
  readonly #evicted = new Set<string>();
  readonly #unknown = new Set<string>();

  constructor(private readonly sight: Sight) {
    sight.clock.every(LOOK_MS, () => this.#look());
    onNewLeader(sight, () => this.#led());
  }

  #led(): void {
    const known = new Set(this.sight.store.list("controllerresiliences").flatMap(restartsOf));
    for (const uid of this.#evicted) if (!known.has(uid)) this.#unknown.add(uid);
  }

  /** Whether the leader does not know of an eviction, since the status that had it was deleted, or is that of a backup: budgets are in status (docs/adr/0010). */
  isForgotten(atMs: number, uid: string): boolean {
    return this.#unknown.has(uid) || this.sinceTakenBackMs(atMs) < Infinity;
  }

  /** How long ago a restore from a backup has taken back what happened then; Infinity if none has. */
  sinceTakenBackMs(atMs: number): number {
    const nowMs = this.sight.clock.monotonicMs();
    const times = this.sight.plan.happenings.map(({ what, atMs: takenMs, forMs = 0 }) => {
      const sinceMs = nowMs - takenMs - forMs;
      const isAfter = what.startsWith("backup-restored") && atMs >= takenMs && atMs <= takenMs + forMs;
      return isAfter && sinceMs > 0 ? sinceMs : Infinity;
    });
    return Math.min(...times, Infinity);
  }

  /** The containers of a pod. */
  before(uid: string): readonly Truth[] {
    return [...(this.#before.get(uid)?.values() ?? [])];
  }

  /** To be called when a pod is evicted. */
  evicted(pod: Obj): void {
    this.#evicted.add(pod.metadata.uid);
    const isSplit = this.before(pod.metadata.uid).some(({ state }) => state === "token-split");
    if (isSplit) this.#split.set(pod.metadata.uid, { pod, atMs: this.sight.clock.now().getTime(), hasHelped: false });
  }

  /** Whether the eviction of a pod turned out to help: its successor asks another API server, which accepts its token. */
  hasHelped(uid: string): boolean {
    return this.#split.get(uid)?.hasHelped === true;
  }

  #followSplit(): void {
    for (const one of this.#split.values()) {
      one.successor ??= this.#successorOf(one);
      const truths = this.sight.truths().filter(({ uid }) => uid === one.successor?.metadata.uid);
      if (one.successor === undefined || truths.length === 0) continue;
      const lastMs = Math.max(createdMs(one.successor), ...truths.map(({ logged401Ms = 0 }) => logged401Ms));
      one.hasHelped ||= this.sight.clock.now().getTime() - lastMs >= QUIET_MS;
    }
  }

  #successorOf({ pod, atMs }: Split): Obj | undefined {
    const isYounger = (other: Obj): boolean =>
      workloadOf(other) === workloadOf(pod) && createdMs(other) >= atMs - 1_000;
    const younger = this.sight.store.list("pods", pod.metadata.namespace).filter(isYounger);
    return younger.sort((a, b) => createdMs(a) - createdMs(b))[0];
  }

  /** When a restart would last have healed a pod: now, if its token died since the last look. */
  deadMs(uid: string): number {
    for (const truth of this.sight.truths()) if (truth.uid === uid) this.#noteDead(truth);
    return this.#dead.get(uid)?.atMs ?? -Infinity;
  }

  /** Of what a pod was last dead. */
  deadOf(uid: string): Truth["cause"] | undefined {
    return this.#dead.get(uid)?.cause;
  }

  #noteDead(truth: Truth): void {
    if (truth.healedByRestart || isDeadUnused(this.sight, truth))
      this.#dead.set(truth.uid, { atMs: this.sight.clock.monotonicMs(), cause: truth.cause });
  }

  #look(): void {
    this.#followSplit();
    for (const truth of this.sight.truths()) {
      const { uid, container, state } = truth;
      this.#noteDead(truth);
      if (state === "terminating") continue;
      const containers = this.#before.get(uid) ?? new Map<string, Truth>();
      this.#before.set(uid, containers.set(container, truth));
    }
  }
}

/**
 * Whether the operator may restart a pod whose token every API server refuses, although the pod does not use it: the new pod has a token that works.
 * Either 401s of another cluster are in its log, which look like its own, or the pod is older than its ServiceAccount, which a binding names: that is
 * a proof that needs no 401 (docs/remedies/token-restart.md). Or the network plugin of its node, which has it, gets 401s.
 */
function isDeadUnused({ store }: Sight, truth: Truth): boolean {
  const has401s = truth.logged401Ms !== undefined || truth.state === "credential-dead";
  return truth.isTokenDead && (has401s || isOlderThanAccount(store, truth));
}

function isOlderThanAccount(store: Store, { namespace, name }: Truth): boolean {
  const pod = store.get("pods", namespace, name);
  const { serviceAccountName = "" } = pod?.spec ?? {};
  const account = store.get("serviceaccounts", namespace, serviceAccountName);
  if (pod === undefined || account === undefined) return false;
  const bindings = [...store.list("rolebindings", namespace), ...store.list("clusterrolebindings")];
  const isBound = bindings.some(({ subjects }) =>
    ((subjects ?? []) as Subject[]).some(
      one => one.name === serviceAccountName && (one.namespace ?? namespace) === namespace,
    ),
  );
  return isBound && createdMs(account) > createdMs(pod);
}

interface Subject {
  readonly name: string;
  readonly namespace?: string;
}
