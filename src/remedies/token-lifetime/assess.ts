import { Reason } from "../../api/conditions";
import type { DaemonSetStatus } from "../../api/controller-resilience";
import { formatDuration } from "../../core/duration";
import type { Intent } from "../../core/intent";
import { buildChange, buildRelease } from "./build";
import { applied, appliedMs, changesOf, entryOf, fingerprintOf, life, nameOf, type Case } from "./case";
import { isCanary, isWatched, type DaemonSetFacts } from "./facts";
import { isSettled, rolloutOf } from "./rollout";

/** What there is to say and to do about one DaemonSet. */
export interface Assessment {
  readonly status: "True" | "False";
  readonly reason: Reason;
  readonly sentence: string;
  readonly entry: DaemonSetStatus;
  readonly intent?: Intent;
  /** A person is needed. */
  readonly isStalled?: boolean;
  /** Something will go on by itself. */
  readonly isProgressing?: boolean;
  readonly recheckAfterMs?: number;
}

type Check = (given: Case) => Assessment | undefined;

/** Changes of one template for one generation of the object: the first, and one more if somebody takes it back. */
const MAX_CHANGES = 2;

/** Looked at again as soon as status was written. */
const AT_ONCE_MS = 1_000;

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
  // What stood there before has to stand in status first, or nobody could put it back.
  planned,
  // Observe only reports.
  wouldChange,
];

/** What the checks say of a DaemonSet; if none of them does, its template is changed. */
export function assess(given: Case): Assessment {
  for (const check of CHECKS) {
    const assessment = check(given);
    if (assessment !== undefined) return assessment;
  }
  return change(given);
}

function skipped(given: Case): Assessment | undefined {
  if (!given.own.view.skip) return undefined;
  const sentence = `${nameOf(given)} has the skip annotation and is left alone.`;
  return { status: "True", reason: Reason.Bounded, sentence, entry: entryOf(given, "LeftAlone") };
}

function reverting(given: Case): Assessment | undefined {
  const { own, spec, nowMs } = given;
  if (!spec.revertOnUnauthorized || own.record?.appliedTime === undefined) return undefined;
  const isDecided = own.record.outcome === "Reverting";
  const rejected = isWatched(own.record, spec, nowMs) ? rejectedCanaries(given) : [];
  if (!isDecided && rejected.length === 0) return undefined;
  const sentence = `${nameOf(given)}: since its tokens live ${life(spec)}, pods are answered 401 that were not before; the change is taken back.`;
  const finding = {
    status: "False" as const,
    reason: Reason.Reverting,
    sentence,
    entry: entryOf(given, "Reverting"),
    isProgressing: true,
  };
  // Written down first: whoever leads next must not try the change again.
  if (!isDecided) return { ...finding, recheckAfterMs: AT_ONCE_MS };
  return { ...finding, intent: buildRelease(own, sentence) };
}

/** Pods with the shorter token that are answered 401, for which nothing else is to blame. */
function rejectedCanaries({ own, spec }: Case): DaemonSetFacts["pods"] {
  return own.pods.filter(
    ({ pod, verdict, isOlderThanAccount }) =>
      verdict === "persistent" && !isOlderThanAccount && pod.deletedAtMs === undefined && isCanary(pod, spec),
  );
}

function reverted(given: Case): Assessment | undefined {
  const { record } = given.own;
  if (record?.outcome !== "Reverted" || record.fingerprint !== fingerprintOf(given)) return undefined;
  const sentence = `${nameOf(given)}: a token life of ${life(given.spec)} was taken back, because its pods were answered 401 with it. It is not tried again before the template changes: does its client read the token file again?`;
  return { status: "False", reason: Reason.Reverted, sentence, entry: entryOf(given, "Reverted"), isStalled: true };
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
  if (rollout.isDone) return undefined;
  const progress = `${nameOf(given)}: ${rollout.boundedPods} of ${rollout.pods} pods have a token that lives ${life(spec)}`;
  if (rollout.isStuck) {
    const sentence = `${progress}, and no more of them were replaced for ${formatDuration(rollout.stuckAfterMs)}: see kubectl rollout status. Nothing more is changed.`;
    const entry = entryOf(given, "Stuck");
    return { status: "False", reason: Reason.RolloutStuck, sentence, entry, isStalled: true };
  }
  return {
    status: "False",
    reason: Reason.Rolling,
    sentence: `${progress}; the DaemonSet replaces the others at its own pace.`,
    entry: applied(given, "Rolling"),
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
  const who = view.lastManager === undefined ? "somebody" : `field manager ${view.lastManager}`;
  const sentence = `${nameOf(given)}: the change was made ${MAX_CHANGES} times, and ${who} has taken it back each time. It is not made again before this object changes: let Git leave the field alone (docs/remedies/token-lifetime.md).`;
  return {
    status: "False",
    reason: Reason.FieldContested,
    sentence,
    entry: entryOf(given, "Contested"),
    isStalled: true,
  };
}

function waiting(given: Case): Assessment | undefined {
  const why = obstacle(given);
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
  if (!isSettled(own.view)) return "it is replacing its pods for another reason";
  if (isAnotherRolling) return "another DaemonSet of this object is replacing its pods";
  if (!spec.revertOnUnauthorized) return undefined;
  const verdicts = own.pods.filter(({ pod }) => pod.deletedAtMs === undefined).map(({ verdict }) => verdict);
  if (verdicts.some(verdict => verdict === "persistent" || verdict === "suspected")) {
    return "its pods are answered 401 already, so nobody could tell whether the change is to blame for more of them";
  }
  return verdicts.includes("unread")
    ? "the logs of its pods have still to be read, to compare with those after it"
    : undefined;
}

function planned(given: Case): Assessment | undefined {
  const { record } = given.own;
  if (record?.outcome === "Planned" && record.fingerprint === fingerprintOf(given)) return undefined;
  const sentence = `${nameOf(given)} is about to be changed, so that its tokens live ${life(given.spec)}.${warningOf(given)}`;
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
  const sentence = `${nameOf(given)} would be changed now, so that its tokens live ${life(given.spec)}.${warningOf(given)}`;
  return { ...change(given), status: "False", reason: Reason.WouldChange, sentence, isProgressing: false };
}

function change(given: Case): Assessment {
  const { own, plan, spec } = given;
  const why = `Tokens of ${nameOf(given)} are to live ${life(spec)}; the DaemonSet replaces its pods at its own pace.${warningOf(given)}`;
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
