import type { SandboxEventView } from "../../core/views";
import { MAX_OCCASIONS, NO_TRACE, OCCASION_MS, withUnauthorized, type UnauthorizedTrace } from "../../logs/persistence";

/** A DaemonSet counts as present on a node for this long after its last pod there: its next pod may be about to start. */
const REMEMBERED_MS = 180_000;

/** Sandbox failures by node, remembered for one ControllerResilience. The API server deletes the Events after an hour, or with their namespace. */
export class SandboxTraces {
  /** Counts of known Events by uid, so that nothing counts twice, however often an Event is listed. */
  #counts = new Map<string, number>();
  readonly #traces = new Map<string, UnauthorizedTrace>();
  /** Time of the last pod on a node, by node and workload uid. */
  readonly #workloads = new Map<string, Map<string, number>>();

  /** Adds the new occurrences of the current Events. An occurrence in the future, by a node's clock, counts as now. */
  take(events: readonly SandboxEventView[], windowMs: number, nowMs: number): void {
    const fresh = events.flatMap(event =>
      occurrencesOf(event, this.#counts.get(event.uid))
        .map(ms => ({ node: event.node, atMs: Math.min(ms, nowMs) }))
        .filter(({ atMs }) => nowMs - atMs < windowMs),
    );
    const counted = events.filter(({ uid, unauthorized }) => unauthorized || this.#counts.has(uid));
    this.#counts = new Map(counted.map(({ uid, count }) => [uid, count]));
    for (const { node, atMs } of fresh.toSorted((a, b) => a.atMs - b.atMs))
      this.#traces.set(node, withUnauthorized(this.of(node), atMs, 0));
    for (const [node, { occasions }] of this.#traces)
      if (nowMs - (occasions.at(-1)?.endMs ?? -Infinity) >= windowMs) this.#traces.delete(node);
  }

  /** Failures on a node. */
  of(node: string): UnauthorizedTrace {
    return this.#traces.get(node) ?? NO_TRACE;
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

/**
 * Returns the new occurrences in an Event. The occurrences of a new series are spread evenly from its first to its last time. A known series
 * with a higher count has one more occurrence, at its last time. Pure.
 */
export function occurrencesOf(event: SandboxEventView, knownCount: number | undefined): readonly number[] {
  const { firstMs, lastMs, count, unauthorized } = event;
  if (!unauthorized) return [];
  if (knownCount !== undefined) return count > knownCount ? [lastMs] : [];
  const most = Math.min(Math.floor((lastMs - firstMs) / OCCASION_MS), MAX_OCCASIONS) + 1;
  const occasions = Math.max(Math.min(count, most), 1);
  if (occasions === 1) return [lastMs];
  return Array.from({ length: occasions }, (_, i) => firstMs + ((lastMs - firstMs) * i) / (occasions - 1));
}
