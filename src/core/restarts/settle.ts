import type { RestartStatus } from "../../api/controller-resilience";
import { CLOCK_SKEW_MS } from "../time";

/**
 * A request younger than this may have been executed, although its answer was lost: the known pods are up to 240 s old (the longest
 * silence of a watch), and another clock may have stamped them.
 */
const IN_FLIGHT_MS = 300_000;

/** What a remedy observed about its restarts. */
export interface RestartEvidence {
  /** Reports whether the effect of a requested restart is visible, such as a pod that is gone. */
  readonly wasExecuted: (entry: RestartStatus) => boolean;
  /** Returns the outcome of an executed restart: Restarted while its effect is unknown. */
  readonly outcomeOf: (entry: RestartStatus) => RestartStatus["outcome"];
}

/**
 * Settles the open restarts of a history; the other entries stay unchanged. A request whose answer was lost, or that a crash left behind,
 * counts as executed once its effect is visible. Without a visible effect it stays open while it may be in flight, then it is dropped:
 * it was never executed, so it costs no budget. An executed restart gets the outcome that the remedy observed. Pure: history in, history out.
 */
export function settleOpenRestarts(
  history: readonly RestartStatus[],
  evidence: RestartEvidence,
  nowMs: number,
): RestartStatus[] {
  return history.flatMap(entry => {
    const confirmed = entry.outcome === "Requested" ? confirmRequest(entry, evidence, nowMs) : entry;
    if (confirmed?.outcome !== "Restarted") return confirmed ?? [];
    return { ...confirmed, outcome: evidence.outcomeOf(confirmed) };
  });
}

/** Returns undefined for a request that was never executed. An unreadable time counts as long ago. */
function confirmRequest(
  entry: RestartStatus,
  { wasExecuted }: RestartEvidence,
  nowMs: number,
): RestartStatus | undefined {
  if (wasExecuted(entry)) return { ...entry, outcome: "Restarted" };
  return nowMs - Date.parse(entry.time) < IN_FLIGHT_MS ? entry : undefined;
}

/** Reports whether a pod was created after a restart. The API server's clock stamps pods, in whole seconds. */
export function isCreatedAfter(createdAtMs: number, { time }: RestartStatus): boolean {
  return createdAtMs >= Math.floor(Date.parse(time) / 1000) * 1000 - CLOCK_SKEW_MS;
}
