import type { PodView, SandboxEventView } from "../core/views";
import {
  NO_TRACE,
  type Persistence,
  persistenceOf,
  type PersistenceRule,
  type UnauthorizedTrace,
  withUnauthorized,
} from "./persistence";
import { CLOCK_SKEW_MS } from "../core/time";

/** A DaemonSet counts as present on a node for this long after its last pod there: its next pod may be about to start. */
const REMEMBERED_MS = 180_000;

/** A node's agent is remembered for so long after its last pod there, in milliseconds: Calico's credential on the node outlives its pod by a day. */
const ABANDONED_MS = 2 * 86_400_000;

/** An Event arrives this long after it was stored at most, while the watch is open. An older one of before the first call says nothing about the present. */
const LATE_MS = 30_000;

/** A watch that broke brings Events this late at most: a cache that was not confirmed for longer can't be read (src/cluster/watch). */
const MISSED_MS = 300_000;

/** The clock of a node may be off by this much: only a pod that became Ready longer ago, by that clock, has been Ready since before. */
const NODE_CLOCK_MS = 600_000;

/** Sandbox failures on one node. */
interface NodeFailures {
  readonly all: UnauthorizedTrace;
  /** The same by namespace of the pods that could not be started. */
  readonly byNamespace: ReadonlyMap<string, UnauthorizedTrace>;
}

const NO_FAILURES: NodeFailures = { all: NO_TRACE, byNamespace: new Map() };

/** When an agent became Ready, as its node's clock claims and by the operator's. */
interface SeenReady {
  readonly claimedMs: number;
  readonly sinceMs: number;
}

/** Sandbox failures by node, remembered for one ControllerResilience. The API server deletes the Events after an hour, or with their namespace. */
export class SandboxTraces {
  /** Counts of known Events by uid, so that nothing counts twice, however often an Event is listed. */
  #counts = new Map<string, number>();
  #firstMs: number | undefined;
  #takenMs: number | undefined;
  #rejected: readonly string[] | undefined;
  /** Events are followed from this time on, which is monotonic. */
  #followedMs: number | undefined;
  readonly #failures = new Map<string, NodeFailures>();
  #ready: ReadonlyMap<string, SeenReady> = new Map();
  /** Time of the last pod on a node, by node and workload uid. */
  readonly #workloads = new Map<string, Map<string, number>>();

  /**
   * Adds the occurrences that are new since the last call, at the time when the API server stored them: no clock of a node is believed.
   * Earlier ones do not count: neither those before the first call nor those that an Event only claims.
   */
  take(events: readonly SandboxEventView[], windowMs: number, nowMs: number): void {
    // The clock may have been set back.
    this.#firstMs = Math.min(this.#firstMs ?? nowMs, nowMs);
    const fromMs = Math.max(this.#firstMs - LATE_MS, Math.min(this.#takenMs ?? nowMs, nowMs) - MISSED_MS);
    const fresh = events
      .filter(event => isNew(event, this.#counts.get(event.uid)))
      .map(event => ({ event, atMs: Math.min(this.#storedMs(event), nowMs) }))
      .filter(({ atMs }) => atMs >= fromMs);
    this.#takenMs = nowMs;
    const counted = events.filter(({ uid, unauthorized }) => unauthorized || this.#counts.has(uid));
    this.#counts = new Map(counted.map(({ uid, count }) => [uid, count]));
    for (const { event, atMs } of fresh.toSorted((a, b) => a.atMs - b.atMs)) this.#add(event, atMs);
    for (const [node, { all }] of this.#failures)
      if (nowMs - (all.occasions.at(-1)?.endMs ?? -Infinity) >= windowMs) this.#failures.delete(node);
  }

  /** A count that was seen to rise rose since the last call, even if the API server does not say when it stored it. */
  #storedMs({ uid, storedMs }: SandboxEventView): number {
    return this.#counts.has(uid) ? Math.max(storedMs, this.#takenMs ?? storedMs) : storedMs;
  }

  #add({ node, namespace }: SandboxEventView, atMs: number): void {
    const { all, byNamespace } = this.of(node);
    const ofNamespace = withUnauthorized(byNamespace.get(namespace) ?? NO_TRACE, atMs, 0);
    this.#failures.set(node, {
      all: withUnauthorized(all, atMs, 0),
      byNamespace: new Map([...byNamespace, [namespace, ofNamespace]]),
    });
  }

  /**
   * Returns the workloads that were `rejected` at the first call, while the Events that were read since are too few to show that they are well:
   * earlier ones are lost to a new leader. `atMs` is monotonic.
   */
  unseen(rejected: readonly string[], minDurationMs: number, atMs: number): readonly string[] {
    this.#rejected ??= rejected;
    if (this.#takenMs !== undefined) this.#followedMs ??= atMs;
    return atMs - (this.#followedMs ?? Infinity) < minDurationMs + LATE_MS ? this.#rejected : [];
  }

  /** Failures on a node. */
  of(node: string): NodeFailures {
    return this.#failures.get(node) ?? NO_FAILURES;
  }

  /** Records which agents are Ready now; forgets all others. */
  seeAgents(agents: readonly PodView[], nowMs: number): void {
    const ready = agents.filter(pod => pod.ready).map((pod): [string, SeenReady] => [pod.uid, this.#seen(pod, nowMs)]);
    this.#ready = new Map(ready);
  }

  #seen({ uid, readySinceMs, createdAtMs }: PodView, nowMs: number): SeenReady {
    const claimedMs = readySinceMs ?? createdAtMs;
    const known = this.#ready.get(uid);
    if (known?.claimedMs === claimedMs) return known;
    return { claimedMs, sinceMs: Math.min(nowMs, claimedMs + NODE_CLOCK_MS) };
  }

  /**
   * Time since which all of the agents are Ready, by the operator's own clock. One that is not Ready may be about to write its
   * credential, so nothing counts yet.
   */
  readySince(agents: readonly PodView[]): number {
    return Math.max(...agents.map(({ uid }) => this.#ready.get(uid)?.sinceMs ?? Infinity));
  }

  /** Records the workloads with a pod on a node now. Returns the uids of all workloads with a current or recent pod there. */
  workloadsOn(node: string, workloadUIDs: readonly string[], nowMs: number): ReadonlySet<string> {
    const seen = this.#workloads.get(node) ?? new Map<string, number>();
    this.#workloads.set(node, seen);
    for (const uid of workloadUIDs) seen.set(uid, nowMs);
    return new Set([...seen].filter(([, seenMs]) => nowMs - seenMs < REMEMBERED_MS).map(([uid]) => uid));
  }

  /** Nodes where a workload had a pod within two days. Forgets the others. */
  nodes(nowMs: number): readonly string[] {
    for (const [node, seen] of this.#workloads)
      if (nowMs - Math.max(...seen.values()) >= ABANDONED_MS) this.#workloads.delete(node);
    return [...this.#workloads.keys()];
  }
}

/** Reports whether an Event has occurred again: it is new, or its count was seen to rise. However much it rose, it counts once. Pure. */
function isNew({ count, unauthorized }: SandboxEventView, knownCount: number | undefined): boolean {
  return unauthorized && count > (knownCount ?? 0);
}

/** Sandbox failures on the node of a CNI agent. */
export interface SandboxFailures extends Persistence {
  /** Pods of only one namespace failed, and it is not the agent's. */
  readonly isOneSided?: boolean;
  /** Present where the failures would be persistent if pods of another namespace failed too. */
  readonly onlyNamespace?: string;
}

/** Failures of pods of two namespaces confirm each other, if each namespace has this many. */
const CONFIRMING_OCCASIONS = 2;

/** Reports whether a pod may have written a credential on its node for a network plugin: it has a CNI folder of the host. */
export function canBeAgent({ cniFolder }: PodView): boolean {
  return cniFolder === true;
}

interface Context {
  readonly failures: NodeFailures;
  /** Of the object, and so of its agents. Who may write Events there may as well delete the agents' pods. */
  readonly namespace: string;
  readonly rule: PersistenceRule;
  readonly nowMs: number;
}

/** Failures since a time. They are persistent only if pods of two namespaces fail, or those of the object's own. Pure. */
export function failuresSince(sinceMs: number, context: Context): SandboxFailures {
  const { failures, namespace } = context;
  const all = stateSince(failures.all, sinceMs, context);
  const byNamespace = [...failures.byNamespace]
    .map(([name, trace]) => ({ name, state: stateSince(trace, sinceMs, context) }))
    .filter(({ state }) => state.state !== "quiet")
    .toSorted((a, b) => b.state.occasions - a.state.occasions);
  const own = byNamespace.find(({ name }) => name === namespace);
  const isOneSided = byNamespace.length === 1 && own === undefined ? { isOneSided: true } : {};
  const [first, second] = byNamespace;
  const isConfirmed = (second?.state.occasions ?? 0) >= CONFIRMING_OCCASIONS || own?.state.state === "persistent";
  if (all.state !== "persistent" || isConfirmed || first === undefined) return { ...all, ...isOneSided };
  return { ...all, ...isOneSided, state: "suspected", onlyNamespace: first.name };
}

/** Failures at about the same time do not count: the API server stored them, and the operator saw the agent Ready. */
function stateSince(trace: UnauthorizedTrace, sinceMs: number, { rule, nowMs }: Context): Persistence {
  const occasions = trace.occasions.filter(({ startMs }) => startMs >= sinceMs + CLOCK_SKEW_MS);
  return persistenceOf({ ...trace, occasions }, rule, nowMs);
}
