import type { SandboxEventView } from "../../core/views";
import { MAX_OCCASIONS, NO_TRACE, OCCASION_MS, withUnauthorized, type UnauthorizedTrace } from "../../logs/persistence";

/** Between two pods of a DaemonSet on a node: while one is replaced, the other DaemonSets there are not alone. */
const REMEMBERED_MS = 180_000;

/** What the Events of sandboxes told of each node, as one ControllerResilience remembers it. The Events themselves go after an hour, or with their namespace. */
export class SandboxTraces {
  /** The counts of Events that were taken in, by uid: so nothing counts twice, however often it is listed. */
  #counts = new Map<string, number>();
  readonly #traces = new Map<string, UnauthorizedTrace>();
  readonly #agents = new Map<string, Map<string, number>>();

  /** Takes in what is new among the Events there are. Of what lies in the future, by a node's clock, it was now. */
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

  /** The rejections on a node. */
  of(node: string): UnauthorizedTrace {
    return this.#traces.get(node) ?? NO_TRACE;
  }

  /** Notes that a workload has a pod on a node now, and tells all that have one or had one a moment ago. */
  meet(node: string, workloadUIDs: readonly string[], nowMs: number): ReadonlySet<string> {
    const met = this.#agents.get(node) ?? new Map<string, number>();
    this.#agents.set(node, met);
    for (const uid of workloadUIDs) met.set(uid, nowMs);
    for (const [uid, seenMs] of met) if (nowMs - seenMs >= REMEMBERED_MS) met.delete(uid);
    return new Set(met.keys());
  }

  /** Forgets the workloads of nodes where none has a pod any more. */
  keepNodes(nodes: ReadonlySet<string>): void {
    for (const node of this.#agents.keys()) if (!nodes.has(node)) this.#agents.delete(node);
  }
}

/**
 * The occurrences in an Event that were not known before. Seen for the first time, one that stands for many is taken for as many,
 * evenly spread from its first to its last; grown since, it happened once more at its last time. Pure.
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
