import type { PodTruth as Truth } from "../cluster/cluster";
import type { LogLine } from "../operator";
import type { Entry } from "../server/journal";
import { isReady as hasReadyCondition, type Obj } from "../server/objects";
import type { Store } from "../server/store";
import type { VirtualClock } from "../time";
import type { Plan } from "../world/plan";

// What the checker sees: the world, never what the operator thinks of it.

export type { Entry, Truth };
export { workloadOf } from "../cluster/ground";

/** The world as the checker sees it. */
export interface Sight {
  readonly plan: Plan;
  readonly clock: VirtualClock;
  readonly store: Store;
  /** What the operators have logged. */
  readonly logs: readonly { readonly pod: string; readonly line: LogLine }[];
  truths(): readonly Truth[];
  /** The metrics of the operators that run. */
  metrics(): Promise<string[]>;
  /** Calls back for each request of an operator, when it has been served. */
  onRequest(listener: (entry: Entry) => void): void;
  /** For how long nothing has happened to the world, or nothing that concerns a namespace; 0 while something does. */
  calmSinceMs(namespace?: string): number;
  /** When an API server last refused a token, from the start of the world. */
  refusedMs(): number;
}

/** A watch lasts an hour at most, and every hour it is followed by a list. */
const LIST_MS = 120 * 60_000;

/** For how long nothing has happened, or been missed: who has missed an event of a watch knows it from the next list alone. */
export function knownSinceMs(sight: Sight, namespace?: string): number {
  const nowMs = sight.clock.monotonicMs();
  const lost = sight.plan.happenings.filter(({ what, atMs }) => what === "events-lost" && atMs <= nowMs);
  const listedMs = lost.map(({ atMs, forMs = 0 }) => nowMs - atMs - forMs - LIST_MS);
  return Math.max(0, Math.min(sight.calmSinceMs(namespace), ...listedMs));
}

/** How far the times of two leaders may differ. */
export function clocksMs({ plan: { operators, happenings } }: Sight): number {
  const jumps = happenings.filter(({ what }) => what.startsWith("clock-")).map(({ amount = 0 }) => Math.abs(amount));
  return 2 * Math.max(...operators.map(Math.abs)) + jumps.reduce((sum, one) => sum + one, 0);
}

/** Calls back when another process holds the operator's Lease, or none. */
export function onNewLeader(sight: Pick<Sight, "onRequest">, listener: (lease: Obj, atMs: number) => void): void {
  let leader = "";
  sight.onRequest(({ resource, after, atMs }) => {
    if (resource !== "leases" || after === undefined) return;
    const { holderIdentity = "" } = after.spec ?? {};
    if (holderIdentity === leader) return;
    leader = holderIdentity;
    listener(after, atMs);
  });
}

/** Calls back for each eviction that was served, with the pod as it was before. */
export function onEviction(sight: Pick<Sight, "onRequest">, listener: (pod: Obj, entry: Entry) => void): void {
  sight.onRequest(entry => {
    if (entry.subresource === "eviction" && entry.code === 201 && entry.before !== undefined)
      listener(entry.before, entry);
  });
}

/** A broken promise. */
export interface Violation {
  /** Its number in docs/simulation.md. */
  readonly promise: number;
  readonly atMs: number;
  readonly sentence: string;
}

/** Where checks report what is broken. */
export type Report = (promise: number, sentence: string) => void;

/** The Ready condition of a pod that is not being deleted. */
export function isReady(pod: Obj): boolean {
  return pod.metadata.deletionTimestamp === undefined && hasReadyCondition(pod);
}
