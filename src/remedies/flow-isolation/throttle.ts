import type { FlowStatus } from "../../api/controller-resilience";
import { toSeconds } from "../../core/time";
import type { Reading } from "./rate";

// When a flow is throttled and released. Pure and total.

/** One ServiceAccount's throttle. Times in milliseconds since the epoch. */
export interface Throttle {
  readonly state: NonNullable<FlowStatus["state"]>;
  /** When that state began. */
  readonly sinceMs: number;
  /** End of a throttle; or of a probation that stays below the threshold, else absent. */
  readonly untilMs?: number;
  /** Length of the throttle, also during the probation after it. */
  readonly releaseMs?: number;
  /** Throttles that followed a probation since the flow was last Normal. */
  readonly relapses?: number;
}

/** When the throttle trips, and for how long; from the spec and the cluster. */
export interface ThrottleLimits {
  /** Requests per second. */
  readonly threshold: number;
  readonly forMs: number;
  readonly releaseMs: number;
  /** A throttle may begin now. */
  readonly mayThrottle: boolean;
  /** An existing throttle lasts until its end. */
  readonly mayStayThrottled: boolean;
  /** The cluster still shows a throttle: the FlowSchema refers to the quarantine level. */
  readonly isHeld: boolean;
}

/** Longest throttle, however often a client relapses; stated in the API. */
export const MAX_RELEASE_MS = 3_600_000;

/** Relapses after which a flow is given up: no runaway that six throttles did not stop is stopped by one more. */
export const MAX_RELAPSES = 5;

/** A flow is normal again below this part of the threshold; in between its state stays. */
const CALM = 0.8;

/** A flow that was given up is Normal again after it has been calm for this long, in milliseconds: the client was mended. */
export const FORGIVEN_MS = 86_400_000;

/** The throttle in status. Status may hold anything, and clocks are set back: invalid times and start times in the future are dropped. */
export function throttleIn(record: FlowStatus, nowMs: number): Throttle | undefined {
  const { state, since = "", until = "", releaseSeconds = 0, relapses } = record;
  // A later version may have had others.
  if (state === undefined || !Object.hasOwn(STEPS, state)) return undefined;
  const [sinceMs, untilMs] = [Date.parse(since), Date.parse(until)];
  return {
    state,
    sinceMs: sinceMs <= nowMs ? sinceMs : nowMs,
    ...(Number.isNaN(untilMs) ? {} : { untilMs }),
    ...(releaseSeconds > 0 ? { releaseMs: 1_000 * releaseSeconds } : {}),
    ...(relapses === undefined ? {} : { relapses }),
  };
}

/** The throttle for status. */
export function statusOf({
  state,
  sinceMs,
  untilMs,
  releaseMs,
  relapses,
}: Throttle): Omit<FlowStatus, "serviceAccount"> {
  return {
    state,
    since: timeOf(sinceMs),
    ...(untilMs === undefined ? {} : { until: timeOf(untilMs) }),
    ...(releaseMs === undefined ? {} : { releaseSeconds: Math.round(releaseMs / 1_000) }),
    ...(relapses === undefined ? {} : { relapses }),
  };
}

/** RFC 3339 in whole seconds. */
export function timeOf(ms: number): string {
  return toSeconds(new Date(ms));
}

/** For how long a throttle is over that the cluster still shows, in milliseconds; undefined: it is none, or lasts. */
export function overdueMs({ state, untilMs }: Throttle, nowMs: number): number | undefined {
  const lateMs = nowMs - (untilMs ?? nowMs);
  return state === "Throttled" && lateMs >= 0 ? lateMs : undefined;
}

/** Reports whether the flow was above the threshold for long enough to be a runaway. */
export function isRunaway({ overMs }: Reading, { forMs }: ThrottleLimits): boolean {
  return overMs >= forMs;
}

/**
 * The next state of the throttle: whatever status says, a throttle ends in time. A throttle begins only from a state in status, so an operator that
 * cannot write status never throttles again with each pass. While the cluster shows a throttle, the state is Throttled.
 */
export function nextThrottle(
  before: Throttle | undefined,
  reading: Reading,
  limits: ThrottleLimits,
  nowMs: number,
): Throttle {
  const own = before ?? begin("Normal", nowMs);
  // A throttle that status does not have, such as one that a person or a leader without status made, has to be released.
  if (limits.isHeld && own.state !== "Throttled") return { ...own, ...begin("Throttled", nowMs), untilMs: nowMs };
  return STEPS[own.state](own, reading, limits, nowMs);
}

type Step = (own: Throttle, reading: Reading, limits: ThrottleLimits, nowMs: number) => Throttle;

const STEPS: Record<Throttle["state"], Step> = {
  Normal: (own, reading, limits, nowMs) => (isOver(reading, limits) ? begin("Elevated", nowMs) : own),
  Elevated: elevated,
  Throttled: throttled,
  Probation: probation,
  GivenUp: givenUp,
};

function elevated(own: Throttle, reading: Reading, limits: ThrottleLimits, nowMs: number): Throttle {
  if (limits.mayThrottle && isRunaway(reading, limits)) return throttle(limits.releaseMs, nowMs);
  return isCalm(reading, limits) ? begin("Normal", nowMs) : own;
}

/**
 * A throttle ends by time alone: the rate of a throttled client says nothing about what it would do. Probation follows once the cluster shows
 * that the client is released.
 */
function throttled(own: Throttle, _reading: Reading, limits: ThrottleLimits, nowMs: number): Throttle {
  const releaseMs = releaseOf(own, limits);
  const endMs = own.untilMs ?? nowMs;
  const leftMs = endMs - nowMs;
  if (leftMs <= 0 || !limits.mayStayThrottled) {
    if (limits.isHeld) return { ...own, untilMs: Math.min(endMs, nowMs) };
    return { ...own, ...begin("Probation", nowMs), untilMs: nowMs + quietMs(releaseMs, limits), releaseMs };
  }
  // The clock was set back: never longer than the whole throttle.
  return leftMs > releaseMs ? { ...own, untilMs: nowMs + releaseMs } : own;
}

function probation(own: Throttle, reading: Reading, limits: ThrottleLimits, nowMs: number): Throttle {
  if (reading.perSecond === undefined) return own;
  const releaseMs = releaseOf(own, limits);
  if (isOver(reading, limits)) {
    const relapses = limits.mayThrottle && isRunaway(reading, limits);
    return relapses ? relapse(own, Math.max(2 * releaseMs, limits.releaseMs), nowMs) : withoutEnd(own);
  }
  return normalAfter(quietMs(releaseMs, limits), own, nowMs);
}

/** Until the block changes, a person must look at it; or until it has been calm for a day. */
function givenUp(own: Throttle, reading: Reading, limits: ThrottleLimits, nowMs: number): Throttle {
  if (reading.perSecond === undefined) return own;
  return isCalm(reading, limits) ? normalAfter(FORGIVEN_MS, own, nowMs) : withoutEnd(own);
}

function normalAfter(calmMs: number, own: Throttle, nowMs: number): Throttle {
  const endMs = nowMs + calmMs;
  if (own.untilMs === undefined || own.untilMs > endMs) return { ...own, untilMs: endMs };
  return nowMs >= own.untilMs ? begin("Normal", nowMs) : own;
}

function relapse({ relapses = 0 }: Throttle, releaseMs: number, nowMs: number): Throttle {
  if (relapses >= MAX_RELAPSES) return { ...begin("GivenUp", nowMs), relapses };
  return { ...throttle(releaseMs, nowMs), relapses: relapses + 1 };
}

function isOver({ perSecond }: Reading, { threshold }: ThrottleLimits): boolean {
  return perSecond !== undefined && perSecond >= threshold;
}

function isCalm({ perSecond }: Reading, { threshold }: ThrottleLimits): boolean {
  return perSecond !== undefined && perSecond < CALM * threshold;
}

/** How long the rate must stay below the threshold during probation. */
function quietMs(releaseMs: number, { forMs }: ThrottleLimits): number {
  return Math.max(forMs, releaseMs);
}

function releaseOf({ releaseMs }: Throttle, limits: ThrottleLimits): number {
  return Math.min(MAX_RELEASE_MS, releaseMs ?? limits.releaseMs);
}

function begin(state: Throttle["state"], nowMs: number): Throttle {
  return { state, sinceMs: nowMs };
}

function throttle(wantedMs: number, nowMs: number): Throttle {
  const releaseMs = Math.min(MAX_RELEASE_MS, wantedMs);
  return { state: "Throttled", sinceMs: nowMs, untilMs: nowMs + releaseMs, releaseMs };
}

function withoutEnd(own: Throttle): Throttle {
  const open = { ...own };
  delete open.untilMs;
  return open;
}
