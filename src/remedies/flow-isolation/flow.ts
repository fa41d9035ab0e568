import type { FlowStatus } from "../../api/controller-resilience";
import { toSeconds } from "../../core/time";
import { viewIn } from "../../core/desired";
import { parseDuration } from "../../core/duration";
import { isOwnedBy } from "../../core/owned";
import type { ClusterObjectView } from "../../core/views";
import { nextBreaker, type Breaker, type BreakerLimits } from "./breaker";
import type { AccountFacts, FlowIsolationFacts, Spec } from "./facts";
import { DRAINED_MS, levelOf, QUARANTINE_LEVEL } from "./levels";
import { MAX_BETWEEN_MS, MAX_OLDEST_MS, readRate, type Reading } from "./rate";
import { shadowOf } from "./shadow";
import { shownRate } from "./shown-rate";
import { flowSchemaName, homeLevel, pieceOf, wantedFlow, wantedLeaseFlow, wantedLevels, type Piece } from "./wanted";

/** How often the operator restores what another field manager changes, for one generation of the object. */
export const MAX_CHANGES = 2;

/** One ServiceAccount's flow, before its findings. */
export interface Flow {
  readonly facts: FlowIsolationFacts;
  readonly spec: Spec;
  readonly account: AccountFacts;
  readonly limits: BreakerLimits;
  readonly reading: Reading;
  /** From status; absent when status has no entry. */
  readonly before?: Breaker;
  readonly breaker: Breaker;
  /** The rate as reported, in requests per second; absent when unknown. */
  readonly rate?: number;
  /** Another FlowSchema that matches its requests before its own does. */
  readonly shadow?: ClusterObjectView;
  /** The level that its FlowSchema refers to from now on. */
  readonly level: string;
  /** FlowSchema for all its requests. */
  readonly own: Piece;
  /** FlowSchema for its leases. */
  readonly lease?: Piece;
}

/** The flow of one ServiceAccount in this pass. */
export function flowOf(account: AccountFacts, facts: FlowIsolationFacts, spec: Spec, nowMs: number): Flow {
  const { owner } = facts;
  const lease = spec.protectLeases ? pieceOf(wantedLeaseFlow(owner, account.name, spec), facts.schemas) : undefined;
  const match = matchOf(account, facts);
  const limits = limitsOf(facts, spec, isInPlace(match, facts, lease));
  const before = breakerOf(account.record);
  const reading = readingOf(match, facts, limits, before);
  const breaker = nextBreaker(before, reading, limits, nowMs);
  const rate = shownRate(reading, limits.threshold, breaker.state === before?.state ? account.record : undefined);
  const level = breaker.state === "Throttled" ? QUARANTINE_LEVEL : homeLevel(owner, spec);
  return {
    ...{ facts, spec, account, limits, reading, breaker, level },
    ...(before === undefined ? {} : { before }),
    ...(rate === undefined ? {} : { rate }),
    ...(match.shadow === undefined ? {} : { shadow: match.shadow }),
    own: pieceOf(wantedFlow(owner, account.name, spec, level), facts.schemas),
    ...(lease === undefined ? {} : { lease }),
  };
}

/** The FlowSchemas in the cluster that match a ServiceAccount's requests. */
interface Match {
  readonly own?: ClusterObjectView;
  readonly shadow?: ClusterObjectView;
}

function matchOf({ name }: AccountFacts, { owner, schemas }: FlowIsolationFacts): Match {
  const own = schemas?.find(view => view.name === flowSchemaName(owner, name));
  if (own === undefined) return {};
  const shadow = shadowOf(own, schemas ?? [], { ...owner.metadata, name });
  return shadow === undefined ? { own } : { own, shadow };
}

/** A throttled client must not lose its leases, and a foreign FlowSchema measures nothing of it. */
function isInPlace({ own }: Match, { owner }: FlowIsolationFacts, lease: Piece | undefined): boolean {
  return own !== undefined && isOwnedBy(own, owner) && (lease === undefined || lease.state.is === "right");
}

/** The API server counts requests by the FlowSchema that they match. Counts during a throttle, or of requests queued then, are ignored. */
function readingOf(
  { own, shadow }: Match,
  { rates }: FlowIsolationFacts,
  { threshold, mayThrottle }: BreakerLimits,
  before: Breaker | undefined,
): Reading {
  const fromMs = before?.state === "Probation" ? before.sinceMs + DRAINED_MS : -Infinity;
  const maxBetweenMs = mayThrottle ? MAX_BETWEEN_MS : MAX_OLDEST_MS;
  if (own === undefined || shadow !== undefined) return { overMs: 0 };
  return readRate(rates, own.name, threshold, { fromMs, maxBetweenMs });
}

function limitsOf(facts: FlowIsolationFacts, spec: Spec, isReady: boolean): BreakerLimits {
  const { threshold, for: over, release } = spec.requestRate;
  // With onRunaway: Report there is no quarantine level.
  const quarantine = wantedLevels(facts, spec).find(({ name }) => name === QUARANTINE_LEVEL);
  const state = quarantine === undefined ? undefined : pieceOf(quarantine, facts.levels).state.is;
  return {
    threshold,
    forMs: parseDuration(over),
    releaseMs: parseDuration(release),
    // A FlowSchema without its level is ignored, and a level with seats throttles nothing.
    mayThrottle: facts.mode === "Enforce" && state === "right" && isReady,
    mayStayThrottled: state !== undefined && state !== "foreign",
  };
}

function breakerOf(record: FlowStatus | undefined): Breaker | undefined {
  if (record?.state === undefined) return undefined;
  const { state, since, until, releaseSeconds } = record;
  return {
    state,
    sinceMs: Date.parse(since ?? ""),
    ...(until === undefined ? {} : { untilMs: Date.parse(until) }),
    ...(releaseSeconds === undefined ? {} : { releaseMs: 1_000 * releaseSeconds }),
  };
}

/** Its name in messages. */
export function nameOf({ account }: Flow): string {
  return `ServiceAccount ${account.name}`;
}

/** The measured rate and the threshold in words. */
export function measured({ rate, spec }: Flow): string {
  const { threshold, for: over } = spec.requestRate;
  const what = rate === undefined ? "request rate unknown" : `${rate} requests/s`;
  return `${what}, threshold ${threshold} requests/s for ${over}.`;
}

/** Its FlowSchemas. */
export function piecesOf({ own, lease }: Flow): Piece[] {
  return lease === undefined ? [own] : [own, lease];
}

/** Reports whether its FlowSchema refers to the quarantine level now. */
export function isInQuarantine({ own }: Flow): boolean {
  return own.state.is !== "foreign" && refersToQuarantine(own);
}

/** Reports whether the FlowSchema of that name refers to the quarantine level; it can be foreign. */
export function refersToQuarantine({ state }: Piece): boolean {
  const view = viewIn(state);
  return view !== undefined && levelOf(view) === QUARANTINE_LEVEL;
}

/** Its FlowSchema was right for this generation before: a difference now is another manager's change. */
export function isPutBack({ account, facts, level }: Flow): boolean {
  return account.record?.generation === facts.generation && account.record.priorityLevel === level;
}

/** How often something of it was restored for this generation of the object. */
export function changesOf({ record }: AccountFacts, { generation }: FlowIsolationFacts): number {
  return record?.generation === generation ? (record.changes ?? 0) : 0;
}

/** Reports whether its workloads are scaled to zero while it is throttled. */
export function isToBeScaled({ breaker, spec }: Flow): boolean {
  return breaker.state === "Throttled" && spec.requestRate.onRunaway === "ScaleToZero";
}

/** Its entry in status.flows before this pass writes anything. */
export function entryOf(flow: Flow): FlowStatus {
  const { account, facts, breaker, own, level, rate } = flow;
  const { state, sinceMs, untilMs, releaseMs } = breaker;
  // The level that the operator wrote, even where another manager has changed it since.
  const priorityLevel = own.state.is === "right" ? level : account.record?.priorityLevel;
  const held = heldBy(flow);
  return {
    serviceAccount: account.name,
    flowSchema: own.wanted.name,
    ...(priorityLevel === undefined ? {} : { priorityLevel }),
    ...(rate === undefined ? {} : { requestsPerSecond: rate }),
    state,
    since: timeOf(sinceMs),
    ...(untilMs === undefined ? {} : { until: timeOf(untilMs) }),
    ...(releaseMs === undefined ? {} : { releaseSeconds: Math.round(releaseMs / 1_000) }),
    ...(held === undefined ? {} : { held }),
    changes: changesOf(account, facts),
    generation: facts.generation,
  };
}

function heldBy(flow: Flow): FlowStatus["held"] {
  const { account, facts, breaker } = flow;
  const isScaled = facts.scaledDown.some(({ serviceAccountName }) => serviceAccountName === account.name);
  if (isScaled) return "ScaleToZero";
  return breaker.state === "Throttled" ? "Throttle" : undefined;
}

/** Latest time of a Date. */
const MAX_MS = 8.64e15;

/** RFC 3339 in whole seconds, for any number. */
export function timeOf(ms: number): string {
  return toSeconds(new Date(Math.min(MAX_MS, Math.max(0, ms))));
}
