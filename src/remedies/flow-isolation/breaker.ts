import type { FlowStatus } from "../../api/controller-resilience";
import type { Reading } from "./rate";

/** One ServiceAccount's breaker. Times in milliseconds since the epoch. */
export interface Breaker {
  readonly state: NonNullable<FlowStatus["state"]>;
  /** When that state began. */
  readonly sinceMs: number;
  /** When a throttle ends; or a probation, if it stays quiet: absent while it is not. */
  readonly untilMs?: number;
  /** How long the throttle lasts, or lasted before the probation. */
  readonly releaseMs?: number;
}

/** When it trips, and for how long. From the spec. */
export interface BreakerLimits {
  /** Requests per second. */
  readonly threshold: number;
  readonly forMs: number;
  readonly releaseMs: number;
  /** A runaway may be throttled: neither `onRunaway: Report` nor Observe mode, and the tar pit and its own FlowSchemas are in place. */
  readonly mayThrottle: boolean;
  /** A throttle that is there stays until its end: not with `onRunaway: Report`. */
  readonly mayStayThrottled: boolean;
}

/** No throttle lasts longer, however often a client relapses: the API says so. */
export const MAX_RELEASE_MS = 3_600_000;

/** What was at the threshold is back to normal below this part of it; between the two, nothing changes. */
const CALM = 0.8;

/** Whether it has been over the threshold for so long that it is a runaway. */
export function isRunaway({ overMs }: Reading, { forMs }: BreakerLimits): boolean {
  return overMs >= forMs;
}

/**
 * The breaker now. Pure and total: whatever status says, a throttle ends within its time, and none begins but from a state that was written
 * down before, so that an operator that can't write never throttles anew with each pass.
 */
export function nextBreaker(
  before: Breaker | undefined,
  reading: Reading,
  limits: BreakerLimits,
  nowMs: number,
): Breaker {
  const own = before === undefined ? begin("Normal", nowMs) : withSoundTimes(before, nowMs);
  return STEPS[own.state](own, reading, limits, nowMs);
}

type Step = (own: Breaker, reading: Reading, limits: BreakerLimits, nowMs: number) => Breaker;

const STEPS: Record<Breaker["state"], Step> = {
  Normal: (own, reading, limits, nowMs) => (isOver(reading, limits) ? begin("Elevated", nowMs) : own),
  Elevated: elevated,
  Throttled: throttled,
  Probation: probation,
};

function elevated(own: Breaker, reading: Reading, limits: BreakerLimits, nowMs: number): Breaker {
  if (limits.mayThrottle && isRunaway(reading, limits)) return throttle(limits.releaseMs, nowMs);
  const isCalm = reading.perSecond !== undefined && reading.perSecond < CALM * limits.threshold;
  return isCalm ? begin("Normal", nowMs) : own;
}

/** It ends by time alone: the rate of a client that is held still says nothing of what it would do. */
function throttled(own: Breaker, _reading: Reading, limits: BreakerLimits, nowMs: number): Breaker {
  const releaseMs = releaseOf(own, limits);
  const leftMs = (own.untilMs ?? nowMs) - nowMs;
  if (leftMs <= 0 || !limits.mayStayThrottled) {
    return { ...begin("Probation", nowMs), untilMs: nowMs + quietMs(releaseMs, limits), releaseMs };
  }
  // The clock was set back: it has never more to go than the whole.
  return leftMs > releaseMs ? { ...own, untilMs: nowMs + releaseMs } : own;
}

function probation(own: Breaker, reading: Reading, limits: BreakerLimits, nowMs: number): Breaker {
  if (reading.perSecond === undefined) return own;
  const releaseMs = releaseOf(own, limits);
  if (isOver(reading, limits)) {
    const relapses = limits.mayThrottle && isRunaway(reading, limits);
    return relapses ? throttle(Math.max(2 * releaseMs, limits.releaseMs), nowMs) : withoutEnd(own);
  }
  const endMs = nowMs + quietMs(releaseMs, limits);
  if (own.untilMs === undefined || own.untilMs > endMs) return { ...own, untilMs: endMs };
  return nowMs >= own.untilMs ? begin("Normal", nowMs) : own;
}

function isOver({ perSecond }: Reading, { threshold }: BreakerLimits): boolean {
  return perSecond !== undefined && perSecond >= threshold;
}

/** How long a probation has to be quiet. */
function quietMs(releaseMs: number, { forMs }: BreakerLimits): number {
  return Math.max(forMs, releaseMs);
}

function releaseOf({ releaseMs }: Breaker, limits: BreakerLimits): number {
  return Math.min(MAX_RELEASE_MS, releaseMs ?? limits.releaseMs);
}

function begin(state: Breaker["state"], nowMs: number): Breaker {
  return { state, sinceMs: nowMs };
}

function throttle(wantedMs: number, nowMs: number): Breaker {
  const releaseMs = Math.min(MAX_RELEASE_MS, wantedMs);
  return { state: "Throttled", sinceMs: nowMs, untilMs: nowMs + releaseMs, releaseMs };
}

function withoutEnd(own: Breaker): Breaker {
  const open = { ...own };
  delete open.untilMs;
  return open;
}

/** Status can hold anything, and clocks are set back: a time that is none is left out, and nothing began later than now. */
function withSoundTimes({ state, sinceMs, untilMs, releaseMs }: Breaker, nowMs: number): Breaker {
  return {
    state,
    sinceMs: sinceMs <= nowMs ? sinceMs : nowMs,
    ...(isTime(untilMs) ? { untilMs } : {}),
    ...(isTime(releaseMs) && releaseMs > 0 ? { releaseMs } : {}),
  };
}

function isTime(ms: number | undefined): ms is number {
  return ms !== undefined && Number.isFinite(ms);
}
