import type { DaemonSetStatus } from "../../api/controller-resilience";
import { formatDuration } from "../../core/duration";
import type { DaemonSetView } from "../../core/views";
import type { Assessment } from "./assessment";
import { applied, appliedMs, entryOf, life, nameOf, type Case } from "./case";
import { isOurRollout, livingOf } from "./facts";
import { isSettled, rolloutOf } from "./rollout";

// What there is to say of a DaemonSet whichever way its tokens are bounded.

/** When to look again while a rollout goes on. */
export const ROLLING_MS = 10_000;

const LEARNT: readonly DaemonSetStatus["outcome"][] = ["Reverting", "Reverted", "Contested"];

/** Somebody asked for it to be left alone. */
export function skipped(given: Case): Assessment | undefined {
  if (!given.own.view.skip) return undefined;
  const sentence = `${nameOf(given)} has the skip annotation and is left alone.`;
  const { record } = given.own;
  // What was learnt of it must not be forgotten meanwhile.
  const outcome = record !== undefined && LEARNT.includes(record.outcome) ? record.outcome : "LeftAlone";
  const reason = given.plan.kind === "Bounded" ? "Bounded" : "LeftAlone";
  return { status: "True", reason, sentence, entry: entryOf(given, outcome) };
}

/** That nothing is done, why that is so, and whether all is well. */
const REASONS = {
  AutomountOff: { status: "True", reason: "AutomountOff" },
  DefaultTokenLeft: { status: "True", reason: "DefaultTokenLeft" },
  OwnMount: { status: "False", reason: "OwnMount" },
  WindowsNodes: { status: "False", reason: "WindowsNodes" },
} as const;

/** There is nothing to bound, or nothing that can be. */
export function leftAlone(given: Case): Assessment | undefined {
  const { plan } = given;
  if (plan.kind !== "LeftAlone") return undefined;
  const { status, reason } = REASONS[plan.reason];
  const sentence = `${nameOf(given)} is left alone. ${plan.sentence}`;
  return { status, reason, sentence, entry: entryOf(given, "LeftAlone"), isStalled: status === "False" };
}

/** Its template has the bound, and not all of its pods have. */
export function rolling(given: Case): Assessment | undefined {
  const { own, plan, spec, nowMs } = given;
  if (plan.kind !== "Bounded") return undefined;
  const rollout = rolloutOf(own, spec, appliedMs(given), nowMs);
  const isOurs = isOurRollout(own.record);
  // A bounded DaemonSet stays bounded, whatever else goes on with it.
  if (rollout.isDone || (!isOurs && rollout.boundedPods === rollout.pods)) return undefined;
  const progress = `${nameOf(given)}: ${rollout.boundedPods} of ${rollout.pods} pods have a token that lives ${life(spec)}`;
  if (isOurs && rollout.isStuck) {
    const sentence = `${progress}, and no more became Ready with one for ${formatDuration(rollout.stuckAfterMs)}: see kubectl rollout status. Nothing more is changed.`;
    return {
      status: "False",
      reason: "RolloutStuck",
      sentence,
      entry: applied(given, "Stuck"),
      isStalled: true,
      recheckAfterMs: ROLLING_MS,
    };
  }
  return {
    status: "False",
    reason: "Rolling",
    sentence: `${progress}; the DaemonSet replaces the others at its own pace.`,
    entry: isOurs ? applied(given, "Rolling") : entryOf(given, "Bounded"),
    isProgressing: true,
    recheckAfterMs: ROLLING_MS,
  };
}

/** Its template has the bound. */
export function bounded(given: Case): Assessment | undefined {
  if (given.plan.kind !== "Bounded") return undefined;
  const sentence = `Tokens of ${nameOf(given)} live at most ${life(given.spec)}.`;
  return { status: "True", reason: "Bounded", sentence, entry: applied(given, "Bounded") };
}

/** What it has not done yet, as the end of a sentence. */
function unsettled({ generation, observedGeneration, ...view }: DaemonSetView): string {
  const { replicas, updatedPods, availablePods, updateStrategy } = view;
  const older = replicas - updatedPods;
  if (observedGeneration >= generation && older <= 0)
    return `${availablePods} of ${replicas} of its pods are available`;
  if (updateStrategy !== "OnDelete" || older <= 0) return "it is still replacing its pods";
  return `its updateStrategy is OnDelete, and pods of an older template are still there (${older})`;
}

/** Why no pod may go, whatever for, as the end of a sentence: none could come in its place. */
export function missingAccount({ own }: Case): string | undefined {
  if (!own.lacksAccount) return undefined;
  return `its ServiceAccount ${own.view.serviceAccountName} is not there, or is being deleted, so no pod could be created in another's place`;
}

/** Why it is not the moment for a change, as the end of a sentence. */
export function obstacle(given: Case): string | undefined {
  return missingAccount(given) ?? untimely(given);
}

function untimely({ own, spec, isAnotherRolling }: Case): string | undefined {
  if (!isSettled(own.view)) return unsettled(own.view);
  if (isAnotherRolling) return "another DaemonSet of this object is replacing its pods";
  if (!spec.revertOnUnauthorized) return undefined;
  const verdicts = livingOf(own).map(({ verdict }) => verdict);
  if (verdicts.some(verdict => verdict === "persistent" || verdict === "suspected")) {
    return "its pods are answered 401 already, so nobody could tell whether the change is to blame for more of them";
  }
  if (verdicts.includes("unreadable"))
    return "the logs of its pods can't be read, so nobody could tell whether it does harm";
  return verdicts.includes("unread")
    ? "the logs of its pods have still to be read, to compare with those after it"
    : undefined;
}

/** It is not the moment for what is to be done. */
export function waitingFor(
  given: Case,
  why: string,
  what = `The token life of ${nameOf(given)} is to be ${life(given.spec)}`,
): Assessment {
  return {
    status: "False",
    reason: "Waiting",
    sentence: `${what}, but not yet: ${why}.`,
    entry: entryOf(given, "Waiting"),
    isProgressing: true,
    recheckAfterMs: ROLLING_MS,
  };
}

/** Some client in the cluster lives by the year of grace of default tokens, and nobody can tell which. */
export function warningOf({ facts, plan }: Case): string {
  if (!facts.staleTokens || plan.kind !== "Change" || !plan.projects) return "";
  return ` The API server has been shown tokens past their life (serviceaccount_stale_tokens_total): some client in this cluster does not read its token again, and if it is one of these, it will be answered 401.`;
}
