import type { UnprovenRejections } from "../../core/intent";
import { SAME_TIME_MS, type Onset } from "./cause";

/** Rejections that were seen within this time happen at once: every object has a pass within about a minute. */
const AT_ONCE_MS = 300_000;

/**
 * Summarizes the unexplained persistent rejections in all objects, for the canary and the breaker. A few 401s are normal. `watched` is the
 * number of workloads of all objects. Pure.
 */
export function rejectionsOf(onsets: readonly Onset[], watched: number, nowMs: number): UnprovenRejections {
  const persistent = onsets.filter(({ isPersistent }) => isPersistent);
  const current = persistent.filter(({ seenMs }) => nowMs - seenMs < AT_ONCE_MS);
  const workloads = new Set(current.map(({ namespace, workload }) => `${namespace}/${workload}`)).size;
  const togetherSinceMs = startTogether(persistent.filter(({ isStartUnknown }) => isStartUnknown !== true));
  return { workloads, watched, ...(togetherSinceMs === undefined ? {} : { togetherSinceMs }) };
}

/** Start of the first rejections of two ServiceAccounts that began within {@link SAME_TIME_MS} of each other. */
function startTogether(onsets: readonly Onset[]): number | undefined {
  const byTime = onsets.toSorted((a, b) => a.sinceMs - b.sinceMs);
  // Between the first and the last of several there are two neighbors with different ServiceAccounts.
  return byTime.find((onset, i) => {
    const next = byTime[i + 1];
    return next !== undefined && isOther(onset, next) && next.sinceMs - onset.sinceMs <= SAME_TIME_MS;
  })?.sinceMs;
}

function isOther(a: Onset, b: Onset): boolean {
  return a.namespace !== b.namespace || a.serviceAccount !== b.serviceAccount;
}
