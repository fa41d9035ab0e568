import { viewIn } from "../../core/desired";
import { formatDuration } from "../../core/duration";
import type { Intent } from "../../core/intent";
import { isRunaway } from "./breaker";
import { buildWrite, EVENT } from "./writes";
import type { FlowIsolationFacts, Spec } from "./facts";
import type { Write } from "./item";
import type { Finding } from "./reasons";
import {
  changesOf,
  MAX_CHANGES,
  isInQuarantine,
  isPutBack,
  isToBeScaled,
  measured,
  nameOf,
  piecesOf,
  refersToQuarantine,
  timeOf,
  type Flow,
} from "./flow";
import { homeLevel } from "./wanted";

type Check = (flow: Flow) => Finding | undefined;

/** Every check that applies adds its finding. */
const CHECKS: readonly Check[] = [
  // What the client does, and what the operator does about it.
  throttled,
  runaway,
  elevated,
  probation,
  // What blocks the operator.
  nameTaken,
  contested,
  shadowed,
  dangling,
  throttledInObserveMode,
];

/** Findings about one ServiceAccount's flow besides its writes; none when all is well. */
export function findingsOfFlow(flow: Flow): Finding[] {
  return CHECKS.flatMap(check => check(flow) ?? []);
}

/** The write of its FlowSchemas; undefined when there is none, or when its level cannot be used. */
export function writeOfFlow(
  flow: Flow,
  isLevelUsable: boolean,
): { intents: readonly Intent[]; write: Write } | undefined {
  // The API server ignores a FlowSchema without its level, which lifts a throttle: nothing may block that.
  const mayWrite = isLevelUsable || flow.breaker.state === "Throttled" || isInQuarantine(flow);
  if (!mayWrite || isContested(flow)) return undefined;
  const { step, why } = reasonToWrite(flow);
  const words = { why, eventReason: EVENT_OF[step] };
  const intents = piecesOf(flow).flatMap(({ wanted, state }) => buildWrite(wanted, state, words) ?? []);
  if (intents.length === 0) return undefined;
  const names = intents.map(({ target }) => target.name).join(" and ");
  const observed = `Mode Observe: would write FlowSchema ${names} now.${notMeasured(flow)}`;
  return { intents, write: { step, why, observed } };
}

function throttled(flow: Flow): Finding | undefined {
  const { breaker, facts, account } = flow;
  if (breaker.state !== "Throttled" || breaker.untilMs === undefined) return undefined;
  const scaled = facts.scaledDown.some(one => one.serviceAccountName === account.name && one.replicas === 0);
  const sentence = `${nameOf(flow)} is throttled until ${timeOf(breaker.untilMs)}: it was a runaway. Probation follows.${scalingSentence(flow)}`;
  return { status: "False", reason: scaled ? "ScaledToZero" : "Throttled", sentence };
}

function scalingSentence(flow: Flow): string {
  if (!isToBeScaled(flow)) return "";
  const { account, facts } = flow;
  if (!facts.mayScale) {
    return " Its workloads keep their replicas: the operator lacks the right to patch deployments and statefulsets.";
  }
  const kept = account.workloads.filter(({ kind }) => kind === "DaemonSet").map(({ name }) => `DaemonSet ${name}`);
  const sentence = kept.length === 0 ? "" : ` ${kept.join(", ")} cannot be scaled to zero and is throttled only.`;
  return ` Its Deployments and StatefulSets are scaled to zero until then.${sentence}`;
}

function runaway(flow: Flow): Finding | undefined {
  const { breaker, reading, limits, spec, facts } = flow;
  if (breaker.state === "Throttled" || !isRunaway(reading, limits)) return undefined;
  // This pass records it in status; the next one throttles it.
  if (limits.mayThrottle) return undefined;
  const sentence = `${nameOf(flow)} is a runaway: ${measured(flow)} ${whyNotThrottled(spec, facts.mode)}`;
  return { status: "False", reason: "Runaway", sentence, isStalled: facts.mode === "Enforce" };
}

function whyNotThrottled({ requestRate }: Spec, mode: FlowIsolationFacts["mode"]): string {
  if (requestRate.onRunaway === "Report") return "It is not throttled: onRunaway is Report.";
  if (mode === "Observe") return "Mode Observe: it would be throttled now.";
  return "It cannot be throttled: the quarantine level or its own FlowSchemas are missing.";
}

function elevated(flow: Flow): Finding | undefined {
  if (flow.breaker.state !== "Elevated" || runaway(flow) !== undefined) return undefined;
  const sentence = `${nameOf(flow)} is near or above its threshold: ${measured(flow)}`;
  return { status: "True", reason: "Elevated", sentence };
}

function probation(flow: Flow): Finding | undefined {
  const { state, untilMs, releaseMs = 0 } = flow.breaker;
  if (state !== "Probation") return undefined;
  const quiet =
    untilMs === undefined
      ? "It is above its threshold again."
      : `Probation ends at ${timeOf(untilMs)} if it stays below.`;
  const sentence = `${nameOf(flow)} is on probation after a throttle of ${formatDuration(releaseMs)}. ${quiet}`;
  return { status: "True", reason: "Probation", sentence };
}

function nameTaken(flow: Flow): Finding | undefined {
  const piece = piecesOf(flow).find(({ state }) => state.is === "foreign");
  if (piece === undefined) return undefined;
  const isHeld = refersToQuarantine(piece);
  const wayOut = isHeld ? ` It is in quarantine. ${howToRelease(flow)}` : "";
  const sentence = `${nameOf(flow)}: FlowSchema ${piece.wanted.name} was not made by the operator, which leaves it alone. Delete it, or restore its labels.${wayOut}`;
  return { status: "False", reason: "NameTaken", sentence, isStalled: true };
}

function contested(flow: Flow): Finding | undefined {
  const piece = piecesOf(flow).find(({ state }) => state.is === "different" || state.is === "missing");
  if (piece === undefined || !isContested(flow)) return undefined;
  const { state, wanted } = piece;
  const manager = viewIn(state)?.lastManager;
  const who = manager === undefined ? "" : `; field manager ${manager} wrote it last`;
  const sentence = `${nameOf(flow)}: FlowSchema ${wanted.name} was restored ${MAX_CHANGES} times and changed again each time${who}. The operator does not restore it again before this object changes.`;
  return { status: "False", reason: "FlowContested", sentence, isStalled: true };
}

function isContested(flow: Flow): boolean {
  return isPutBack(flow) && changesOf(flow.account, flow.facts) >= MAX_CHANGES;
}

function shadowed(flow: Flow): Finding | undefined {
  const { own, shadow } = flow;
  if (shadow === undefined) return undefined;
  const sentence = `${nameOf(flow)}: FlowSchema ${shadow.name} matches its requests before ${own.wanted.name}, so they are neither measured nor throttled here. Name the ServiceAccount in one object only, or change matchingPrecedence.`;
  return { status: "False", reason: "FlowShadowed", sentence, isStalled: true };
}

function dangling(flow: Flow): Finding | undefined {
  for (const { state, wanted } of piecesOf(flow)) {
    if (state.is === "deleting")
      return notYet(flow, wanted.name, "is being deleted; the operator creates it again afterwards");
    if (state.is !== "right") continue;
    const status = state.view.conditions.find(({ type }) => type === "Dangling")?.status;
    if (status === "False") continue;
    if (status !== "True") return notYet(flow, wanted.name, "is not applied by the API server yet");
    const what = "refers to a level that does not exist (condition Dangling)";
    return { ...notYet(flow, wanted.name, what), reason: "Dangling" };
  }
  return undefined;
}

function notYet(flow: Flow, name: string, what: string): Finding {
  const sentence = `${nameOf(flow)}: FlowSchema ${name} ${what}.`;
  return { status: "False", reason: "Provisioning", sentence, isProgressing: true };
}

function notMeasured({ own }: Flow): string {
  return own.state.is === "missing" ? " Requests are measured only once the ServiceAccount is isolated." : "";
}

/** Why the FlowSchemas are written now: a step of the breaker first, since people look for that. */
function reasonToWrite(flow: Flow): Pick<Write, "why"> & { readonly step: keyof typeof EVENT_OF } {
  const { breaker, before, level, account } = flow;
  if (breaker.state === "Throttled" && account.record?.priorityLevel !== level) {
    const why = `${nameOf(flow)} is throttled for ${formatDuration(breaker.releaseMs ?? 0)}: ${measured(flow)}`;
    return { step: "Throttle", why };
  }
  if (breaker.state !== "Throttled" && isInQuarantine(flow)) {
    const probation = before?.state === "Throttled" ? `, on probation: ${whyReleased(flow)}` : "";
    return { step: "Release", why: `${nameOf(flow)} is released to level ${level}${probation}.` };
  }
  if (isPutBack(flow))
    return { step: "PutBack", why: `${nameOf(flow)}: its FlowSchemas were changed; restoring them.` };
  return { step: "Provision", why: `${nameOf(flow)} gets its own flow on level ${level}.` };
}

const EVENT_OF = {
  Provision: EVENT.provisioned,
  PutBack: EVENT.putBack,
  Throttle: EVENT.throttled,
  Release: EVENT.released,
} as const;

function whyReleased({ spec, breaker }: Flow): string {
  const { onRunaway, threshold, for: over } = spec.requestRate;
  if (onRunaway === "Report") return "onRunaway is Report";
  return `${formatDuration(breaker.releaseMs ?? 0)} are over; ${threshold} requests/s for ${over} are a relapse`;
}

/** Observe mode does not lift an existing throttle, so the message says how a person can. */
function throttledInObserveMode(flow: Flow): Finding | undefined {
  if (flow.facts.mode !== "Observe" || !isInQuarantine(flow)) return undefined;
  const sentence = `${nameOf(flow)} is in quarantine, and mode Observe writes nothing. ${howToRelease(flow)}`;
  return { status: "False", reason: "Throttled", sentence, isStalled: true };
}

function howToRelease({ own, facts, spec }: Flow): string {
  const patch = JSON.stringify({ spec: { priorityLevelConfiguration: { name: homeLevel(facts.owner, spec) } } });
  return `To release it: kubectl patch flowschema ${own.wanted.name} --type merge -p '${patch}'.`;
}
