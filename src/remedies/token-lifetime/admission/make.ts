import { AT_ONCE_MS, type Assessment } from "../assessment";
import { buildRelease } from "../build";
import { changesOf, entryOf, life, MAX_CHANGES, nameOf } from "../case";
import { obstacle, ROLLING_MS, waitingFor, warningOf } from "../checks";
import { buildPair } from "./build";
import { inEffectMs, isReleasable, type AdmissionCase } from "./case";
import { isMade } from "./pair";

/** The pair is to be made or put right, or why it is not. */
export function making(given: AdmissionCase): Assessment | undefined {
  if (isMade(given.pair)) return undefined;
  return contested(given) ?? waiting(given) ?? make(given);
}

function contested(given: AdmissionCase): Assessment | undefined {
  if (changesOf(given) < MAX_CHANGES) return undefined;
  const { halves, name } = given.pair;
  const manager = halves.find(({ state }) => state === "Drifted")?.view?.lastManager;
  const who = manager === undefined ? "" : `; field manager ${manager} wrote it last`;
  const sentence = `${nameOf(given)}: the policy ${name} was made ${MAX_CHANGES} times, and changed or deleted by somebody else each time${who}. It is not made again before this object changes.`;
  return {
    status: "False",
    reason: "FieldContested",
    sentence,
    entry: entryOf(given, "Contested"),
    isStalled: true,
  };
}

/** What is there already and was changed is put right at once: pods are short of it. */
function waiting(given: AdmissionCase): Assessment | undefined {
  const isNew = given.pair.halves.every(({ state }) => state === "Missing");
  const why = isNew ? obstacle(given) : undefined;
  return why === undefined ? undefined : waitingFor(given, why);
}

function make(given: AdmissionCase): Assessment {
  const { own, facts, pair, spec } = given;
  const aim = `so that new pods of ${nameOf(given)} get a token that lives ${life(spec)}; the DaemonSet itself is not changed.${warningOf(given)}`;
  const why = `The MutatingAdmissionPolicy ${pair.name} is made, ${aim}`;
  const isObserved = facts.mode !== "Enforce";
  return {
    status: "False",
    reason: isObserved ? "WouldChange" : "Planned",
    sentence: isObserved ? `A MutatingAdmissionPolicy would be made now, ${aim}` : why,
    entry: entryOf(given, "Waiting"),
    intents: buildPair(pair, own.view.name, facts.owner, why),
    isProgressing: !isObserved,
    recheckAfterMs: AT_ONCE_MS,
  };
}

/** The pair is there, but perhaps not yet in every API server's cache. */
export function comingIntoEffect(given: AdmissionCase): Assessment | undefined {
  const leftMs = inEffectMs(given) - given.nowMs;
  if (leftMs <= 0) return undefined;
  return {
    status: "False",
    reason: "Planned",
    sentence: `The policy ${given.pair.name} for ${nameOf(given)} is there; it counts as in effect 30 seconds after it was made.`,
    entry: entryOf(given, "Waiting"),
    isProgressing: true,
    recheckAfterMs: leftMs,
  };
}

/** What the operator has put into the template before is given back; the DaemonSet replaces its pods by that itself. */
export function giveBack(given: AdmissionCase): Assessment | undefined {
  if (!isReleasable(given.own)) return undefined;
  const why = obstacle(given);
  if (why !== undefined) return waitingFor(given, why);
  const sentence = `What was put into the template of ${nameOf(given)} is given back, now that the policy ${given.pair.name} does the same; the DaemonSet replaces its pods at its own pace.`;
  const isObserved = given.facts.mode !== "Enforce";
  return {
    status: "False",
    reason: isObserved ? "WouldChange" : "Rolling",
    sentence,
    entry: entryOf(given, isObserved ? "Waiting" : "Rolling"),
    intents: [buildRelease(given.own, sentence)],
    isProgressing: !isObserved,
    recheckAfterMs: ROLLING_MS,
  };
}
