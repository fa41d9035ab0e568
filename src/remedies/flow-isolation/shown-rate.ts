import type { FlowStatus } from "../../api/controller-resilience";
import type { Reading } from "./rate";

/** A move of less than this part of the threshold is not worth a write of status. */
const GRAIN = 0.1;

/**
 * The rate as status and sentences tell it, in two digits: what was told before, until it has moved by more than half. A rate that changed
 * with every pass would make every pass write status. Undefined: not known.
 */
export function shownRate(
  { perSecond }: Reading,
  threshold: number,
  told: Pick<FlowStatus, "requestsPerSecond"> | undefined,
): number | undefined {
  if (perSecond === undefined) return undefined;
  const before = told?.requestsPerSecond;
  if (before !== undefined && !hasMoved(before, perSecond, threshold)) return before;
  return Math.min(MAX_RATE, Number(perSecond.toPrecision(2)) < 1 ? 0 : Math.round(Number(perSecond.toPrecision(2))));
}

/** The schema takes an int32. */
const MAX_RATE = 2 ** 31 - 1;

function hasMoved(before: number, now: number, threshold: number): boolean {
  const difference = Math.abs(now - before);
  return difference >= GRAIN * threshold && difference > Math.max(before, now) / 2;
}
