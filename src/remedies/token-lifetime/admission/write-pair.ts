import { viewIn } from "../../../core/desired";
import { whatWould } from "../../../core/mode";
import { blockerOf, staleTokenWarning, tooManyAtOnce, waitingFor } from "../checks/shared";
import { windowClosed } from "../checks/window";
import { IMMEDIATE_MS, RECHECK_MS, type DaemonSetFinding } from "../finding";
import { buildRelease } from "../intents";
import { changesOf, entryOf, lifetimeOf, MAX_CHANGES, nameOf } from "../subject";
import { buildPair } from "./intents";
import { isComplete, isDrifted } from "./pair";
import { hasTemplateChange, inEffectMs, type AdmissionSubject } from "./subject";

/** The pair is missing or drifted. */
export function writingPair(subject: AdmissionSubject): DaemonSetFinding | undefined {
  if (isComplete(subject.pair)) return undefined;
  return contested(subject) ?? delayed(subject) ?? writePair(subject);
}

function contested(subject: AdmissionSubject): DaemonSetFinding | undefined {
  if (changesOf(subject) < MAX_CHANGES) return undefined;
  const { halves, name } = subject.pair;
  const drifted = halves.find(isDrifted);
  const manager = drifted && viewIn(drifted.state)?.lastManager;
  const writer = manager === undefined ? "" : `; field manager ${manager} wrote it last`;
  return {
    status: "False",
    reason: "FieldContested",
    sentence: `${nameOf(subject)}: policy ${name} was changed or deleted ${MAX_CHANGES} times${writer}. The operator does not write it again until this object changes.`,
    entry: entryOf(subject, "Contested"),
    isStalled: true,
  };
}

/** A pair that was drifted is repaired immediately: pods already rely on it. */
function delayed(subject: AdmissionSubject): DaemonSetFinding | undefined {
  const isNew = subject.pair.halves.every(({ state }) => state.is === "missing");
  if (!isNew) return undefined;
  const closed = windowClosed(subject);
  if (closed !== undefined) return closed;
  const blocker = blockerOf(subject);
  return blocker === undefined ? undefined : waitingFor(subject, blocker);
}

function writePair(subject: AdmissionSubject): DaemonSetFinding {
  const { daemonSet, observed, pair, spec } = subject;
  const effect = `which bounds the tokens of new pods to ${lifetimeOf(spec)}; the DaemonSet does not change.${staleTokenWarning(subject)}`;
  const why = `${nameOf(subject)}: writing MutatingAdmissionPolicy ${pair.name}, ${effect}`;
  const { mode } = observed;
  const isEnforced = mode === "Enforce";
  return {
    status: "False",
    reason: isEnforced ? "Planned" : "WouldChange",
    sentence: isEnforced ? why : `${nameOf(subject)}: ${whatWould(mode)} create a MutatingAdmissionPolicy, ${effect}`,
    entry: entryOf(subject, "Waiting"),
    intents: buildPair(pair, daemonSet.view.name, observed.owner, why),
    shortens: "Policy",
    isProgressing: isEnforced,
    recheckAfterMs: IMMEDIATE_MS,
  };
}

/** The caches of some API servers may not have the pair yet. */
export function notInEffectYet(subject: AdmissionSubject): DaemonSetFinding | undefined {
  const leftMs = inEffectMs(subject) - subject.nowMs;
  if (leftMs <= 0) return undefined;
  return {
    status: "False",
    reason: "Planned",
    sentence: `${nameOf(subject)}: policy ${subject.pair.name} takes effect within 30s; then the operator replaces pods.`,
    entry: entryOf(subject, "Waiting"),
    isProgressing: true,
    recheckAfterMs: leftMs,
  };
}

/** The policy replaces an earlier change of the template. */
export function restoringTemplate(subject: AdmissionSubject): DaemonSetFinding | undefined {
  if (!hasTemplateChange(subject.daemonSet)) return undefined;
  const blocker = blockerOf(subject);
  const objection =
    tooManyAtOnce(subject) ??
    windowClosed(subject) ??
    (blocker === undefined ? undefined : waitingFor(subject, blocker));
  if (objection !== undefined) return objection;
  const { mode } = subject.observed;
  const isEnforced = mode === "Enforce";
  const action = isEnforced ? "restoring its template" : `${whatWould(mode)} restore its template`;
  const sentence = `${nameOf(subject)}: ${action}, because policy ${subject.pair.name} bounds its tokens now; the DaemonSet controller replaces its pods.`;
  return {
    status: "False",
    reason: isEnforced ? "Rolling" : "WouldChange",
    sentence,
    entry: entryOf(subject, isEnforced ? "Rolling" : "Waiting"),
    intents: [buildRelease(subject.daemonSet, sentence)],
    isProgressing: isEnforced,
    recheckAfterMs: RECHECK_MS,
  };
}
