import { Reason } from "../../api/conditions";
import type { DaemonSetStatus } from "../../api/controller-resilience";
import { formatDuration } from "../../core/duration";
import { AT_ONCE_MS, type Assessment } from "./assessment";
import { buildChange } from "./build";
import {
  aimOf,
  applied,
  appliedMs,
  changesOf,
  entryOf,
  fingerprintOf,
  isRelease,
  life,
  nameOf,
  type Case,
} from "./case";
import { isOurRollout, livingOf } from "./facts";
import { reverted, reverting } from "./revert";
import { isSettled, rolloutOf } from "./rollout";

type Check = (given: Case) => Assessment | undefined;

/** Changes of one template for one generation of the object: the first, and one more if somebody takes it back. */
const MAX_CHANGES = 2;

/** While a rollout goes on. */
const ROLLING_MS = 10_000;

/** The first that has something to say decides. */
const CHECKS: readonly Check[] = [
  // Somebody asked for it to be left alone.
  skipped,
  // Its pods are answered 401 since: first of all, take it back.
  reverting,
  // It was taken back, and nothing has changed that would make the next try any better.
  reverted,
  // Nothing to bound, or nothing that can be.
  leftAlone,
  // A changed template would replace no pod.
  onDelete,
  // It has the bound; have its pods?
  rolling,
  bounded,
  // Somebody else wants it otherwise.
  contested,
  // One change at a time, and not into trouble that is there already.
  waiting,
  // Observe only reports.
  wouldChange,
  // What stood there before has to stand in status first, or nobody could put it back.
  planned,
];

/** What the checks say of a DaemonSet; if none of them does, its template is changed. */
export function assess(given: Case): Assessment {
  for (const check of CHECKS) {
    const assessment = check(given);
    if (assessment !== undefined) return assessment;
  }
  return change(given);
}

const LEARNT: readonly DaemonSetStatus["outcome"][] = ["Reverting", "Reverted", "Contested"];

function skipped(given: Case): Assessment | undefined {
  if (!given.own.view.skip) return undefined;
  const sentence = `${nameOf(given)} has the skip annotation and is left alone.`;
  const { record } = given.own;
  // What was learnt of it must not be forgotten meanwhile.
  const outcome = record !== undefined && LEARNT.includes(record.outcome) ? record.outcome : "LeftAlone";
  const reason = given.plan.kind === "Bounded" ? Reason.Bounded : Reason.LeftAlone;
  return { status: "True", reason, sentence, entry: entryOf(given, outcome) };
}

/** That nothing is done, why that is so, and whether all is well. */
const REASONS = {
  AutomountOff: { status: "True", reason: Reason.AutomountOff },
  DefaultTokenLeft: { status: "True", reason: Reason.DefaultTokenLeft },
  OwnMount: { status: "False", reason: Reason.OwnMount },
  WindowsNodes: { status: "False", reason: Reason.WindowsNodes },
} as const;

function leftAlone(given: Case): Assessment | undefined {
  const { plan } = given;
  if (plan.kind !== "LeftAlone") return undefined;
  const { status, reason } = REASONS[plan.reason];
  const sentence = `${nameOf(given)} is left alone. ${plan.sentence}`;
  return { status, reason, sentence, entry: entryOf(given, "LeftAlone"), isStalled: status === "False" };
}

function onDelete(given: Case): Assessment | undefined {
  const { own, plan } = given;
  if (plan.kind !== "Change" || own.view.updateStrategy !== "OnDelete") return undefined;
  const sentence = `${nameOf(given)} is left alone: its updateStrategy is OnDelete, so a changed template would replace no pod.`;
  return {
    status: "False",
    reason: Reason.OnDeleteStrategy,
    sentence,
    entry: entryOf(given, "LeftAlone"),
    isStalled: true,
  };
}

function rolling(given: Case): Assessment | undefined {
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
      reason: Reason.RolloutStuck,
      sentence,
      entry: applied(given, "Stuck"),
      isStalled: true,
      recheckAfterMs: ROLLING_MS,
    };
  }
  return {
    status: "False",
    reason: Reason.Rolling,
    sentence: `${progress}; the DaemonSet replaces the others at its own pace.`,
    entry: isOurs ? applied(given, "Rolling") : entryOf(given, "Bounded"),
    isProgressing: true,
    recheckAfterMs: ROLLING_MS,
  };
}

function bounded(given: Case): Assessment | undefined {
  if (given.plan.kind !== "Bounded") return undefined;
  const sentence = `Tokens of ${nameOf(given)} live at most ${life(given.spec)}.`;
  return { status: "True", reason: Reason.Bounded, sentence, entry: applied(given, "Bounded") };
}

function contested(given: Case): Assessment | undefined {
  const { view } = given.own;
  if (changesOf(given) < MAX_CHANGES) return undefined;
  const who = view.lastManager === undefined ? "" : `; field manager ${view.lastManager} wrote the DaemonSet last`;
  const sentence = `${nameOf(given)}: the change was made ${MAX_CHANGES} times, and taken back each time${who}. It is not made again before this object changes: let Git leave the field alone (docs/remedies/token-lifetime.md).`;
  return {
    status: "False",
    reason: Reason.FieldContested,
    sentence,
    entry: entryOf(given, "Contested"),
    isStalled: true,
  };
}

function waiting(given: Case): Assessment | undefined {
  const why = isRelease(given) ? undefined : obstacle(given);
  if (why === undefined) return undefined;
  return {
    status: "False",
    reason: Reason.Waiting,
    sentence: `The token life of ${nameOf(given)} is to be ${life(given.spec)}, but not yet: ${why}.`,
    entry: entryOf(given, "Waiting"),
    isProgressing: true,
    recheckAfterMs: ROLLING_MS,
  };
}

function obstacle({ own, spec, isAnotherRolling }: Case): string | undefined {
  if (!isSettled(own.view)) return "it is still replacing its pods";
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

function planned(given: Case): Assessment | undefined {
  const { record } = given.own;
  if (record?.outcome === "Planned" && record.fingerprint === fingerprintOf(given)) return undefined;
  const sentence = `${nameOf(given)} is about to be changed, so that ${aimOf(given)}.${warningOf(given)}`;
  return {
    status: "False",
    reason: Reason.Planned,
    sentence,
    entry: entryOf(given, "Planned"),
    isProgressing: true,
    recheckAfterMs: AT_ONCE_MS,
  };
}

function wouldChange(given: Case): Assessment | undefined {
  if (given.facts.mode === "Enforce") return undefined;
  const sentence = `${nameOf(given)} would be changed now, so that ${aimOf(given)}.${warningOf(given)}`;
  const entry = entryOf(given, "Waiting");
  return { ...change(given), status: "False", reason: Reason.WouldChange, sentence, entry, isProgressing: false };
}

function change(given: Case): Assessment {
  const { own, plan } = given;
  const why = `${nameOf(given)} is changed, so that ${aimOf(given)}; the DaemonSet replaces its pods at its own pace.${warningOf(given)}`;
  return {
    status: "False",
    reason: Reason.Rolling,
    sentence: why,
    entry: entryOf(given, "Planned"),
    ...(plan.kind === "Change" ? { intent: buildChange(own.view, plan.patch, why) } : {}),
    isProgressing: true,
    recheckAfterMs: ROLLING_MS,
  };
}

/** Some client in the cluster lives by the year of grace of default tokens, and nobody can tell which. */
function warningOf({ facts, plan }: Case): string {
  if (!facts.staleTokens || plan.kind !== "Change" || !plan.projects) return "";
  return ` The API server has been shown tokens past their life (serviceaccount_stale_tokens_total): some client in this cluster does not read its token again, and if it is one of these, it will be answered 401.`;
}
