import { formatDuration } from "../../core/duration";
import { isRunaway } from "./breaker";
import { buildWrite, DONE, type Words } from "./build";
import type { FlowIsolationFacts, Spec } from "./facts";
import type { Finding } from "./finding";
import { changesOf, isInTarPit, isPutBack, isToBeScaled, measured, nameOf, piecesOf, timeOf, type Flow } from "./flow";
import { TAR_PIT } from "./levels";
import { levelOf } from "./standing";
import { homeLevel } from "./wanted";

/** What somebody else takes back is put back so often for one generation of the object. */
export const MAX_CHANGES = 2;

type Check = (flow: Flow) => Finding | undefined;

/** All that have something to say say it. */
const CHECKS: readonly Check[] = [
  // What the client does, and what is done about it.
  held,
  runaway,
  elevated,
  probation,
  // What stands in the way.
  taken,
  contested,
  shadowed,
  dangling,
  // What is to be written, and what may not be.
  written,
  stillHeld,
];

/** What there is to say about one ServiceAccount's flow, and to do. `isLevelUsable`: there is a level to put it on. */
export function assessFlow(flow: Flow, isLevelUsable: boolean): Finding[] {
  const findings = CHECKS.flatMap(check => check(flow) ?? []);
  // Without its level a FlowSchema would be ignored. That lifts a throttle, which nothing must stand in the way of.
  const mayWrite = isLevelUsable || flow.breaker.state === "Throttled" || isInTarPit(flow);
  const said = mayWrite ? findings : findings.filter(({ intents }) => intents === undefined);
  return said.length > 0 ? said : [isolated(flow)];
}

function held(flow: Flow): Finding | undefined {
  const { breaker, facts, account } = flow;
  if (breaker.state !== "Throttled" || breaker.untilMs === undefined) return undefined;
  const scaled = facts.scaledDown.some(one => one.serviceAccountName === account.name && one.replicas === 0);
  const sentence = `${nameOf(flow)} was a runaway and is held still in the tar pit until ${timeOf(breaker.untilMs)}, then watched on probation.${scalingOf(flow)}`;
  return { status: "False", reason: scaled ? "ScaledToZero" : "Throttled", sentence };
}

/** What is to be said of its workloads. */
function scalingOf(flow: Flow): string {
  if (!isToBeScaled(flow)) return "";
  const { account, facts } = flow;
  if (!facts.mayScale) {
    return " Its workloads are not scaled to zero, since the operator lacks the right to patch deployments and statefulsets.";
  }
  const kept = account.workloads.filter(({ kind }) => kind === "DaemonSet").map(({ name }) => `DaemonSet ${name}`);
  const sentence = kept.length === 0 ? "" : ` ${kept.join(", ")} can't be scaled to zero and is throttled only.`;
  return ` Its Deployments and StatefulSets have no replicas meanwhile.${sentence}`;
}

function runaway(flow: Flow): Finding | undefined {
  const { breaker, reading, limits, spec, facts } = flow;
  if (breaker.state === "Throttled" || !isRunaway(reading, limits)) return undefined;
  // Written down first; the next pass throttles it.
  if (limits.mayThrottle) return undefined;
  const sentence = `${nameOf(flow)} is a runaway: ${measured(flow)} ${whyNotHeld(spec, facts.mode)}`;
  return { status: "False", reason: "Runaway", sentence, isStalled: facts.mode === "Enforce" };
}

function whyNotHeld({ requestRate }: Spec, mode: FlowIsolationFacts["mode"]): string {
  if (requestRate.onRunaway === "Report") return "It is not held still, since onRunaway is Report.";
  if (mode === "Observe") return "It would be held still now.";
  return "It can't be held still, since the tar pit or its own FlowSchemas are not in place.";
}

function elevated(flow: Flow): Finding | undefined {
  if (flow.breaker.state !== "Elevated" || runaway(flow) !== undefined) return undefined;
  const sentence = `${nameOf(flow)} is near or over its threshold: ${measured(flow)}`;
  return { status: "True", reason: "Elevated", sentence };
}

function probation(flow: Flow): Finding | undefined {
  const { state, untilMs, releaseMs = 0 } = flow.breaker;
  if (state !== "Probation") return undefined;
  const quiet =
    untilMs === undefined ? "It is over its threshold again." : `If it stays quiet, that ends at ${timeOf(untilMs)}.`;
  const sentence = `${nameOf(flow)} was held still for ${formatDuration(releaseMs)} and is on probation. ${quiet}`;
  return { status: "True", reason: "Probation", sentence };
}

function taken(flow: Flow): Finding | undefined {
  const piece = piecesOf(flow).find(({ standing }) => standing.is === "Taken");
  if (piece === undefined) return undefined;
  const isHeld = "view" in piece.standing && levelOf(piece.standing.view) === TAR_PIT;
  const wayOut = isHeld ? ` It is in the tar pit. ${howToLetOut(flow)}` : "";
  const sentence = `${nameOf(flow)}: the FlowSchema ${piece.wanted.name} is not the operator's, and is left alone: delete it, or give it back its labels.${wayOut}`;
  return { status: "False", reason: "NameTaken", sentence, isStalled: true };
}

function contested(flow: Flow): Finding | undefined {
  const piece = piecesOf(flow).find(({ standing }) => standing.is === "Different" || standing.is === "Missing");
  if (piece === undefined || !isContested(flow)) return undefined;
  const { standing, wanted } = piece;
  const manager = "view" in standing ? standing.view.lastManager : undefined;
  const who = manager === undefined ? "" : `; field manager ${manager} wrote it last`;
  const sentence = `${nameOf(flow)}: the FlowSchema ${wanted.name} was put back ${MAX_CHANGES} times, and changed again each time${who}. It is not put back again before this object changes.`;
  return { status: "False", reason: "FlowContested", sentence, isStalled: true };
}

function isContested(flow: Flow): boolean {
  return isPutBack(flow) && changesOf(flow.account, flow.facts) >= MAX_CHANGES;
}

function shadowed(flow: Flow): Finding | undefined {
  const { own, shadow } = flow;
  if (shadow === undefined) return undefined;
  const sentence = `${nameOf(flow)}: the FlowSchema ${shadow.name} takes its requests before ${own.wanted.name} does, so nothing is measured or held here. Name it in one object only, or change matchingPrecedence.`;
  return { status: "False", reason: "FlowShadowed", sentence, isStalled: true };
}

function dangling(flow: Flow): Finding | undefined {
  for (const { standing, wanted } of piecesOf(flow)) {
    if (standing.is === "Going") return notYet(flow, wanted.name, "is being deleted, and is made anew when it is gone");
    if (standing.is !== "AsWanted") continue;
    const status = standing.view.conditions.find(({ type }) => type === "Dangling")?.status;
    if (status === "False") continue;
    if (status !== "True") return notYet(flow, wanted.name, "has not been taken up by the API server yet");
    const what = "refers to a level that does not exist, says the API server";
    return { ...notYet(flow, wanted.name, what), reason: "Dangling" };
  }
  return undefined;
}

function notYet(flow: Flow, name: string, what: string): Finding {
  const sentence = `${nameOf(flow)}: the FlowSchema ${name} ${what}.`;
  return { status: "False", reason: "Provisioning", sentence, isProgressing: true };
}

function written(flow: Flow): Finding | undefined {
  if (isContested(flow)) return undefined;
  const words = wordsOf(flow);
  const intents = piecesOf(flow).flatMap(({ wanted, standing }) => buildWrite(wanted, standing, words) ?? []);
  if (intents.length === 0) return undefined;
  const names = intents.map(({ target }) => target.name).join(" and ");
  return flow.facts.mode === "Observe"
    ? {
        status: "False",
        reason: "WouldIsolate",
        sentence: `The FlowSchemas ${names} would be written now.${notMeasured(flow)}`,
        intents,
      }
    : { status: "False", reason: "Provisioning", sentence: words.why, intents, isProgressing: true };
}

function notMeasured({ own }: Flow): string {
  return own.standing.is === "Missing" ? " Requests are not measured before their ServiceAccount is isolated." : "";
}

/** Why it is written now: a step of the breaker before all, since that is what people look for. */
function wordsOf(flow: Flow): Words {
  const { breaker, before, level, account } = flow;
  if (breaker.state === "Throttled" && account.record?.priorityLevel !== level) {
    const lasts = formatDuration(breaker.releaseMs ?? 0);
    const why = `${nameOf(flow)} is a runaway: ${measured(flow)} It is held still in the tar pit for ${lasts}.`;
    return { why, eventReason: DONE.throttled };
  }
  if (breaker.state !== "Throttled" && isInTarPit(flow)) {
    const why = `${nameOf(flow)} is let out of the tar pit and back to the level ${level}${before?.state === "Throttled" ? `, on probation: ${whyReleased(flow)}` : ""}.`;
    return { why, eventReason: DONE.released };
  }
  if (isPutBack(flow)) {
    const why = `${nameOf(flow)}: somebody has changed its FlowSchemas; they are put back.`;
    return { why, eventReason: DONE.putBack };
  }
  return { why: `${nameOf(flow)} gets a flow of its own on the level ${level}.`, eventReason: DONE.provisioned };
}

function whyReleased({ spec, breaker }: Flow): string {
  const { onRunaway, threshold, for: over } = spec.requestRate;
  if (onRunaway === "Report") return "onRunaway is Report";
  return `its ${formatDuration(breaker.releaseMs ?? 0)} are over; ${threshold} requests per second for ${over} are a relapse`;
}

/** Observe mode writes nothing, so a throttle that is there is not lifted: a person has to know how. */
function stillHeld(flow: Flow): Finding | undefined {
  if (flow.facts.mode !== "Observe" || !isInTarPit(flow)) return undefined;
  const sentence = `${nameOf(flow)} is in the tar pit, and mode Observe writes nothing. ${howToLetOut(flow)}`;
  return { status: "False", reason: "Throttled", sentence, isStalled: true };
}

function howToLetOut({ own, facts, spec }: Flow): string {
  const patch = JSON.stringify({ spec: { priorityLevelConfiguration: { name: homeLevel(facts.owner, spec) } } });
  return `To let it out: kubectl patch flowschema ${own.wanted.name} --type merge -p '${patch}'.`;
}

function isolated(flow: Flow): Finding {
  const sentence = `${nameOf(flow)} has a flow of its own on the level ${flow.level}.`;
  return { status: "True", reason: "Isolated", sentence };
}
