import type { FlowStatus } from "../../api/controller-resilience";
import { levelOf } from "../../core/owned";
import { formatDuration } from "../../core/time";
import type { Intent } from "../../core/intent";
import { capitalize, whyObserved, type PlanItem } from "../../core/remedy";
import { isThrottleable, throttles } from "./facts";
import {
  entryOf,
  type Flow,
  isInQuarantine,
  isLeftToOther,
  isPutBack,
  isQuarantined,
  measured,
  nameOf,
  piecesOf,
  refersToQuarantine,
  thresholdOf,
  timeOf,
  TRIED_MS,
} from "./flow";
import { usualLevel } from "./levels";
import { buildWrite, EVENT, type Piece } from "./objects";
import type { Finding } from "./reasons";
import { isRunaway, MAX_RELAPSES } from "./throttle";

/** One level, flow, workload or surplus object. */
export interface FlowItem extends PlanItem {
  /** What to report whatever happens to the intents. */
  readonly findings: readonly Finding[];
  readonly write?: Write;
}

/** What the intents of an item are for. */
export interface Write {
  readonly step: "Provision" | "PutBack" | "Throttle" | "Release" | "Other";
  /** A sentence: what is written in Enforce mode, and why. */
  readonly why: string;
  /** What follows where nothing is written. */
  readonly unwritten?: string;
  /** Of a throttle: what to report, and the entry in status, while it is not written. It is none then. */
  readonly otherwise?: { readonly finding: Finding; readonly entry: FlowStatus };
}

/** Id of the item of one ServiceAccount's flow. */
export function flowId(serviceAccount: string): string {
  return `flow/${serviceAccount}`;
}

/** Id of the item of any other write. */
export function otherId({ verb, target }: Pick<Intent, "verb" | "target">): string {
  return `${verb}/${target.kind}/${target.name}`;
}

/** Id of the item of one priority level. */
export function levelId(name: string): string {
  return `${LEVELS}${name}`;
}

/** Whether the item is a priority level: every flow depends on these. */
export function isLevel({ id }: PlanItem): boolean {
  return id.startsWith(LEVELS);
}

const LEVELS = "level/";

type Check = (flow: Flow) => Finding | undefined;

/** Every check that applies adds its finding. */
const CHECKS: readonly Check[] = [
  // What the client does, and what the operator does about it.
  throttled,
  releasing,
  givenUp,
  runaway,
  leaseFlood,
  elevated,
  probation,
  // What blocks the operator.
  nameTaken,
  shadowed,
  dangling,
  throttledInObserveMode,
];

/** Findings about one ServiceAccount's flow besides its writes; none when all is well. */
export function findingsOfFlow(flow: Flow): Finding[] {
  return (isLeftToOther(flow) ? [shadowed] : CHECKS).flatMap(check => check(flow) ?? []);
}

function throttled(flow: Flow): Finding | undefined {
  const { throttle } = flow;
  if (!isQuarantined(flow) || throttle.untilMs === undefined) return undefined;
  const sentence = `${nameOf(flow)} is throttled until ${timeOf(throttle.untilMs)}: it was a runaway. Probation follows.`;
  return { status: "False", reason: "Throttled", sentence };
}

/** A throttle that is not written is none: the flow stays as it was, and the next pass tries again. No try is for ever: a person must act. */
function notThrottled(flow: Flow): Write["otherwise"] {
  const { before, limits, reading } = flow;
  if (before === undefined || before.state === "Throttled") return undefined;
  const sentence = `${nameOf(flow)} is a runaway, and not throttled yet: its FlowSchema is not written; the operator keeps trying.`;
  const isStalled = reading.overMs >= limits.forMs + TRIED_MS;
  const finding: Finding = { status: "False", reason: "Runaway", sentence, isProgressing: !isStalled, isStalled };
  return { finding, entry: entryOf({ ...flow, throttle: before }) };
}

/** What the operator does not release, other findings report: a foreign FlowSchema, and any in Observe mode. */
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

function givenUp(flow: Flow): Finding | undefined {
  if (flow.throttle.state !== "GivenUp") return undefined;
  const sentence = `${nameOf(flow)} is not throttled again before the spec of this object changes, or it has been calm for a day: it relapsed after each of ${MAX_RELAPSES + 1} throttles. Now: ${measured(flow)}`;
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

function leaseFlood(flow: Flow): Finding | undefined {
  if (!flow.isLeaseFlood) return undefined;
  const { spec, facts } = flow;
  const sentence = `${nameOf(flow)} is a runaway: its lease requests are over the threshold of ${thresholdOf(flow)} for ${spec.requestRate.for}. Leases are not throttled.`;
  return { status: "False", reason: "Runaway", sentence, isStalled: facts.mode === "Enforce" };
}

function whyNotThrottled({ account, facts, spec }: Flow): string {
  const { mode } = facts;
  if (!throttles(spec)) return `It is not throttled: onRunaway is ${spec.requestRate.onRunaway}.`;
  if (facts.notUnderstood !== undefined) return "It is not throttled: the targets are not understood.";
  if (account.isOperator === true) return "It is not throttled: it is the operator's own.";
  if (!isThrottleable(account, facts))
    return account.isComponent === undefined
      ? "It is not throttled: neither its workloads nor its pods are there, so it may be a component of the cluster."
      : "It is not throttled: it is a component of the cluster. To throttle it by hand: docs/runbook-runaway.md.";
  if (mode !== "Enforce") return `${capitalize(whyObserved(mode))}: it would be throttled now.`;
  return "It cannot be throttled: the quarantine level or its own FlowSchemas are missing.";
}

function elevated(flow: Flow): Finding | undefined {
  if (flow.throttle.state !== "Elevated" || runaway(flow) !== undefined) return undefined;
  const sentence = `${nameOf(flow)} is near or above its threshold: ${measured(flow)}${settlingSentence(flow)}`;
  return { status: "True", reason: "Watched", sentence };
}

function settlingSentence({ settlingUntilMs }: Flow): string {
  if (settlingUntilMs === undefined) return "";
  return ` An API server started, appeared or left: no throttle begins before ${timeOf(settlingUntilMs)}, since clients list everything anew.`;
}

function probation(flow: Flow): Finding | undefined {
  const { state, untilMs, releaseMs = 0 } = flow.throttle;
  if (state !== "Probation") return undefined;
  const quiet =
    untilMs === undefined
      ? "It is above its threshold again."
      : `Probation ends at ${timeOf(untilMs)} if it stays below.`;
  const sentence = `${nameOf(flow)} is on probation after a throttle of ${formatDuration(releaseMs)}. ${quiet}`;
  return { status: "True", reason: "Watched", sentence };
}

function nameTaken(flow: Flow): Finding | undefined {
  const piece = piecesOf(flow).find(({ is }) => is === "foreign");
  if (piece === undefined) return undefined;
  const wayOut = refersToQuarantine(piece) ? ` It is in quarantine. ${howToRelease(flow)}` : "";
  const sentence = `${nameOf(flow)}: FlowSchema ${piece.wanted.name} was not made by the operator, which leaves it alone. Delete it, or restore its labels.${wayOut}`;
  return { status: "False", reason: "NameTaken", sentence, isStalled: true };
}

function shadowed(flow: Flow): Finding | undefined {
  const { own, shadow } = flow;
  if (shadow === undefined) return undefined;
  if (isLeftToOther(flow)) {
    const sentence = `${nameOf(flow)} is left to FlowSchema ${shadow.name} (level ${levelOf(shadow) ?? ""}), which another owner made for it: neither measured nor throttled here. To change that, delete it.`;
    return { status: "True", reason: "Isolated", sentence };
  }
  const sentence = `${nameOf(flow)}: FlowSchema ${shadow.name} matches its requests before ${own.wanted.name}, so they are neither measured nor throttled here. Name the ServiceAccount in one object only, or delete that FlowSchema.`;
  return { status: "False", reason: "FlowShadowed", sentence, isStalled: true };
}

function dangling(flow: Flow): Finding | undefined {
  for (const piece of piecesOf(flow)) {
    if (piece.is === "deleting")
      return notYet(flow, piece, "is being deleted; the operator creates it again afterwards");
    if (piece.is !== "right") continue;
    const status = piece.view?.conditions.find(({ type }) => type === "Dangling")?.status;
    if (status === "False") continue;
    if (status !== "True") return notYet(flow, piece, "is not applied by the API server yet");
    const what = "refers to a level that does not exist (condition Dangling)";
    return { ...notYet(flow, piece, what), reason: "LevelUnusable" };
  }
  return undefined;
}

/** A person must act after this time, in milliseconds: the API server takes a second or two. */
export const STUCK_AFTER_MS = 600_000;

function notYet(flow: Flow, { view, wanted: { name } }: Piece, what: string): Finding {
  const level = flow.facts.levels?.find(one => view !== undefined && one.name === levelOf(view));
  const times = [view?.createdAtMs, view?.writtenAtMs, view?.deletedAtMs, level?.createdAtMs ?? flow.nowMs];
  const isStalled = flow.nowMs - Math.max(...times.map(ms => ms ?? 0)) >= STUCK_AFTER_MS;
  const advice = isStalled
    ? " It has been so for ten minutes: see its conditions and finalizers, and the API server's log."
    : "";
  const sentence = `${nameOf(flow)}: FlowSchema ${name} ${what}.${advice}`;
  return { status: "False", reason: "Progressing", sentence, isProgressing: !isStalled, isStalled };
}

/** Observe mode does not lift an existing throttle, so the message says how a person can. */
function throttledInObserveMode(flow: Flow): Finding | undefined {
  const { mode } = flow.facts;
  if (mode === "Enforce" || !isInQuarantine(flow)) return undefined;
  const sentence = `${nameOf(flow)} is throttled, and stays so: ${whyObserved(mode)}. ${howToRelease(flow)}`;
  return { status: "False", reason: "Throttled", sentence, isStalled: true };
}

function howToRelease({ own, facts, spec }: Flow): string {
  const patch = JSON.stringify({ spec: { priorityLevelConfiguration: { name: usualLevel(facts, spec) } } });
  return `To release it: kubectl patch flowschema ${own.wanted.name} --type merge -p '${patch}'.`;
}

/** The API server ignores a FlowSchema without its level, which lifts a throttle: nothing may block that. */
export function mayWrite(flow: Flow, isLevelUsable: boolean): boolean {
  return isLevelUsable || flow.throttle.state === "Throttled" || isInQuarantine(flow);
}

/** The write of its FlowSchemas; undefined when there is none, or when its level cannot be used. */
export function writeOfFlow(
  flow: Flow,
  isLevelUsable: boolean,
): { intents: readonly Intent[]; write: Write } | undefined {
  if (!mayWrite(flow, isLevelUsable)) return undefined;
  const { step, why } = reasonToWrite(flow);
  const words = { why, eventReason: EVENT[step] };
  const intents = piecesOf(flow).flatMap(piece => buildWrite(piece, words) ?? []);
  if (intents.length === 0) return undefined;
  const otherwise = step === "Throttle" ? notThrottled(flow) : undefined;
  return {
    intents,
    write: { step, why, ...(flow.own.is === "missing" ? NOT_MEASURED : {}), ...(otherwise && { otherwise }) },
  };
}

const NOT_MEASURED = { unwritten: "Requests are measured only once the ServiceAccount is isolated." };

/** Why the FlowSchemas are written now: a step of the throttle first, since people look for that. */
function reasonToWrite(flow: Flow): Pick<Write, "why"> & { readonly step: Exclude<Write["step"], "Other"> } {
  const { throttle, before, level, account } = flow;
  if (isQuarantined(flow) && account.record?.priorityLevel !== level) {
    const why = `${nameOf(flow)} is throttled for ${formatDuration(throttle.releaseMs ?? 0)}: ${measured(flow)}`;
    return { step: "Throttle", why };
  }
  if (!isQuarantined(flow) && isInQuarantine(flow)) {
    const probation = before?.state === "Throttled" ? `, on probation: ${whyReleased(flow)}` : "";
    return { step: "Release", why: `${nameOf(flow)} is released to level ${level}${probation}.` };
  }
  if (isPutBack(flow))
    return { step: "PutBack", why: `${nameOf(flow)}: its FlowSchemas were changed; restoring them.` };
  return { step: "Provision", why: `${nameOf(flow)} gets its own flow on level ${level}.` };
}

function whyReleased(flow: Flow): string {
  const { spec, throttle } = flow;
  const { onRunaway, for: over } = spec.requestRate;
  if (!throttles(spec)) return `onRunaway is ${onRunaway}`;
  return `its throttle of ${formatDuration(throttle.releaseMs ?? 0)} is over; ${thresholdOf(flow)} for ${over} would throttle it again`;
}
