import type { SandboxEventView } from "../../core/views";
import { NO_TRACE, withUnauthorized, type UnauthorizedTrace } from "../persistence";

/** A DaemonSet counts as present on a node for this long after its last pod there: its next pod may be about to start. */
const REMEMBERED_MS = 180_000;

/** An Event arrives this long after its occurrence at most, by the clock of its node. Older times are not believed: any client can write them. */
const LATE_MS = 30_000;

/** Sandbox failures on one node. */
export interface NodeFailures {
  readonly all: UnauthorizedTrace;
  /** The same by namespace of the pods that could not be started. */
  readonly byNamespace: ReadonlyMap<string, UnauthorizedTrace>;
}

const NO_FAILURES: NodeFailures = { all: NO_TRACE, byNamespace: new Map() };

/** Sandbox failures by node, remembered for one ControllerResilience. The API server deletes the Events after an hour, or with their namespace. */
export class SandboxTraces {
  /** Counts of known Events by uid, so that nothing counts twice, however often an Event is listed. */
  #counts = new Map<string, number>();
  #takenMs: number | undefined;
  readonly #failures = new Map<string, NodeFailures>();
  /** Time of the last pod on a node, by node and workload uid. */
  readonly #workloads = new Map<string, Map<string, number>>();

  /**
   * Adds the occurrences that are new since the last call. An occurrence in the future, by a node's clock, counts as now. Earlier ones do
   * not count: neither those before the first call nor those that an Event only claims.
   */
  take(events: readonly SandboxEventView[], windowMs: number, nowMs: number): void {
    const sinceMs = (this.#takenMs ?? nowMs) - LATE_MS;
    this.#takenMs = nowMs;
    const fresh = events.filter(event => event.lastMs >= sinceMs && isNew(event, this.#counts.get(event.uid)));
    const counted = events.filter(({ uid, unauthorized }) => unauthorized || this.#counts.has(uid));
    this.#counts = new Map(counted.map(({ uid, count }) => [uid, count]));
    for (const event of fresh.toSorted((a, b) => a.lastMs - b.lastMs)) this.#add(event, Math.min(event.lastMs, nowMs));
    for (const [node, { all }] of this.#failures)
      if (nowMs - (all.occasions.at(-1)?.endMs ?? -Infinity) >= windowMs) this.#failures.delete(node);
  }

  #add({ node, namespace }: SandboxEventView, atMs: number): void {
    const { all, byNamespace } = this.of(node);
    const ofNamespace = withUnauthorized(byNamespace.get(namespace) ?? NO_TRACE, atMs, 0);
    this.#failures.set(node, {
      all: withUnauthorized(all, atMs, 0),
      byNamespace: new Map([...byNamespace, [namespace, ofNamespace]]),
    });
  }

  /** Failures on a node. */
  of(node: string): NodeFailures {
    return this.#failures.get(node) ?? NO_FAILURES;
  }

  /** Records the workloads with a pod on a node now. Returns the uids of all workloads with a current or recent pod there. */
  workloadsOn(node: string, workloadUIDs: readonly string[], nowMs: number): ReadonlySet<string> {
    const seen = this.#workloads.get(node) ?? new Map<string, number>();
    this.#workloads.set(node, seen);
    for (const uid of workloadUIDs) seen.set(uid, nowMs);
    for (const [uid, seenMs] of seen) if (nowMs - seenMs >= REMEMBERED_MS) seen.delete(uid);
    return new Set(seen.keys());
  }

  /** Drops the workloads of all other nodes. */
  keepNodes(nodes: ReadonlySet<string>): void {
    for (const node of this.#workloads.keys()) if (!nodes.has(node)) this.#workloads.delete(node);
  }
}

/** Reports whether an Event has occurred again: it is new, or its count was seen to rise. However much it rose, it counts once. Pure. */
function isNew({ count, unauthorized }: SandboxEventView, knownCount: number | undefined): boolean {
  return unauthorized && count > (knownCount ?? 0);
}
