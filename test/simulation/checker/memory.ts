import type { Store } from "../server/store";
import type { Sight, Truth } from "./sight";

// What was true of the pods before they were evicted: the request comes when a pod already ends.

/** The truth is noted so often. */
const LOOK_MS = 5_000;

/** The last truth about each container before its pod was asked to end, and when each pod was last dead. */
export class Memory {
  readonly #before = new Map<string, Map<string, Truth>>();
  readonly #deadMs = new Map<string, number>();

  constructor(private readonly sight: Sight) {
    sight.clock.every(LOOK_MS, () => this.#look());
  }

  /** The containers of a pod. */
  before(uid: string): readonly Truth[] {
    return [...(this.#before.get(uid)?.values() ?? [])];
  }

  /** When a restart would last have healed a pod: now, if its token died since the last look. */
  deadMs(uid: string): number {
    for (const truth of this.sight.truths()) if (truth.uid === uid) this.#noteDead(truth);
    return this.#deadMs.get(uid) ?? -Infinity;
  }

  #noteDead(truth: Truth): void {
    if (truth.healedByRestart || isDeadUnused(this.sight, truth))
      this.#deadMs.set(truth.uid, this.sight.clock.monotonicMs());
  }

  #look(): void {
    for (const truth of this.sight.truths()) {
      const { uid, container, state } = truth;
      if (truth.healedByRestart || isDeadUnused(this.sight, truth))
        this.#deadMs.set(uid, this.sight.clock.monotonicMs());
      if (state === "terminating") continue;
      const containers = this.#before.get(uid) ?? new Map<string, Truth>();
      this.#before.set(uid, containers.set(container, truth));
    }
  }
}

/**
 * Whether the operator may restart a pod whose token every API server refuses, although the pod does not use it: the new pod has a token that works.
 * Either 401s of another cluster are in its log, which look like its own, or the pod is older than its ServiceAccount, which a binding names: that is
 * a proof that needs no 401 (docs/remedies/token-restart.md).
 */
export function isDeadUnused({ store }: Sight, truth: Truth): boolean {
  return truth.isTokenDead && (truth.logged401Ms !== undefined || isOlderThanAccount(store, truth));
}

function isOlderThanAccount(store: Store, { namespace, name }: Truth): boolean {
  const pod = store.get("pods", namespace, name);
  const { serviceAccountName = "" } = (pod?.["spec"] ?? {}) as { serviceAccountName?: string };
  const account = store.get("serviceaccounts", namespace, serviceAccountName);
  if (pod === undefined || account === undefined) return false;
  const bindings = [...store.list("rolebindings", namespace), ...store.list("clusterrolebindings")];
  const isBound = bindings.some(({ subjects }) =>
    ((subjects ?? []) as Subject[]).some(
      one => one.name === serviceAccountName && (one.namespace ?? namespace) === namespace,
    ),
  );
  return isBound && Date.parse(account.metadata.creationTimestamp) > Date.parse(pod.metadata.creationTimestamp);
}

interface Subject {
  readonly name: string;
  readonly namespace?: string;
}

/** Whether a restore from a backup has taken back what status said of an eviction: budgets are in status (docs/adr/0010). */
export function isForgotten({ plan, clock }: Sight, atMs: number): boolean {
  const nowMs = clock.monotonicMs();
  return plan.happenings.some(({ what, atMs: takenMs, forMs = 0 }) => {
    const restoredMs = takenMs + forMs;
    return what.startsWith("backup-restored") && atMs >= takenMs && atMs <= restoredMs && nowMs > restoredMs;
  });
}
