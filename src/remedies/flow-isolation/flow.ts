import type { FlowIsolationSpec, FlowStatus } from "../../api/controller-resilience";
import type { Intent } from "../../core/intent";
import { levelOf, QUARANTINE_LEVEL } from "../../core/owned";
import { whyObserved } from "../../core/remedy";
import { SYSTEM_NAMESPACE } from "../../core/text";
import { formatDuration, parseDuration } from "../../core/time";
import { DRAINED_MS, EVENT, flowOn, LEASE_LEVEL, type Piece, throttles, usualLevel } from "./objects";
import type { AccountFacts, FlowIsolationFacts } from "./observe";
import { MAX_BETWEEN_MS, MAX_OLDEST_MS, type Reading, readRate, shownRate } from "./rate";
import { type Shadow, shadowOf } from "./shadow";
import { nextThrottle, overdueMs, statusOf, type Throttle, throttleIn, type ThrottleLimits } from "./throttle";

/** What all flows of a pass share. */
export interface Context {
  readonly facts: FlowIsolationFacts;
  readonly spec: FlowIsolationSpec;
  readonly nowMs: number;
}

/** One ServiceAccount's flow. */
export interface Flow extends Context {
  readonly account: AccountFacts;
  /** Another FlowSchema that matches its requests before its own does. */
  readonly shadow: Shadow | undefined;
  /** What keeps it from being throttled; undefined: nothing. */
  readonly hindrance: Hindrance | undefined;
  readonly limits: ThrottleLimits;
  readonly reading: Reading;
  /** From status; undefined when status has no entry. */
  readonly before: Throttle | undefined;
  readonly throttle: Throttle;
  /** The rate as reported, in requests per second; undefined when unknown. */
  readonly rate: number | undefined;
  /** FlowSchema for all its requests, on the level that it refers to from now on. */
  readonly own: Piece;
}

/** What keeps a runaway from being throttled. */
export interface Hindrance {
  /** The end of a sentence. */
  readonly why: string;
  /** What a person can do, as a sentence. */
  readonly advice?: string;
  /** A throttle that has begun ends at once, too. */
  readonly isLifting?: true;
  /** The operator is about to end it. */
  readonly isBrief?: boolean;
}

/** The flow of one ServiceAccount in this pass. */
export function flowOf(account: AccountFacts, context: Context): Flow {
  const { facts, nowMs } = context;
  const { name, record, present } = account;
  const shadow = shadowOf(present.view ?? present.wanted, facts.schemas, { ...facts.owner.metadata, name });
  const hindrance = hindranceTo(account, shadow, context);
  const limits = limitsOf(account, hindrance, context);
  // Until the block changes, a flow that was given up is.
  const isOutdated = record?.state === "GivenUp" && record.generation !== facts.generation;
  const before = record === undefined || isOutdated ? undefined : throttleIn(record, nowMs);
  const maxBetweenMs = hindrance === undefined ? MAX_BETWEEN_MS : MAX_OLDEST_MS;
  const counted = { ...context, account, limits, before };
  const reading = shadow === undefined ? readingOf(present, counted, maxBetweenMs) : { overMs: 0 };
  const throttle = nextThrottle(before, reading, limits, nowMs);
  const level = isQuarantined({ throttle, nowMs }) ? QUARANTINE_LEVEL : usualLevel(facts);
  const own = levelOf(present.wanted) === level ? present : flowOn(level, facts, name);
  const rate = rateOf(account, { limits, reading, before, throttle });
  return { ...context, account, shadow, hindrance, limits, reading, before, throttle, rate, own };
}

const NOT_IN_PLACE = "the quarantine level or its own FlowSchemas are not in place";

/** The first that applies; those that lift a throttle come first. The one place that decides whether a throttle may begin, and go on. */
function hindranceTo(account: AccountFacts, shadow: Shadow | undefined, context: Context): Hindrance | undefined {
  const { facts, spec } = context;
  const { mode, kept } = facts;
  const isAt = (name: string): Piece["is"] | undefined => kept.find(({ wanted }) => wanted.name === name)?.is;
  if (!throttles(spec))
    return {
      why: `onRunaway is ${spec.requestRate.onRunaway}`,
      advice: "Fix the client, or throttle it: docs/runbook-runaway.md.",
      isLifting: true,
    };
  const exemption = exemptionOf(account, facts.owner.metadata.namespace);
  if (exemption !== undefined) return exemption;
  if (isAt(QUARANTINE_LEVEL) === "foreign") return { why: NOT_IN_PLACE, isLifting: true };
  if (facts.notUnderstood !== undefined) return { why: "the targets are not understood" };
  if (account.isComponent === undefined)
    return { why: "neither its workloads nor its pods are there, so it may be a component of the cluster" };
  if (mode !== "Enforce") return { why: whyObserved(mode), advice: "Else it would be throttled now." };
  if (shadow !== undefined) return { why: `FlowSchema ${shadow.view.name} matches its requests first` };
  return notInPlace(account, isAt);
}

/** Whose throttle ends at once. */
function exemptionOf(account: AccountFacts, namespace: string): Hindrance | undefined {
  // It could not release itself.
  if (account.isOperator) return { why: "it is the operator's own", isLifting: true };
  // A throttled one can take nodes or all new pods with it.
  if (account.isComponent === true || namespace === SYSTEM_NAMESPACE)
    return {
      why: "it is a component of the cluster",
      advice: "To throttle it by hand: docs/runbook-runaway.md.",
      isLifting: true,
    };
  if (!account.isSpared) return undefined;
  return { why: "a workload or pod that uses it has the skip annotation", isLifting: true };
}

/** A FlowSchema without its level is ignored, and a level with seats throttles nothing. A throttled client must not lose its leases. */
function notInPlace(
  { lease, present }: AccountFacts,
  isAt: (level: string) => Piece["is"] | undefined,
): Hindrance | undefined {
  const needed = [isAt(QUARANTINE_LEVEL), isAt(LEASE_LEVEL), lease.is, present.is];
  if (needed.every(is => is === "right")) return undefined;
  return { why: NOT_IN_PLACE, isBrief: !needed.includes("foreign") };
}

function limitsOf(account: AccountFacts, hindrance: Hindrance | undefined, { spec }: Context): ThrottleLimits {
  const { threshold, for: over, release } = spec.requestRate;
  const { view } = account.present;
  return {
    threshold: threshold * podsOf(account),
    forMs: parseDuration(over),
    releaseMs: parseDuration(release),
    mayThrottle: hindrance === undefined,
    mayStayThrottled: hindrance?.isLifting !== true,
    // As the cluster shows it, by any author of the FlowSchema.
    isHeld: view !== undefined && levelOf(view) === QUARANTINE_LEVEL,
  };
}

/**
 * The API server counts requests by the FlowSchema that they match. Counts from before a throttle or its release, or of requests queued then, are
 * ignored, and those from before the FlowSchema was as wanted, which may have matched others' requests.
 */
export function readingOf(
  { wanted: { name }, is, forMs = Infinity }: Piece,
  { facts, nowMs, account, limits, before }: Pick<Flow, "facts" | "nowMs" | "account" | "limits" | "before">,
  maxBetweenMs: number,
): Reading {
  if (is !== "right" || account.runningPods === undefined) return { overMs: 0 };
  const sinceMs = before?.state === "Probation" || before?.state === "Throttled" ? before.sinceMs : -Infinity;
  const fromMs = Math.max(sinceMs, nowMs - forMs) + DRAINED_MS;
  const reading = readRate(facts.rates, name, limits.threshold, { fromMs, maxBetweenMs });
  // A fleet that lists again is no runaway. A flood that outlasts it counts from its beginning.
  return isSettling({ facts, nowMs }) ? { ...reading, overMs: 0 } : reading;
}

/** Clients may list again now, since the API servers have changed. */
export function isSettling({ facts, nowMs }: Pick<Context, "facts" | "nowMs">): boolean {
  return (facts.rates.settlingUntilMs ?? -Infinity) > nowMs;
}

/** The rate for status. Until a throttled client is measured, the rate that led to the throttle stays. */
function rateOf(
  { record }: AccountFacts,
  { limits, reading, before, throttle }: Pick<Flow, "limits" | "reading" | "before" | "throttle">,
): number | undefined {
  const reported = throttle.state === before?.state ? record?.requestsPerSecond : undefined;
  if (reading.perSecond !== undefined) return shownRate(reading.perSecond, limits.threshold, reported);
  return throttle.state === "Throttled" ? reported : undefined;
}

/** Its FlowSchemas. */
export function piecesOf({ own, account }: Flow): Piece[] {
  return [own, account.lease];
}

/** Reports whether it belongs into quarantine now: a throttle that is not over. */
export function isQuarantined({ throttle, nowMs }: Pick<Flow, "throttle" | "nowMs">): boolean {
  return throttle.state === "Throttled" && overdueMs(throttle, nowMs) === undefined;
}

/** Reports whether a throttle begins with this pass, once its FlowSchema is written. */
export function isBeginning(flow: Flow): boolean {
  return isQuarantined(flow) && flow.before?.state !== "Throttled";
}

/** Its entry in status.flows. */
export function entryOf({ account, facts, own, rate, limits, throttle }: Flow): FlowStatus {
  return {
    serviceAccount: account.name,
    flowSchema: own.wanted.name,
    ...(rate === undefined ? {} : { requestsPerSecond: rate }),
    threshold: limits.threshold,
    ...statusOf(throttle),
    generation: facts.generation,
  };
}

/** Why its FlowSchemas are written now: a step of the throttle first, since people look for that. */
export function reasonToWrite(flow: Flow): Pick<Intent, "why" | "eventReason"> {
  const { throttle, before, limits, facts } = flow;
  const level = usualLevel(facts);
  if (isBeginning(flow)) {
    const why = `${nameOf(flow)} is throttled for ${formatDuration(throttle.releaseMs ?? 0)}: ${measured(flow)}`;
    return { eventReason: EVENT.Throttle, why };
  }
  if (!isQuarantined(flow) && limits.isHeld) {
    const probation = before?.state === "Throttled" ? `, on probation: ${whyReleased(flow)}` : "";
    return { eventReason: EVENT.Release, why: `${nameOf(flow)} is released to level ${level}${probation}.` };
  }
  const isNew = piecesOf(flow).some(({ is }) => is === "missing");
  const what = isNew ? "gets its own flow" : "gets its FlowSchemas restored";
  return { eventReason: EVENT.Provision, why: `${nameOf(flow)} ${what} on level ${level}.` };
}

function whyReleased(flow: Flow): string {
  const { hindrance, spec, throttle } = flow;
  if (hindrance?.isLifting) return hindrance.why;
  return `its throttle of ${formatDuration(throttle.releaseMs ?? 0)} is over; ${thresholdOf(flow)} for ${spec.requestRate.for} would throttle it again`;
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
