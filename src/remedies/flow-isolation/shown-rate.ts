import type { FlowStatus } from "../../api/controller-resilience";
import type { Reading } from "./rate";

/** Smaller moves, as a part of the threshold, are not worth a write of status. */
const GRAIN = 0.1;

/**
 * The rate as reported, in two digits. It stays as reported before until it has moved by more than half: a rate that changed with every pass
 * would make every pass write status. Undefined: unknown.
 */
export function shownRate(
  { perSecond }: Reading,
  threshold: number,
  reported: Pick<FlowStatus, "requestsPerSecond"> | undefined,
): number | undefined {
  if (perSecond === undefined) return undefined;
  const before = reported?.requestsPerSecond;
  if (before !== undefined && !hasMoved(before, perSecond, threshold)) return before;
  return Math.min(MAX_RATE, Number(perSecond.toPrecision(2)) < 1 ? 0 : Math.round(Number(perSecond.toPrecision(2))));
}

/** The schema takes an int32. */
const MAX_RATE = 2 ** 31 - 1;

function hasMoved(before: number, now: number, threshold: number): boolean {
  const difference = Math.abs(now - before);
  return difference >= GRAIN * threshold && difference > Math.max(before, now) / 2;
}
