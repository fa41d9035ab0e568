import { whatWould } from "../../core/remedy";
import { type Check, firstMatch } from "../../core/checks";
import type { Right } from "../../core/readers";
import { reverted, reverting, withWatch } from "./harm";
import {
  blockerOf,
  bounded,
  nothingToChange,
  rolling,
  serviceAccountBlocker,
  skipped,
  stuckSince,
  tooManyAtOnce,
  unsupported,
  waitingFor,
  withWait,
} from "./rollout";
import {
  activePodsOf,
  buildChange,
  type DaemonSetFinding,
  entryOf,
  fingerprintOf,
  IMMEDIATE_MS,
  isMade,
  isRelease,
  isSameTemplate,
  isSettled,
  lifetimeOf,
  nameOf,
  pastOf,
  progressing,
  stalled,
  type Subject,
  TRIAL_STRATEGY,
  workloadOf,
} from "./subject";
import { onTrial } from "./trial";
import { windowClosed } from "./windows";

const CHECKS: readonly Check<Subject, DaemonSetFinding>[] = [
  skipped,
  heldByOther,
  reverting,
  reverted,
  onTrial,
  nothingToChange,
  ownedByController,
  onDeleteStrategy,
  rolling,
  bounded,
  notRepeated,
  hidesExtras,
  tooManyAtOnce,
  lacksRights,
  withoutPods,
  windowClosed,
  delayed,
  wouldChange,
  planned,
];

/** Checks one DaemonSet; changes its template if no check applies. */
export function checkTemplate(subject: Subject): DaemonSetFinding {
  return withWatch(withWait(firstMatch(CHECKS, subject) ?? change(subject), subject), subject);
}

/** Its owner writes the template, and each new one of its templates would allow more changes. */
function ownedByController(subject: Subject): DaemonSetFinding | undefined {
  const { daemonSet, templatePlan } = subject;
  const { owner } = daemonSet.view;
  if (owner === undefined || templatePlan.kind !== "Change" || isRelease(subject)) return undefined;
  const name = `${owner.kind} ${owner.name}`;
  return unsupported(
    subject,
    `${name} owns it and would revert a template change; shorten the token in the settings of ${name}`,
  );
}

function onDeleteStrategy(subject: Subject): DaemonSetFinding | undefined {
  const { daemonSet, templatePlan } = subject;
  if (templatePlan.kind !== "Change" || daemonSet.view.updateStrategy !== "OnDelete") return undefined;
  return unsupported(subject, "with updateStrategy OnDelete a template change replaces no pod; change updateStrategy");
}

/** The operator's volume would take the place of admission's: clients of the other files would fail without a 401. */
function hidesExtras(subject: Subject): DaemonSetFinding | undefined {
  const extended = subject.daemonSet.pods.find(({ pod }) => pod.hasDefaultTokenExtras);
  if (isRelease(subject) || extended === undefined) return undefined;
  const words = `admission adds more files to the default token of pod ${extended.pod.name} than Kubernetes does, as OpenShift's service CA, and the operator's volume would hide them`;
  return unsupported(subject, `${words}; set defaultToken: Leave, or mount a shorter token in the template`);
}

/** One change per template and state of the block. */
function notRepeated(subject: Subject): DaemonSetFinding | undefined {
  const { record } = subject.daemonSet;
  const past = pastOf(subject);
  if (past !== undefined) return past === "Unproven" ? unproven(subject) : contested(subject);
  const isUnseen = record?.generation === subject.observed.generation && isMade(record) && isSameTemplate(subject);
  if (!isUnseen || isRelease(subject)) return undefined;
  return progressing(subject, "Rolling", record.outcome, ": waiting until the change of its template is seen");
}

function unproven(subject: Subject): DaemonSetFinding {
  const words =
    " unchanged: its trial on one node gave no proof that the shorter token works: see the Event TokenLifetimeRestored. The operator does not retry until the template or spec.tokenLifetime changes; take the DaemonSet out of the targets if it cannot";
  const finding = stalled(subject, "Reverted", "Unproven", words);
  return isSettled(subject.daemonSet.view) ? finding : stuckSince(finding, subject);
}

/** Another field manager has taken the change back. */
function contested(subject: Subject): DaemonSetFinding {
  const { lastManager } = subject.daemonSet.view;
  const writer = lastManager === undefined ? "" : `; field manager ${lastManager} wrote the DaemonSet last`;
  const words = `: change was reverted or altered${writer}. The operator does not retry until spec.tokenLifetime changes; remove the field from Git (docs/gitops.md)`;
  return stalled(subject, "Contested", "Contested", words);
}

/** The operator could not finish a trial, so it begins none. */
function lacksRights(subject: Subject): DaemonSetFinding | undefined {
  const { missingRights = [] } = subject.daemonSet;
  if (missingRights.length === 0 || isRelease(subject)) return undefined;
  const rights = missingRights.map(describeRight).join(" and ");
  const words = ` unchanged: the operator may not ${rights}, as the trial on one node needs; grant that`;
  return stalled(subject, "Forbidden", "Waiting", words);
}

function describeRight({ verb, resource, namespace }: Right): string {
  return `${verb} ${resource} ${namespace === undefined ? "in all namespaces" : `in namespace ${namespace}`}`;
}

/** Without a pod there is no trial. A node pool that is scaled to zero needs no person, so this wait is never Stalled. */
function withoutPods(subject: Subject): DaemonSetFinding | undefined {
  if (isRelease(subject) || activePodsOf(subject.daemonSet).some(({ pod }) => !pod.skip)) return undefined;
  return {
    status: "False",
    reason: "Waiting",
    sentence: `${nameOf(subject)} unchanged: it has no pods, or all have the skip annotation, so the shorter token cannot be tried; the trial begins with the first other one.`,
    entry: entryOf(subject, "Waiting"),
  };
}

function delayed(subject: Subject): DaemonSetFinding | undefined {
  // A change that only restores the template needs no comparison of logs.
  const blocker = isRelease(subject) ? serviceAccountBlocker(subject) : blockerOf(subject);
  if (blocker === undefined) return undefined;
  return waitingFor(subject, blocker, isRelease(subject) ? "restoring its template" : undefined);
}

/** The previous state must be in status before the change, or no later leader could restore it. */
function planned(subject: Subject): DaemonSetFinding | undefined {
  const { record } = subject.daemonSet;
  // After a crash, generation and template show whether the recorded change is the one that was made.
  const isSameChange =
    record?.generation === subject.observed.generation && record.fingerprint === fingerprintOf(subject);
  if (record?.outcome === "Planned" && isSameChange) return undefined;
  const words = `: the next pass changes its template, which ${effectOf(subject)}`;
  return { ...progressing(subject, "Rolling", "Planned", words), recheckAfterMs: IMMEDIATE_MS };
}

function wouldChange(subject: Subject): DaemonSetFinding | undefined {
  const { mode } = subject.observed;
  if (mode === "Enforce") return undefined;
  return {
    ...change(subject),
    reason: "WouldChange",
    sentence: `${nameOf(subject)}: ${whatWould(mode)} change its template, which ${effectOf(subject)}.`,
    entry: entryOf(subject, "Waiting"),
    isProgressing: false,
  };
}

function change(subject: Subject): DaemonSetFinding {
  const { daemonSet, templatePlan } = subject;
  const isTrial = !isRelease(subject);
  const next = isTrial ? "one pod is replaced first" : "the DaemonSet controller replaces its pods";
  const words = `: changing its template, which ${effectOf(subject)}; ${next}`;
  const finding = progressing(subject, "Rolling", "Planned", words);
  if (templatePlan.kind !== "Change") return finding;
  const intent = buildChange(daemonSet.view, templatePlan.patch, finding.sentence, isTrial ? TRIAL_STRATEGY : {});
  const workload = workloadOf(daemonSet.view);
  if (isTrial) return { ...finding, intents: [{ ...intent, rollout: { workload } }], after: "Trial" };
  const restore = { ...intent, eventReason: "TokenLifetimeRestored", rollout: { workload, goesOn: true } } as const;
  return { ...finding, intents: [restore], after: "Rolling" };
}

function effectOf(subject: Subject): string {
  return isRelease(subject) ? "restores it" : `bounds its tokens to ${lifetimeOf(subject.spec)}`;
}

/** Another object has the DaemonSet. Stalled after an hour, as every wait. */
function heldByOther(subject: Subject): DaemonSetFinding | undefined {
  const { holder } = subject.daemonSet;
  if (holder === undefined) return undefined;
  return waitingFor(
    subject,
    `another ControllerResilience, ${holder}, has this DaemonSet; remove it from the targets of one of them`,
  );
}
