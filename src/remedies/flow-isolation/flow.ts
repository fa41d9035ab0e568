import type { FlowStatus } from "../../api/controller-resilience";
import { parseDuration, toSeconds } from "../../core/time";
import { isOwnedBy, levelOf } from "../../core/owned";
import type { ClusterObjectView } from "../../core/views";
import { type AccountFacts, type FlowIsolationFacts, isThrottleable, type Spec } from "./facts";
import { DRAINED_MS, LEASE_LEVEL, QUARANTINE_LEVEL, usualLevel } from "./levels";
import {
  flowSchemaName,
  type Piece,
  pieceOf,
  precedence,
  viewNamed,
  wantedFlow,
  wantedLeaseFlow,
  wantedLevels,
} from "./objects";
import { MAX_BETWEEN_MS, MAX_OLDEST_MS, type Reading, readRate, shownRate } from "./rate";
import { isOfOther, shadowOf } from "./shadow";
import { isReleasing, isRunaway, nextThrottle, type Throttle, type ThrottleLimits } from "./throttle";

/** One ServiceAccount's flow, before its findings. */
export interface Flow {
  readonly facts: FlowIsolationFacts;
  readonly spec: Spec;
  readonly account: AccountFacts;
  readonly nowMs: number;
  readonly limits: ThrottleLimits;
  readonly reading: Reading;
  /** Until when its clients may list again after a change of the API servers; absent: there was none. */
  readonly settlingUntilMs?: number;
  /** From status; absent when status has no entry. */
  readonly before?: Throttle;
  readonly throttle: Throttle;
  /** Its throttle is over, but the cluster still shows it; Failed: for so long that a person has to act. */
  readonly release?: "Due" | "Failed";
  /** The rate as reported, in requests per second; absent when unknown. */
  readonly rate?: number;
  /** Another FlowSchema that matches its requests before its own does. */
  readonly shadow?: ClusterObjectView;
  /** It has made more lease requests than its threshold for `for`. */
  readonly isLeaseFlood: boolean;
  /** The level that its FlowSchema refers to from now on. */
  readonly level: string;
  /** FlowSchema for all its requests. */
  readonly own: Piece;
  /** FlowSchema for its leases. */
  readonly lease: Piece;
}

/** The flow of one ServiceAccount in this pass. */
export function flowOf(account: AccountFacts, facts: FlowIsolationFacts, spec: Spec, nowMs: number): Flow {
  const match = matchOf(account, facts);
  const limits = limitsOf(facts, spec, account, match);
  const before = throttleOf(account.record, facts);
  // A fleet that lists again is no runaway. A flood that outlasts it counts from its beginning.
  const { settlingUntilMs = -Infinity } = facts.rates;
  const isSettling = settlingUntilMs > nowMs;
  const settled = (counted: Reading): Reading => (isSettling ? { ...counted, overMs: 0 } : counted);
  const reading = settled(readingOf(match, facts, { account, limits, before }));
  const throttle = nextThrottle(before, reading, limits, nowMs);
  const rate = shownRate(reading, limits.threshold, throttle.state === before?.state ? account.record : undefined);
  const release = releaseOf(throttle, nowMs);
  const level = isQuarantined({ throttle, release }) ? QUARANTINE_LEVEL : usualLevel(facts, spec);
  return {
    ...{ facts, spec, account, nowMs, limits, reading, throttle, level },
    ...(before === undefined ? {} : { before }),
    ...(isSettling && { settlingUntilMs }),
    ...(release === undefined ? {} : { release }),
    ...(rate === undefined ? {} : { rate }),
    ...(match.shadow === undefined ? {} : { shadow: match.shadow }),
    isLeaseFlood: isRunaway(settled(leaseReading(match.lease, facts, account, limits)), limits),
    own: pieceOf(wantedFlow(facts, account.name, spec, level), facts.schemas),
    lease: match.lease,
  };
}

/** Leases have a FlowSchema of their own, and are not throttled. */
function leaseReading(
  lease: Piece,
  { rates }: FlowIsolationFacts,
  { runningPods }: AccountFacts,
  limits: ThrottleLimits,
): Reading {
  if (runningPods === undefined) return { overMs: 0 };
  return readRate(rates, lease.wanted.name, limits.threshold, { maxBetweenMs: MAX_OLDEST_MS });
}

/** For how long a throttle or its release is tried before a person has to act, in milliseconds. */
export const TRIED_MS = 180_000;

function releaseOf(throttle: Throttle, nowMs: number): Flow["release"] {
  if (!isReleasing(throttle, nowMs)) return undefined;
  return nowMs - (throttle.untilMs ?? nowMs) >= TRIED_MS ? "Failed" : "Due";
}

/** The FlowSchemas in the cluster that match a ServiceAccount's requests. */
interface Match {
  readonly own?: ClusterObjectView;
  readonly shadow?: ClusterObjectView;
  readonly lease: Piece;
}

function matchOf({ name }: AccountFacts, facts: FlowIsolationFacts): Match {
  const { owner, schemas } = facts;
  const wanted = { name: flowSchemaName(owner, name), spec: { matchingPrecedence: precedence(owner) } };
  const own = viewNamed(wanted.name, schemas);
  const shadow = shadowOf(own ?? wanted, schemas ?? [], { ...owner.metadata, name });
  return { ...(own && { own }), ...(shadow && { shadow }), lease: pieceOf(wantedLeaseFlow(facts, name), schemas) };
}

/** A throttled client must not lose its leases, and a foreign FlowSchema measures nothing of it. */
function isInPlace({ own, lease }: Match, { owner }: FlowIsolationFacts): boolean {
  return own !== undefined && isOwnedBy(own, owner) && lease.is === "right";
}

/** The API server counts requests by the FlowSchema that they match. Counts during a throttle, or of requests queued then, are ignored. */
function readingOf(
  { own, shadow }: Match,
  { rates }: FlowIsolationFacts,
  { account, limits, before }: Pick<Flow, "account" | "limits"> & { readonly before: Throttle | undefined },
): Reading {
  const fromMs = before?.state === "Probation" ? before.sinceMs + DRAINED_MS : -Infinity;
  const maxBetweenMs = limits.mayThrottle ? MAX_BETWEEN_MS : MAX_OLDEST_MS;
  if (own === undefined || shadow !== undefined || account.runningPods === undefined) return { overMs: 0 };
  return readRate(rates, own.name, limits.threshold, { fromMs, maxBetweenMs });
}

function limitsOf(facts: FlowIsolationFacts, spec: Spec, account: AccountFacts, match: Match): ThrottleLimits {
  const { for: over, release } = spec.requestRate;
  // With onRunaway: Report there is no quarantine level.
  const state = stateOfLevel(QUARANTINE_LEVEL, facts, spec);
  return {
    threshold: spec.requestRate.threshold * podsOf(account),
    forMs: parseDuration(over),
    releaseMs: parseDuration(release),
    // A FlowSchema without its level is ignored, and a level with seats throttles nothing.
    mayThrottle:
      facts.mode === "Enforce" &&
      facts.notUnderstood === undefined &&
      state === "right" &&
      isInPlace(match, facts) &&
      // Without its level the FlowSchema for leases is ignored: a throttled client would lose its leases.
      stateOfLevel(LEASE_LEVEL, facts, spec) === "right" &&
      isThrottleable(account, facts),
    mayStayThrottled: state !== undefined && state !== "foreign" && account.isOperator !== true,
    // As the cluster shows it, by any author of the FlowSchema.
    isHeld: match.own !== undefined && levelOf(match.own) === QUARANTINE_LEVEL,
  };
}

function stateOfLevel(level: string, facts: FlowIsolationFacts, spec: Spec): Piece["is"] | undefined {
  const wanted = wantedLevels(facts, spec).find(({ name }) => name === level);
  return wanted === undefined ? undefined : pieceOf(wanted, facts.levels).is;
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

/** Reports whether its FlowSchema refers to the quarantine level now. */
export function isInQuarantine({ own }: Flow): boolean {
  return own.is !== "foreign" && refersToQuarantine(own);
}

/** Reports whether a FlowSchema of another owner names it for all its requests: then it gets no other. */
export function isLeftToOther({ shadow, account, facts }: Flow): boolean {
  return shadow !== undefined && isOfOther(shadow, { ...facts.owner.metadata, name: account.name });
}

/** Reports whether the FlowSchema of that name refers to the quarantine level; it can be foreign. */
export function refersToQuarantine({ view }: Piece): boolean {
  return view !== undefined && levelOf(view) === QUARANTINE_LEVEL;
}

/** Its FlowSchema was right for this generation before: a difference now is another manager's change. */
export function isPutBack({ account, facts, level }: Flow): boolean {
  return account.record?.generation === facts.generation && account.record.priorityLevel === level;
}

/** Reports whether it belongs into quarantine now: a throttle that is not over. */
export function isQuarantined({ throttle, release }: { throttle: Throttle; release?: Flow["release"] }): boolean {
  return throttle.state === "Throttled" && release === undefined;
}

/** Its entry in status.flows before this pass writes anything. */
export function entryOf(flow: Flow): FlowStatus {
  const { account, facts, own, level, rate } = flow;
  // Nothing but releases is written while the targets are not understood. To be given up holds for a generation, too.
  const isDone = facts.notUnderstood === undefined && piecesOf(flow).every(({ is }) => is === "right");
  const generation = isDone || flow.throttle.state === "GivenUp" ? facts.generation : account.record?.generation;
  // The level that the operator wrote, even where another manager has changed it since.
  const priorityLevel = own.is === "right" ? level : account.record?.priorityLevel;
  return {
    serviceAccount: account.name,
    flowSchema: own.wanted.name,
    ...(priorityLevel === undefined ? {} : { priorityLevel }),
    ...(rate === undefined ? {} : { requestsPerSecond: rate }),
    ...stateOf(flow),
    ...(generation === undefined ? {} : { generation }),
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
