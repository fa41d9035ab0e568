import type { FlowStatus } from "../../api/controller-resilience";
import { levelOf } from "../../core/owned";
import { whyObserved } from "../../core/remedy";
import { formatDuration } from "../../core/time";
import {
  entryOf,
  type Flow,
  isBeginning,
  isQuarantined,
  isSettling,
  measured,
  nameOf,
  piecesOf,
  readingOf,
  thresholdOf,
} from "./flow";
import { type Piece, usualLevel } from "./objects";
import { MAX_OLDEST_MS } from "./rate";
import type { Finding } from "./reasons";
import type { Shadow } from "./shadow";
import { isRunaway, MAX_RELAPSES, overdueMs, timeOf } from "./throttle";

// What people read of a flow: what its client does, what the operator does about it, and what blocks the operator. Pure.

/** What to report of one flow. */
export interface Told {
  readonly findings: readonly Finding[];
  /** Entry in status.flows; absent for what is no flow of the operator's. */
  readonly entry?: FlowStatus;
}

/** For how long a throttle or its release is tried before a person has to act, in milliseconds. */
const TRIED_MS = 180_000;

/** A person must act after this time, in milliseconds: the API server takes a second or two. */
const STUCK_AFTER_MS = 600_000;

type Check = (flow: Flow, isWritten: boolean) => Finding | undefined;

/** Every check that applies adds its finding. */
const CHECKS: readonly Check[] = [
  throttled,
  releasing,
  givenUp,
  runaway,
  leaseFlood,
  elevated,
  probation,
  shadowed,
  heldByOthers,
];

/**
 * What to report of a flow.
 *
 * @param isWritten its FlowSchema was written in this pass
 */
export function tell(flow: Flow, isWritten: boolean): Told {
  if (flow.shadow?.isChosen === true) return { findings: [leftToOther(flow, flow.shadow)] };
  // A throttle that is not written is none: the flow stays as it was, and the next pass tries again.
  const { before } = flow;
  const isFailed = isBeginning(flow) && !isWritten && before !== undefined;
  const told = isFailed ? { ...flow, throttle: before } : flow;
  const checks = isFailed ? CHECKS.filter(check => check !== elevated) : CHECKS;
  return {
    findings: [
      ...(isFailed ? [notThrottled(flow)] : []),
      ...checks.flatMap(check => check(told, isWritten) ?? []),
      ...piecesOf(flow).flatMap(piece => obstacleTo(piece, flow.nowMs) ?? []),
    ],
    entry: entryOf(told),
  };
}

/** No try is for ever: a person must act. */
function notThrottled(flow: Flow): Finding {
  const sentence = `${nameOf(flow)} is a runaway, and not throttled yet: its FlowSchema is not written; the operator keeps trying.`;
  return { status: "False", reason: "Runaway", sentence, isProgressing: !isTried(flow), isStalled: isTried(flow) };
}

function isTried({ reading, limits }: Flow): boolean {
  return reading.overMs >= limits.forMs + TRIED_MS;
}

/** A person has chosen its level, so it gets no FlowSchema of the operator's. */
function leftToOther(flow: Flow, { view, isPartial }: Shadow): Finding {
  const left = `${nameOf(flow)} is left to FlowSchema ${view.name} (level ${levelOf(view) ?? ""}), which another owner made for`;
  if (!isPartial) {
    const sentence = `${left} it: neither measured nor throttled here. To change that, delete it.`;
    return { status: "True", reason: "Isolated", sentence };
  }
  const sentence = `${left} a part of its requests: no other is isolated, measured or throttled. Let it match all requests, or delete it.`;
  return { status: "False", reason: "FlowShadowed", sentence, isStalled: true };
}

function throttled(flow: Flow): Finding | undefined {
  const { throttle } = flow;
  if (!isQuarantined(flow) || throttle.untilMs === undefined) return undefined;
  const sentence = `${nameOf(flow)} is throttled until ${timeOf(throttle.untilMs)}: it was a runaway. Probation follows.`;
  return { status: "False", reason: "Throttled", sentence };
}

function releasing(flow: Flow, isWritten: boolean): Finding | undefined {
  const { throttle, own, facts, nowMs } = flow;
  const lateMs = overdueMs(throttle, nowMs);
  if (lateMs === undefined || own.is === "foreign" || facts.mode !== "Enforce") return undefined;
  // A release may be late because no replica led.
  if (isWritten || lateMs < TRIED_MS) {
    const sentence = `${nameOf(flow)} is being released: its throttle is over.`;
    return { status: "False", reason: "Throttled", sentence, isProgressing: true };
  }
  const sentence = `${nameOf(flow)} is still throttled, although its throttle ended at ${timeOf(nowMs - lateMs)}. The operator keeps trying to release it. ${howToRelease(flow)}`;
  return { status: "False", reason: "ReleaseFailed", sentence, isStalled: true };
}

/** What the operator does not release, so the message says how a person can: a foreign FlowSchema, and any in Observe mode. */
function heldByOthers(flow: Flow): Finding | undefined {
  const { limits, own, facts } = flow;
  const { mode } = facts;
  if (!limits.isHeld || (mode === "Enforce" && own.is !== "foreign")) return undefined;
  const why = mode === "Enforce" ? "its FlowSchema belongs to another owner" : whyObserved(mode);
  const sentence = `${nameOf(flow)} is throttled, and stays so: ${why}. ${howToRelease(flow)}`;
  return { status: "False", reason: "Throttled", sentence, isStalled: true };
}

function howToRelease({ own, facts }: Flow): string {
  const patch = JSON.stringify({ spec: { priorityLevelConfiguration: { name: usualLevel(facts) } } });
  return `To release it: kubectl patch flowschema ${own.wanted.name} --type merge -p '${patch}'.`;
}

function givenUp(flow: Flow): Finding | undefined {
  if (flow.throttle.state !== "GivenUp") return undefined;
  const sentence = `${nameOf(flow)} is not throttled again before spec.flowIsolation changes, or it has been calm for a day: it relapsed after each of ${MAX_RELAPSES + 1} throttles. Now: ${measured(flow)}`;
  return { status: "False", reason: "Runaway", sentence, isStalled: true };
}

/** Without a hindrance, this pass records it in status, and the next one throttles it. */
function runaway(flow: Flow): Finding | undefined {
  const { throttle, reading, limits, hindrance, facts } = flow;
  if (throttle.state === "Throttled" || throttle.state === "GivenUp" || !isRunaway(reading, limits)) return undefined;
  if (hindrance === undefined) return undefined;
  const { why, advice, isBrief = false } = hindrance;
  const sentence = `${nameOf(flow)} is a runaway: ${measured(flow)} It is not throttled: ${[`${why}.`, advice].join(" ").trimEnd()}`;
  const isProgressing = isBrief && !isTried(flow);
  return {
    status: "False",
    reason: "Runaway",
    sentence,
    isProgressing,
    isStalled: facts.mode === "Enforce" && !isProgressing,
  };
}

/** Leases have a FlowSchema of their own, and are not throttled. */
function leaseFlood(flow: Flow): Finding | undefined {
  const { spec, facts, limits, account } = flow;
  if (!isRunaway(readingOf(account.lease, flow, MAX_OLDEST_MS), limits)) return undefined;
  const sentence = `${nameOf(flow)} is a runaway: its lease requests are over the threshold of ${thresholdOf(flow)} for ${spec.requestRate.for}. Leases are not throttled: fix the client.`;
  return { status: "False", reason: "Runaway", sentence, isStalled: facts.mode === "Enforce" };
}

function elevated(flow: Flow): Finding | undefined {
  if (flow.throttle.state !== "Elevated" || runaway(flow) !== undefined) return undefined;
  const { settlingUntilMs = 0 } = flow.facts.rates;
  const settling = isSettling(flow)
    ? ` An API server started, appeared or left: no throttle begins before ${timeOf(settlingUntilMs)}, since clients list everything anew.`
    : "";
  const sentence = `${nameOf(flow)} is near or above its threshold: ${measured(flow)}${settling}`;
  return { status: "True", reason: "Isolated", sentence };
}

function probation(flow: Flow): Finding | undefined {
  const { state, untilMs, releaseMs = 0 } = flow.throttle;
  if (state !== "Probation") return undefined;
  const quiet =
    untilMs === undefined
      ? "It is above its threshold again."
      : `Probation ends at ${timeOf(untilMs)} if it stays below.`;
  const sentence = `${nameOf(flow)} is on probation after a throttle of ${formatDuration(releaseMs)}. ${quiet}`;
  return { status: "True", reason: "Isolated", sentence };
}

function shadowed(flow: Flow): Finding | undefined {
  const { own, shadow } = flow;
  if (shadow === undefined) return undefined;
  const sentence = `${nameOf(flow)}: FlowSchema ${shadow.view.name} matches its requests before ${own.wanted.name}, so they are neither measured nor throttled here. If another object made it, name the ServiceAccount in one object only; else raise its matchingPrecedence above ${String(own.wanted.spec["matchingPrecedence"])}.`;
  return { status: "False", reason: "FlowShadowed", sentence, isStalled: true };
}

/** Why a level or FlowSchema is not written, or not in effect although it is right; undefined if nothing hinders it. */
export function obstacleTo({ wanted, is, view, forMs = 0 }: Piece, nowMs: number): Finding | undefined {
  const name = `${wanted.kind} ${wanted.name}`;
  if (is === "foreign") {
    const sentence = `${name} was not made by the operator, which leaves it alone. Delete it, or restore its labels.`;
    const reason = wanted.kind === "FlowSchema" ? "FlowShadowed" : "LevelUnusable";
    return { status: "False", reason, sentence, isStalled: true };
  }
  const what = WAITING[is];
  if (what === undefined) return undefined;
  const isStalled = (view?.deletedAtMs === undefined ? forMs : nowMs - view.deletedAtMs) >= STUCK_AFTER_MS;
  const advice = " It has been so for ten minutes: see its conditions and finalizers, and the API server's log.";
  return {
    status: "False",
    reason: is === "dangling" ? "LevelUnusable" : "Progressing",
    sentence: `${name} ${what}.${isStalled ? advice : ""}`,
    isProgressing: !isStalled,
    isStalled,
  };
}

/** What the operator waits for. */
const WAITING: Partial<Readonly<Record<Piece["is"], string>>> = {
  deleting: "is being deleted; the operator creates it again afterwards",
  pending: "is not applied by the API server yet",
  dangling: "refers to a level that does not exist (condition Dangling)",
};
