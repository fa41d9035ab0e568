import type { FlowStatus } from "../../api/controller-resilience";
import { levelOf } from "../../core/owned";
import { formatDuration } from "../../core/time";
import { capitalize, whyObserved, type PlanItem } from "../../core/remedy";
import { isThrottleable, throttles } from "./facts";
import {
  type Context,
  entryOf,
  type Flow,
  isQuarantined,
  measured,
  nameOf,
  piecesOf,
  readingOf,
  thresholdOf,
  timeOf,
  TRIED_MS,
  whySpared,
} from "./flow";
import { buildWrite, EVENT, type Piece, usualLevel } from "./objects";
import { MAX_OLDEST_MS } from "./rate";
import type { Finding } from "./reasons";
import type { Shadow } from "./shadow";
import { isRunaway, MAX_RELAPSES, type Throttle } from "./throttle";

/** What to report of an item. */
export interface Told {
  readonly findings: readonly Finding[];
  /** Entry in status.flows; absent for what is no flow of the operator's. */
  readonly entry?: FlowStatus;
}

/** One level, flow or surplus object, and what to report of it unless its FlowSchema is written. */
export interface FlowItem extends PlanItem, Told {
  /** What to report once the FlowSchema of the entry is written. */
  readonly written?: Told;
}

/** The operator writes this now. */
export function writing(sentence: string): Finding {
  return { status: "False", reason: "Progressing", sentence, isProgressing: true };
}

/**
 * The item of one ServiceAccount's flow.
 *
 * @param mayWrite its FlowSchemas may be written now
 */
export function flowItem(flow: Flow, mayWrite: boolean): FlowItem {
  const id = `flow/${flow.account.name}`;
  if (flow.shadow?.isChosen === true) return { id, intents: [], findings: [leftTo(flow, flow.shadow)] };
  const { step, why } = reasonToWrite(flow);
  const words = { why, eventReason: EVENT[step] };
  const intents = mayWrite ? piecesOf(flow).flatMap(piece => buildWrite(piece, words) ?? []) : [];
  const isWriting = step === "Provision" && intents.length > 0 && flow.facts.mode === "Enforce";
  const findings = [...findingsOf(flow), ...(isWriting ? [writing(why)] : [])];
  const told: Told = { findings, entry: entryOf(flow) };
  if (intents.length === 0) return { id, intents, ...told };
  // A release may be late because no replica led.
  const released: Finding = { ...writing(why), reason: "Throttled" };
  const written: Told = {
    findings: findings.map(finding => (finding.reason === "ReleaseFailed" ? released : finding)),
    entry: entryOf(flow),
  };
  const begun = beginsAfter(flow);
  return { id, intents, ...(begun === undefined ? told : notThrottled(flow, begun, findings)), written };
}

/** The state before a throttle that begins now. */
function beginsAfter(flow: Flow): Throttle | undefined {
  return isQuarantined(flow) && flow.before?.state !== "Throttled" ? flow.before : undefined;
}

/** A throttle that is not written is none: the flow stays as it was, and the next pass tries again. No try is for ever: a person must act. */
function notThrottled(flow: Flow, before: Throttle, findings: readonly Finding[]): Told {
  const { limits, reading } = flow;
  const sentence = `${nameOf(flow)} is a runaway, and not throttled yet: its FlowSchema is not written; the operator keeps trying.`;
  const isStalled = reading.overMs >= limits.forMs + TRIED_MS;
  const finding: Finding = { status: "False", reason: "Runaway", sentence, isProgressing: !isStalled, isStalled };
  return {
    findings: [finding, ...findings.filter(({ reason }) => reason !== "Throttled")],
    entry: entryOf({ ...flow, throttle: before }),
  };
}

/** Why the FlowSchemas are written now: a step of the throttle first, since people look for that. */
function reasonToWrite(flow: Flow): { readonly step: "Throttle" | "Release" | "Provision"; readonly why: string } {
  const { throttle, before, level, limits } = flow;
  if (beginsAfter(flow) !== undefined) {
    const why = `${nameOf(flow)} is throttled for ${formatDuration(throttle.releaseMs ?? 0)}: ${measured(flow)}`;
    return { step: "Throttle", why };
  }
  if (!isQuarantined(flow) && limits.isHeld) {
    const probation = before?.state === "Throttled" ? `, on probation: ${whyReleased(flow)}` : "";
    return { step: "Release", why: `${nameOf(flow)} is released to level ${level}${probation}.` };
  }
  const isNew = piecesOf(flow).some(({ is }) => is === "missing");
  const what = isNew ? "gets its own flow" : "gets its FlowSchemas restored";
  return { step: "Provision", why: `${nameOf(flow)} ${what} on level ${level}.` };
}

function whyReleased(flow: Flow): string {
  const { account, spec, throttle } = flow;
  const { onRunaway, for: over } = spec.requestRate;
  if (!throttles(spec)) return `onRunaway is ${onRunaway}`;
  const spared = whySpared(account);
  if (spared !== undefined) return spared;
  return `its throttle of ${formatDuration(throttle.releaseMs ?? 0)} is over; ${thresholdOf(flow)} for ${over} would throttle it again`;
}

/** A person has chosen its level, so it gets no FlowSchema of the operator's. */
function leftTo(flow: Flow, { view, isPartial }: Shadow): Finding {
  const left = `${nameOf(flow)} is left to FlowSchema ${view.name} (level ${levelOf(view) ?? ""}), which another owner made for`;
  if (!isPartial) {
    const sentence = `${left} it: neither measured nor throttled here. To change that, delete it.`;
    return { status: "True", reason: "Isolated", sentence };
  }
  const sentence = `${left} a part of its requests: no other is isolated, measured or throttled. Let it match all requests, or delete it.`;
  return { status: "False", reason: "FlowShadowed", sentence, isStalled: true };
}

type Check = (flow: Flow) => Finding | undefined;

/** Every check that applies adds its finding: what the client does, what the operator does about it, and what blocks the operator. */
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

/** Findings about one ServiceAccount's flow besides its writes; none when all is well. */
function findingsOf(flow: Flow): Finding[] {
  return [
    ...CHECKS.flatMap(check => check(flow) ?? []),
    ...piecesOf(flow).flatMap(piece => obstacleTo(piece, flow) ?? []),
  ];
}

function throttled(flow: Flow): Finding | undefined {
  const { throttle } = flow;
  if (!isQuarantined(flow) || throttle.untilMs === undefined) return undefined;
  const sentence = `${nameOf(flow)} is throttled until ${timeOf(throttle.untilMs)}: it was a runaway. Probation follows.`;
  return { status: "False", reason: "Throttled", sentence };
}

function releasing(flow: Flow): Finding | undefined {
  const { release, own, facts } = flow;
  if (release === undefined || own.is === "foreign" || facts.mode !== "Enforce") return undefined;
  if (release === "Due") {
    const sentence = `${nameOf(flow)} is being released: its throttle is over.`;
    return { status: "False", reason: "Throttled", sentence, isProgressing: true };
  }
  const ended = timeOf(flow.throttle.untilMs ?? flow.throttle.sinceMs);
  const sentence = `${nameOf(flow)} is still throttled, although its throttle ended at ${ended}. The operator keeps trying to release it. ${howToRelease(flow)}`;
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

function runaway(flow: Flow): Finding | undefined {
  const { throttle, reading, limits, facts } = flow;
  if (throttle.state === "Throttled" || throttle.state === "GivenUp" || !isRunaway(reading, limits)) return undefined;
  // This pass records it in status; the next one throttles it.
  if (limits.mayThrottle) return undefined;
  const sentence = `${nameOf(flow)} is a runaway: ${measured(flow)} ${whyNotThrottled(flow)}`;
  return { status: "False", reason: "Runaway", sentence, isStalled: facts.mode === "Enforce" };
}

function whyNotThrottled({ account, facts, spec }: Flow): string {
  const { mode } = facts;
  if (!throttles(spec))
    return `It is not throttled: onRunaway is ${spec.requestRate.onRunaway}. Fix the client, or throttle it: docs/runbook-runaway.md.`;
  if (facts.notUnderstood !== undefined) return "It is not throttled: the targets are not understood.";
  if (account.isOperator === true) return "It is not throttled: it is the operator's own.";
  if (!isThrottleable(account, facts))
    return account.isComponent === undefined
      ? "It is not throttled: neither its workloads nor its pods are there, so it may be a component of the cluster."
      : "It is not throttled: it is a component of the cluster. To throttle it by hand: docs/runbook-runaway.md.";
  if (mode !== "Enforce") return `${capitalize(whyObserved(mode))}: it would be throttled now.`;
  return "It cannot be throttled: the quarantine level or its own FlowSchemas are missing.";
}

/** Leases have a FlowSchema of their own, and are not throttled. */
function leaseFlood(flow: Flow): Finding | undefined {
  const { spec, facts, lease, limits, account } = flow;
  const reading = readingOf(lease, flow, MAX_OLDEST_MS);
  if (flow.isSettling || account.runningPods === undefined || !isRunaway(reading, limits)) return undefined;
  const sentence = `${nameOf(flow)} is a runaway: its lease requests are over the threshold of ${thresholdOf(flow)} for ${spec.requestRate.for}. Leases are not throttled: fix the client.`;
  return { status: "False", reason: "Runaway", sentence, isStalled: facts.mode === "Enforce" };
}

function elevated(flow: Flow): Finding | undefined {
  if (flow.throttle.state !== "Elevated" || runaway(flow) !== undefined) return undefined;
  const { settlingUntilMs = 0 } = flow.facts.rates;
  const settling = flow.isSettling
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
export function obstacleTo(piece: Piece, context: Context): Finding | undefined {
  const { wanted, is, view } = piece;
  const { kind, name } = wanted;
  if (is === "foreign") {
    const sentence = `${kind} ${name} was not made by the operator, which leaves it alone. Delete it, or restore its labels.`;
    const reason = kind === "FlowSchema" ? "FlowShadowed" : "LevelUnusable";
    return { status: "False", reason, sentence, isStalled: true };
  }
  if (is === "deleting") return notYet(piece, "is being deleted; the operator creates it again afterwards", context);
  if (is !== "right" || kind !== "FlowSchema") return undefined;
  const dangling = view?.conditions.find(({ type }) => type === "Dangling")?.status;
  if (dangling === "False") return undefined;
  if (dangling !== "True") return notYet(piece, "is not applied by the API server yet", context);
  const what = "refers to a level that does not exist (condition Dangling)";
  return { ...notYet(piece, what, context), reason: "LevelUnusable" };
}

/** A person must act after this time, in milliseconds: the API server takes a second or two. */
const STUCK_AFTER_MS = 600_000;

function notYet(piece: Piece, what: string, context: Context): Finding {
  const { kind, name } = piece.wanted;
  const isStalled = context.nowMs - sinceMs(piece, context) >= STUCK_AFTER_MS;
  const advice = isStalled
    ? " It has been so for ten minutes: see its conditions and finalizers, and the API server's log."
    : "";
  const sentence = `${kind} ${name} ${what}.${advice}`;
  return { status: "False", reason: "Progressing", sentence, isProgressing: !isStalled, isStalled };
}

function sinceMs({ view, wanted: { name } }: Piece, { facts, nowMs }: Context): number {
  const { rightForMs, knownForMs = Infinity } = facts;
  if (view === undefined) return nowMs;
  if (view.deletedAtMs !== undefined) return view.deletedAtMs;
  const level = levelOf(view);
  // A FlowSchema whose level is missing now waits for that.
  const levelMs = facts.levels.find(one => one.name === level)?.createdAtMs ?? nowMs;
  return Math.max(view.createdAtMs, nowMs - Math.min(rightForMs?.get(name) ?? Infinity, knownForMs), levelMs);
}
