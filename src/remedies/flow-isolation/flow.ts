import type { FlowStatus } from "../../api/controller-resilience";
import { parseDuration, toSeconds } from "../../core/time";
import { levelOf, QUARANTINE_LEVEL } from "../../core/owned";
import { type AccountFacts, type FlowIsolationFacts, isThrottleable, type Spec } from "./facts";
import {
  DRAINED_MS,
  LEASE_LEVEL,
  type Piece,
  pieceOf,
  presentFlow,
  usualLevel,
  wantedFlow,
  wantedLeaseFlow,
} from "./objects";
import { MAX_BETWEEN_MS, MAX_OLDEST_MS, type Reading, readRate, shownRate } from "./rate";
import { type Shadow, shadowOf } from "./shadow";
import { isReleasing, nextThrottle, type Throttle, type ThrottleLimits } from "./throttle";

/** What all flows of a pass share. */
export interface Context {
  readonly facts: FlowIsolationFacts;
  readonly spec: Spec;
  /** The levels that the operator keeps for this object, compared with the cluster. */
  readonly levels: readonly Piece[];
  readonly nowMs: number;
}

/** One ServiceAccount's flow, before its findings. */
export interface Flow extends Context {
  readonly account: AccountFacts;
  readonly limits: ThrottleLimits;
  readonly reading: Reading;
  /** Its clients may list again now, since the API servers have changed. */
  readonly isSettling: boolean;
  /** From status; undefined when status has no entry. */
  readonly before: Throttle | undefined;
  readonly throttle: Throttle;
  /** Its throttle is over, but the cluster still shows it; Failed: for so long that a person has to act. */
  readonly release: "Due" | "Failed" | undefined;
  /** The rate as reported, in requests per second; undefined when unknown. */
  readonly rate: number | undefined;
  /** Another FlowSchema that matches its requests before its own does. */
  readonly shadow: Shadow | undefined;
  /** The level that its FlowSchema refers to from now on. */
  readonly level: string;
  /** FlowSchema for all its requests. */
  readonly own: Piece;
  /** FlowSchema for its leases. */
  readonly lease: Piece;
}

/** The flow of one ServiceAccount in this pass. */
export function flowOf(account: AccountFacts, context: Context): Flow {
  const { facts, nowMs } = context;
  const { name } = account;
  const { owner, schemas, rates } = facts;
  const present = presentFlow(facts, name);
  const shadow = shadowOf(present.view ?? present.wanted, schemas, { ...owner.metadata, name });
  const lease = pieceOf(wantedLeaseFlow(facts, name), schemas);
  const limits = limitsOf(account, context, { present, lease });
  const before = throttleOf(account.record, facts);
  // A fleet that lists again is no runaway. A flood that outlasts it counts from its beginning.
  const isSettling = (rates.settlingUntilMs ?? -Infinity) > nowMs;
  const isMeasured = shadow === undefined && account.runningPods !== undefined;
  const maxBetweenMs = limits.mayThrottle ? MAX_BETWEEN_MS : MAX_OLDEST_MS;
  const counted = isMeasured ? readingOf(present, { ...context, limits, before }, maxBetweenMs) : { overMs: 0 };
  const reading = isSettling ? { ...counted, overMs: 0 } : counted;
  const throttle = nextThrottle(before, reading, limits, nowMs);
  const rate = rateOf({ account, limits, reading, before, throttle });
  const release = releaseOf(throttle, nowMs);
  const level = isQuarantined({ throttle, release }) ? QUARANTINE_LEVEL : usualLevel(facts);
  const own = pieceOf(wantedFlow(facts, name, level), schemas);
  const states = { limits, reading, isSettling, before, throttle, release, rate };
  return { ...context, account, ...states, shadow, level, own, lease };
}

/** The rate for status. Until a throttled client is measured, the rate that led to the throttle stays. */
function rateOf({ account, limits, reading, before, throttle }: Pick<Flow, RateFacts>): number | undefined {
  const reported = throttle.state === before?.state ? account.record : undefined;
  const kept = throttle.state === "Throttled" ? reported?.requestsPerSecond : undefined;
  return shownRate(reading, limits.threshold, reported) ?? kept;
}

type RateFacts = "account" | "limits" | "reading" | "before" | "throttle";

/** For how long a throttle or its release is tried before a person has to act, in milliseconds. */
export const TRIED_MS = 180_000;

function releaseOf(throttle: Throttle, nowMs: number): Flow["release"] {
  if (!isReleasing(throttle, nowMs)) return undefined;
  return nowMs - (throttle.untilMs ?? nowMs) >= TRIED_MS ? "Failed" : "Due";
}

/**
 * The API server counts requests by the FlowSchema that they match. Counts from before a throttle or its release, or of requests queued then, are
 * ignored, and those from before the FlowSchema was as wanted, which may have matched others' requests.
 */
export function readingOf(
  { wanted: { name }, is }: Piece,
  { facts: { rates, rightForMs }, nowMs, limits, before }: Pick<Flow, "facts" | "nowMs" | "limits" | "before">,
  maxBetweenMs: number,
): Reading {
  if (is !== "right") return { overMs: 0 };
  const sinceMs = before?.state === "Probation" || before?.state === "Throttled" ? before.sinceMs : -Infinity;
  const fromMs = Math.max(sinceMs, nowMs - (rightForMs?.get(name) ?? Infinity)) + DRAINED_MS;
  return readRate(rates, name, limits.threshold, { fromMs, maxBetweenMs });
}

function limitsOf(
  account: AccountFacts,
  { facts, spec, levels }: Context,
  { present, lease }: { readonly present: Piece; readonly lease: Piece },
): ThrottleLimits {
  const { threshold, for: over, release } = spec.requestRate;
  const stateOfLevel = (name: string): Piece["is"] | undefined => levels.find(({ wanted }) => wanted.name === name)?.is;
  // With onRunaway: Report there is no quarantine level.
  const quarantine = stateOfLevel(QUARANTINE_LEVEL);
  // A FlowSchema without its level is ignored, and a level with seats throttles nothing. A throttled client must not lose its leases.
  const isInPlace = [quarantine, stateOfLevel(LEASE_LEVEL), lease.is, present.is].every(is => is === "right");
  return {
    threshold: threshold * podsOf(account),
    forMs: parseDuration(over),
    releaseMs: parseDuration(release),
    mayThrottle:
      facts.mode === "Enforce" && facts.notUnderstood === undefined && isInPlace && isThrottleable(account, facts),
    mayStayThrottled: quarantine !== undefined && quarantine !== "foreign" && whySpared(account) === undefined,
    // As the cluster shows it, by any author of the FlowSchema.
    isHeld: present.view !== undefined && levelOf(present.view) === QUARANTINE_LEVEL,
  };
}

/** Why a throttle of it ends at once, as the end of a sentence; undefined: it does not. A component may have started since. */
export function whySpared({ isOperator, isComponent }: AccountFacts): string | undefined {
  if (isOperator === true) return "it is the operator's own";
  return isComponent === true ? "it is a component of the cluster" : undefined;
}

function throttleOf(record: FlowStatus | undefined, { generation }: FlowIsolationFacts): Throttle | undefined {
  if (record?.state === undefined) return undefined;
  const { state, since, until, releaseSeconds, relapses } = record;
  if (state === "GivenUp" && record.generation !== generation) return undefined;
  return {
    state,
    sinceMs: Date.parse(since ?? ""),
    ...(until === undefined ? {} : { untilMs: Date.parse(until) }),
    ...(releaseSeconds === undefined ? {} : { releaseMs: 1_000 * releaseSeconds }),
    ...(relapses === undefined ? {} : { relapses }),
  };
}

/** Its name in messages. */
export function nameOf({ account }: Flow): string {
  return `ServiceAccount ${account.name}`;
}

/** The measured rate and the threshold in words. */
export function measured(flow: Flow): string {
  const { rate, spec } = flow;
  const what = rate === undefined ? "request rate unknown" : `${rate} requests/s`;
  return `${what}, threshold ${thresholdOf(flow)} for ${spec.requestRate.for}.`;
}

/** The threshold in words. */
export function thresholdOf({ limits, spec, account }: Flow): string {
  const pods = podsOf(account);
  const sum = pods > 1 ? ` (${spec.requestRate.threshold} for each of ${pods} pods)` : "";
  return `${limits.threshold} requests/s${sum}`;
}

/** What the threshold is multiplied by. */
function podsOf({ runningPods = 1 }: AccountFacts): number {
  return Math.max(1, runningPods);
}

/** Its FlowSchemas. */
export function piecesOf({ own, lease }: Flow): Piece[] {
  return [own, lease];
}

/** Reports whether it belongs into quarantine now: a throttle that is not over. */
export function isQuarantined({ throttle, release }: Pick<Flow, "throttle" | "release">): boolean {
  return throttle.state === "Throttled" && release === undefined;
}

/** Its entry in status.flows before this pass writes anything. */
export function entryOf(flow: Flow): FlowStatus {
  const { account, facts, own, rate, limits } = flow;
  return {
    serviceAccount: account.name,
    flowSchema: own.wanted.name,
    ...(rate === undefined ? {} : { requestsPerSecond: rate }),
    threshold: limits.threshold,
    ...stateOf(flow),
    generation: facts.generation,
  };
}

function stateOf({ throttle }: Pick<Flow, "throttle">): Omit<FlowStatus, "serviceAccount"> {
  const { state, sinceMs, untilMs, releaseMs, relapses } = throttle;
  return {
    state,
    since: timeOf(sinceMs),
    ...(untilMs === undefined ? {} : { until: timeOf(untilMs) }),
    ...(releaseMs === undefined ? {} : { releaseSeconds: Math.round(releaseMs / 1_000) }),
    ...(relapses === undefined ? {} : { relapses }),
  };
}

/** Latest time of a Date. */
const MAX_MS = 8.64e15;

/** RFC 3339 in whole seconds, for any number. */
export function timeOf(ms: number): string {
  return toSeconds(new Date(Math.min(MAX_MS, Math.max(0, ms))));
}
