import { whatWould } from "../../core/remedy";
import { type Check, firstMatch } from "../../core/checks";
import {
  blockerOf,
  bounded,
  nothingToChange,
  rolling,
  serviceAccountBlocker,
  sparedBlocker,
  stuckSince,
  tooManyAtOnce,
  unsupported,
  waitingFor,
  withWait,
} from "./rollout";
import {
  activePodsOf,
  buildChange,
  buildRelease,
  calm,
  type DaemonSetFinding,
  entryOf,
  IMMEDIATE_MS,
  isCanary,
  isMade,
  isOnTrial,
  isSameTemplate,
  isSettled,
  isWatched,
  lifetimeOf,
  nameOf,
  pastOf,
  progressing,
  RECHECK_MS,
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
  toShorten(ownedByController),
  onDeleteStrategy,
  rolling,
  bounded,
  toShorten(notRepeated, hidesExtras),
  tooManyAtOnce,
  toShorten(lacksRights, withoutPods),
  delayed,
  wouldChange,
  planned,
];

/** Checks one DaemonSet; changes its template if no check applies. */
export function checkTemplate(subject: Subject): DaemonSetFinding {
  const finding = withWait(firstMatch(CHECKS, subject) ?? change(subject), subject);
  const { entry, recheckAfterMs = Infinity } = finding;
  // A watch that begins reads its logs soon.
  if (entry.appliedTime === subject.record?.appliedTime) return finding;
  return { ...finding, recheckAfterMs: Math.min(recheckAfterMs, RECHECK_MS) };
}

/** Why no token is shortened now. What only restores the template needs none of this. */
function toShorten(...checks: readonly Check<Subject, DaemonSetFinding>[]): Check<Subject, DaemonSetFinding> {
  return subject => (subject.plan.kind === "Change" ? firstMatch(checks, subject) : undefined);
}

function skipped(subject: Subject): DaemonSetFinding | undefined {
  const { view, plan, record } = subject;
  if (!view.skip) return undefined;
  const wayOut = "remove the annotation, or take it back by hand (docs/remedies/token-lifetime.md)";
  if (record !== undefined && isChangeHarmful(subject)) {
    const words = `: ${harmOf(subject)}; the skip annotation holds the revert of the template change; ${wayOut}`;
    return stalled(subject, "Reverted", record.outcome, words);
  }
  if (isOnTrial(view)) {
    const words = `: the skip annotation holds its trial on one node, and updateStrategy OnDelete every update of its template; ${wayOut}`;
    return stalled(subject, "Unsupported", "Trial", words);
  }
  const words = " unchanged: it has the skip annotation";
  if (plan.kind === "Bounded") return calm(subject, "Bounded", "Bounded", words);
  return calm(subject, "NothingToDo", "LeftAlone", words);
}

/** Another object has the DaemonSet. Stalled after an hour, as every wait. */
function heldByOther(subject: Subject): DaemonSetFinding | undefined {
  const { holder } = subject;
  if (holder === undefined) return undefined;
  return waitingFor(
    subject,
    `another ControllerResilience, ${holder}, has this DaemonSet; remove it from the targets of one of them`,
  );
}

/** Pods get 401 responses since the template was changed. A revert that a crash keeps out of status counts as one by others. */
function reverting(subject: Subject): DaemonSetFinding | undefined {
  const { record, view, observed } = subject;
  if (record === undefined || !isChangeHarmful(subject)) return undefined;
  const isEnforced = observed.mode === "Enforce";
  const words = `: ${harmOf(subject)}; ${isEnforced ? "reverting" : `${whatWould(observed.mode)} revert`} the template change`;
  const finding = progressing(subject, "Reverted", record.outcome, words);
  const intents = [buildRelease(view, record, finding.sentence)];
  return { ...finding, intents, after: "Reverted", isProgressing: isEnforced };
}

/** What the shorter token does, as the beginning of a sentence. */
function harmOf(subject: Subject): string {
  const isSandbox = activePodsOf(subject).some(pod => pod.sandboxState === "persistent" && isCanary(pod, subject.spec));
  return isSandbox
    ? "on nodes where it has the shorter token no pod can start, because the API server answers its network plugin 401"
    : "pods with the shorter token get 401 responses, other pods do not";
}

/** Pods with the shorter token get 401 responses which neither their ServiceAccount, a rotation of the keys nor a problem of all pods explains. */
function isChangeHarmful(subject: Subject): boolean {
  const { lacksServiceAccount, record, plan, observed, spec, nowMs } = subject;
  // Nothing is known yet about a template other than the changed one, and one without the change is restored.
  if (!isMade(record) || !isSameTemplate(subject) || plan.kind === "LeftAlone") return false;
  if (lacksServiceAccount || !isWatched(record, spec, nowMs)) return false;
  const pods = activePodsOf(subject);
  const others = pods.filter(pod => !isCanary(pod, spec));
  if (others.some(({ logState }) => logState === "suspected" || logState === "persistent")) return false;
  return pods.some(
    pod =>
      pod.logState === "persistent" &&
      !pod.isOlderThanServiceAccount &&
      isCanary(pod, spec) &&
      pod.createdAtMs >= (observed.rotatedMs ?? -Infinity),
  );
}

/** The change was reverted, and the template is still the same. */
function reverted(subject: Subject): DaemonSetFinding | undefined {
  if (pastOf(subject) !== "Reverted") return undefined;
  const words =
    ": change reverted, because pods got 401 responses with the shorter token. The operator does not retry until the template changes; make the client reread its token file";
  return stalled(subject, "Reverted", "Reverted", words);
}

/** Its owner writes the template, and each new one of its templates would allow more changes. */
function ownedByController(subject: Subject): DaemonSetFinding | undefined {
  const { owner } = subject.view;
  if (owner === undefined) return undefined;
  const name = `${owner.kind} ${owner.name}`;
  return unsupported(
    subject,
    `${name} owns it and would revert a template change; shorten the token in the settings of ${name}`,
  );
}

function onDeleteStrategy(subject: Subject): DaemonSetFinding | undefined {
  if (subject.plan.kind === "Bounded" || subject.view.updateStrategy !== "OnDelete") return undefined;
  return unsupported(subject, "with updateStrategy OnDelete a template change replaces no pod; change updateStrategy");
}

/** The operator's volume would take the place of admission's: clients of the other files would fail without a 401. */
function hidesExtras(subject: Subject): DaemonSetFinding | undefined {
  const extended = subject.pods.find(pod => pod.hasDefaultTokenExtras);
  if (extended === undefined) return undefined;
  const words = `admission adds more files to the default token of pod ${extended.name} than Kubernetes does, as OpenShift's service CA, and the operator's volume would hide them`;
  return unsupported(subject, `${words}; set defaultToken: Leave, or mount a shorter token in the template`);
}

/** One change per template and state of the block. */
function notRepeated(subject: Subject): DaemonSetFinding | undefined {
  const { record, observed } = subject;
  const past = pastOf(subject);
  if (past !== undefined) return past === "Unproven" ? unproven(subject) : contested(subject);
  const isUnseen = record?.generation === observed.generation && isMade(record) && isSameTemplate(subject);
  if (!isUnseen) return undefined;
  return progressing(subject, "Rolling", record.outcome, ": waiting until the change of its template is seen");
}

function unproven(subject: Subject): DaemonSetFinding {
  const words =
    " unchanged: its trial on one node gave no proof that the shorter token works: see the Event TokenLifetimeRestored. The operator does not retry until the template or spec.tokenLifetime changes; take the DaemonSet out of the targets if it cannot";
  const finding = stalled(subject, "Reverted", "Unproven", words);
  return isSettled(subject.view) ? finding : stuckSince(finding, subject);
}

/** Another field manager has taken the change back. */
function contested(subject: Subject): DaemonSetFinding {
  const { lastManager } = subject.view;
  const writer = lastManager === undefined ? "" : `; field manager ${lastManager} wrote the DaemonSet last`;
  const words = `: change was reverted or altered${writer}. The operator does not retry until spec.tokenLifetime changes; remove the field from Git (docs/gitops.md)`;
  return stalled(subject, "Contested", "Contested", words);
}

/** The operator could not finish a trial, so it begins none. */
function lacksRights(subject: Subject): DaemonSetFinding | undefined {
  const { missingRights = [] } = subject;
  if (missingRights.length === 0) return undefined;
  const rights = missingRights.map(({ verb, resource, namespace }) => {
    const where = namespace === undefined ? "in all namespaces" : `in namespace ${namespace}`;
    return `${verb} ${resource} ${where}`;
  });
  const words = ` unchanged: the operator may not ${rights.join(" and ")}, as the trial on one node needs; grant that`;
  return stalled(subject, "Forbidden", "Waiting", words);
}

/** Without a pod there is no trial. A node pool that is scaled to zero needs no person, so this wait is never Stalled. */
function withoutPods(subject: Subject): DaemonSetFinding | undefined {
  if (activePodsOf(subject).length > 0) return undefined;
  const words = " unchanged: it has no pods, so the shorter token cannot be tried; the trial begins with the first one";
  return { ...calm(subject, "Waiting", "Waiting", words), status: "False" };
}

/**
 * A wait begins only in a window, and goes on after it: what delays a change for an hour then needs a person before the next one opens. A change
 * that only restores the template needs no comparison of logs, and no window.
 */
function delayed(subject: Subject): DaemonSetFinding | undefined {
  const isChange = subject.plan.kind === "Change";
  const closed = isChange ? windowClosed(subject) : undefined;
  const blocker = isChange ? blockerOf(subject) : (serviceAccountBlocker(subject) ?? sparedBlocker(subject));
  if (blocker === undefined) return closed;
  const what = isChange ? "bounding its tokens" : "restoring its template";
  const waiting = withWait(waitingFor(subject, blocker, what), subject);
  if (closed === undefined) return waiting;
  if (waiting.entry.waitStartTime !== subject.record?.waitStartTime) return closed;
  if (waiting.isStalled !== true) return { ...closed, entry: waiting.entry };
  return { ...waiting, sentence: `${waiting.sentence} ${closed.sentence}` };
}

/** The previous state must be in status before the change, or no later leader could restore it. */
function planned(subject: Subject): DaemonSetFinding | undefined {
  const { record, observed } = subject;
  // After a crash, generation and template show whether the recorded change is the one that was made.
  const isSameChange = record?.generation === observed.generation && isSameTemplate(subject);
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
  const { view, plan } = subject;
  const isTrial = plan.kind === "Change";
  const next = isTrial ? "one pod is replaced first" : "the DaemonSet controller replaces its pods";
  const words = `: changing its template, which ${effectOf(subject)}; ${next}`;
  const finding = progressing(subject, "Rolling", "Planned", words);
  const intent = buildChange(view, plan.patch, finding.sentence, isTrial ? TRIAL_STRATEGY : {});
  const workload = workloadOf(view);
  if (isTrial) return { ...finding, intents: [{ ...intent, rollout: { workload } }], after: "Trial" };
  const restore = { ...intent, eventReason: "TokenLifetimeRestored", rollout: { workload, goesOn: true } } as const;
  return { ...finding, intents: [restore], after: "Rolling" };
}

function effectOf({ plan, spec }: Subject): string {
  return plan.kind === "Restore" ? "restores it" : `bounds its tokens to ${lifetimeOf(spec)}`;
}
