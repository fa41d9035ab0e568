import type { FlowStatus } from "../../api/controller-resilience";
import { toSeconds } from "../../core/time";
import { parseDuration } from "../../core/duration";
import { isOwnedBy } from "../../core/owned";
import type { ClusterObjectView } from "../../core/views";
import { nextBreaker, type Breaker, type BreakerLimits } from "./breaker";
import type { AccountFacts, FlowIsolationFacts, Spec } from "./facts";
import { DRAINED_MS, TAR_PIT } from "./levels";
import { MAX_BETWEEN_MS, MAX_OLDEST_MS, readRate, type Reading } from "./rate";
import { shadowOf } from "./shadow";
import { shownRate } from "./shown-rate";
import { levelOf, standingOf, type Standing } from "./standing";
import { flowSchemaName, homeLevel, wantedFlow, wantedLeaseFlow, wantedLevels, type Wanted } from "./wanted";

/** An object that is wanted, and how it stands. */
export interface Piece {
  readonly wanted: Wanted;
  readonly standing: Standing;
}

/** One ServiceAccount before the checks. */
export interface Flow {
  readonly facts: FlowIsolationFacts;
  readonly spec: Spec;
  readonly account: AccountFacts;
  readonly limits: BreakerLimits;
  readonly reading: Reading;
  /** Absent: status does not tell of it. */
  readonly before?: Breaker;
  readonly breaker: Breaker;
  /** Its rate as it is told, in requests per second. Absent: not known. */
  readonly rate?: number;
  /** Another FlowSchema that takes its requests before its own is asked. */
  readonly shadow?: ClusterObjectView;
  /** The level that it is to be on now. */
  readonly level: string;
  /** Of all its requests. */
  readonly own: Piece;
  /** Of its leases. */
  readonly lease?: Piece;
}

/** The flow of one ServiceAccount now. */
export function flowOf(account: AccountFacts, facts: FlowIsolationFacts, spec: Spec, nowMs: number): Flow {
  const { owner } = facts;
  const lease = spec.protectLeases ? pieceOf(wantedLeaseFlow(owner, account.name, spec), facts) : undefined;
  const match = matchOf(account, facts);
  const limits = limitsOf(facts, spec, isInPlace(match, facts, lease));
  const before = breakerOf(account.record);
  const reading = readingOf(match, facts, limits, before);
  const breaker = nextBreaker(before, reading, limits, nowMs);
  const rate = shownRate(reading, limits.threshold, breaker.state === before?.state ? account.record : undefined);
  const level = breaker.state === "Throttled" ? TAR_PIT : homeLevel(owner, spec);
  return {
    ...{ facts, spec, account, limits, reading, breaker, level },
    ...(before === undefined ? {} : { before }),
    ...(rate === undefined ? {} : { rate }),
    ...(match.shadow === undefined ? {} : { shadow: match.shadow }),
    own: pieceOf(wantedFlow(owner, account.name, spec, level), facts),
    ...(lease === undefined ? {} : { lease }),
  };
}

/** The FlowSchemas that take a ServiceAccount's requests, as they are. */
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

function pieceOf(wanted: Wanted, { schemas }: FlowIsolationFacts): Piece {
  return { wanted, standing: standingOf(wanted, schemas ?? []) };
}

/** What is held still must not lose its leases, and a FlowSchema of somebody else's says nothing of it. */
function isInPlace({ own }: Match, { owner }: FlowIsolationFacts, lease: Piece | undefined): boolean {
  return own !== undefined && isOwnedBy(own, owner) && (lease === undefined || lease.standing.is === "AsWanted");
}

/** Requests are counted by the FlowSchema that they match. What was measured while it was held still, or what had waited then, says nothing of what it does now. */
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
  // Where the spec only reports, none is wanted.
  const tarPit = wantedLevels(facts, spec).find(({ name }) => name === TAR_PIT);
  const standing = tarPit === undefined ? undefined : standingOf(tarPit, facts.levels ?? []).is;
  return {
    threshold,
    forMs: parseDuration(over),
    releaseMs: parseDuration(release),
    // A FlowSchema whose level is missing is ignored, and a level with seats holds nobody.
    mayThrottle: facts.mode === "Enforce" && standing === "AsWanted" && isReady,
    mayStayThrottled: standing !== undefined && standing !== "Taken",
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

/** As sentences name it. */
export function nameOf({ account }: Flow): string {
  return `ServiceAccount ${account.name}`;
}

/** The measured rate and the threshold in words. */
export function measured({ rate, spec }: Flow): string {
  const { threshold, for: over } = spec.requestRate;
  const what = rate === undefined ? "its rate is not known now" : `it makes some ${rate} requests per second`;
  return `${what}, and ${threshold} for ${over} are the threshold.`;
}

/** Its objects. */
export function piecesOf({ own, lease }: Flow): Piece[] {
  return lease === undefined ? [own] : [own, lease];
}

/** Whether its FlowSchema is in the tar pit, whatever it is meant to be. */
export function isInTarPit({ own }: Flow): boolean {
  return "view" in own.standing && own.standing.is !== "Taken" && levelOf(own.standing.view) === TAR_PIT;
}

/** It was put on the level where it is to be before, for this generation: if it is not there now, somebody else has done that. */
export function isPutBack({ account, facts, level }: Flow): boolean {
  return account.record?.generation === facts.generation && account.record.priorityLevel === level;
}

/** How often something of it was put back. A new generation of the object grants new rounds. */
export function changesOf({ record }: AccountFacts, { generation }: FlowIsolationFacts): number {
  return record?.generation === generation ? (record.changes ?? 0) : 0;
}

/** Its workloads are to be scaled to zero. */
export function isToBeScaled({ breaker, spec }: Flow): boolean {
  return breaker.state === "Throttled" && spec.requestRate.onRunaway === "ScaleToZero";
}

/** What status tells of it from now on. */
export function entryOf(flow: Flow): FlowStatus {
  const { account, facts, breaker, own, level, rate } = flow;
  const { state, sinceMs, untilMs, releaseMs } = breaker;
  // What the operator has put it on: where somebody else has moved it, that is no level to keep to.
  const priorityLevel = own.standing.is === "AsWanted" ? level : account.record?.priorityLevel;
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

/** The last moment that a Date can say; beyond it nothing is ever over. */
const MAX_MS = 8.64e15;

/** RFC 3339 in whole seconds, of any number. */
export function timeOf(ms: number): string {
  return toSeconds(new Date(Math.min(MAX_MS, Math.max(0, ms))));
}
