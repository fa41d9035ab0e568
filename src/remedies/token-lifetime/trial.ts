import type { DaemonSetStatus, RestartStatus } from "../../api/controller-resilience";
import { isCreatedAfter, isOpen, isOverdue, settleOpenRestarts } from "../../restarts/history";
import type { Intent } from "../../core/intent";
import { CLOCK_SKEW_MS, toSeconds } from "../../core/time";
import { canBeAgent } from "../../logs/sandboxes";
import { trialMs } from "./harm";
import { describeProgress, isRejected, logBlocker, restartBlocker, serviceAccountBlocker, waitingFor } from "./rollout";
import {
  activePodsOf,
  appliedMs,
  buildChange,
  buildEviction,
  buildRelease,
  changesOf,
  type DaemonSetFinding,
  entryWithChange,
  isCanary,
  isSameTemplate,
  lifetimeOf,
  MAX_CHANGES,
  nameOf,
  type Observed,
  type ObservedDaemonSet,
  type ObservedPod,
  RECHECK_MS,
  type Spec,
  type Subject,
  templateInputOf,
  workloadOf,
  isOnTrial,
} from "./subject";
import { planKeep } from "./template/plan";

/** A trial that does not go on leaves OnDelete in place; undefined: there is none. Pure. */
export function describeHeldTrials(entries: readonly Pick<DaemonSetStatus, "name" | "outcome">[]): string | undefined {
  const names = entries.filter(({ outcome }) => outcome === "Trial").map(({ name }) => name);
  if (names.length === 0) return undefined;
  return `DaemonSet ${names.join(", ")}: updateStrategy OnDelete of the trial holds every update of the template; let this object go on, or take it back by hand (docs/remedies/token-lifetime.md).`;
}

// The first pod with the shorter token must outlive it before another pod gets one. Pure.

/**
 * A trial without proof ends after the life of the token and this time, in milliseconds: OnDelete also holds up the owner's own updates.
 */
const PATIENCE_MS = 3_600_000;

/** A new leader, or an object that was suspended, waits again, since it does not know what was missed; for this many waits at most. */
const LATER_WAITS = 4;

/** Reports whether the DaemonSet's pods may leave a copy of their token on the node, for a network plugin. */
export function isNodeAgent({ pods }: Pick<ObservedDaemonSet, "pods">): boolean {
  return pods.some(({ pod }) => canBeAgent(pod));
}

/**
 * The oldest pod with the shorter token that is later than the change: by its template, or, once the owner has rolled out another one, by its
 * creation, since the operator's clock may be ahead.
 */
export function firstPodOf(daemonSet: ObservedDaemonSet, spec: Spec): ObservedPod | undefined {
  const label = daemonSet.view.rollout?.currentLabel;
  const sinceMs = Date.parse(daemonSet.record?.appliedTime ?? "") - CLOCK_SKEW_MS;
  return activePodsOf(daemonSet)
    .filter(({ pod }) => isCanary(pod, spec))
    .filter(({ pod }) => pod.createdAtMs >= sinceMs || (label && pod.labels[label.key] === label.value))
    .toSorted((a, b) => a.pod.createdAtMs - b.pod.createdAtMs)[0];
}

/** From this time on a copy of the first token is dead. The kubelet requests the token before the pod is Ready. */
export function tokenDiedMs({ pod }: Pick<ObservedPod, "pod">, { expirationSeconds }: Spec): number {
  return (pod.readySinceMs ?? pod.createdAtMs) + 1000 * expirationSeconds;
}

/** What the trial still waits for, as the end of a sentence; undefined: it has passed. */
function missingProof(subject: Subject): string | undefined {
  const { daemonSet, spec, nowMs } = subject;
  const first = firstPodOf(daemonSet, spec);
  if (first === undefined) return "no pod has the shorter token yet";
  const endMs = Math.max(first.pod.readySinceMs ?? first.pod.createdAtMs, first.appearedMs ?? 0) + trialMs(spec);
  if (nowMs < endMs) return `the first must work until ${toSeconds(new Date(endMs))} before the next pod is replaced`;
  return unhealthy(first, endMs) ?? unprovenNode(first, subject);
}

function unhealthy(first: ObservedPod, endMs: number): string | undefined {
  const { pod, logState, logReadMs } = first;
  if (!pod.ready) return `pod ${pod.name}, the first with the shorter token, is not Ready`;
  // A log that was read before the end may lack what the expired token caused.
  if (logState === "quiet" && logReadMs >= endMs) return undefined;
  const cause = logState === "suspected" || logState === "persistent" ? "gets 401 responses" : "has unread logs";
  return `pod ${pod.name}, the first with the shorter token, ${cause}`;
}

function unprovenNode(first: ObservedPod, { daemonSet, spec }: Subject): string | undefined {
  if (!isNodeAgent(daemonSet) || first.hasSandboxStarted === true) return undefined;
  if (first.isNodeForbidden === true)
    return "the operator may not list the pods of all namespaces, so it cannot see whether pods start on a node; grant list pods";
  const since = toSeconds(new Date(tokenDiedMs(first, spec)));
  return `no pod with its own network was seen to start on node ${first.pod.nodeName ?? "unknown"} since ${since}, when a copy of the first token expired; start one there`;
}

// The pod was healthy, so its restart has helped once a successor works.

/** A successor that is Ready for this long counts as recovered, in milliseconds. */
const SETTLED_MS = 30_000;

/** Updates the outcomes of this remedy's restarts. Pure: history in, history out. */
export function settleRestarts({ daemonSets, restarts }: Observed, nowMs: number): RestartStatus[] {
  const daemonSetOf = ({ workload }: RestartStatus): Pick<ObservedDaemonSet, "pods"> & { view: { graceMs?: number } } =>
    daemonSets.find(({ view }) => workloadOf(view) === workload) ?? { view: {}, pods: [] };
  const evidence = {
    wasExecuted: (entry: RestartStatus) =>
      !activePodsOf(daemonSetOf(entry)).some(({ pod }) => pod.uid === entry.podUID),
    outcomeOf: (entry: RestartStatus): RestartStatus["outcome"] => {
      const { view, pods } = daemonSetOf(entry);
      if (hasRecovered(successorOf(entry, pods), nowMs)) return "Recovered";
      return isOverdue(entry, { view, pods: [] }, nowMs) ? "Ineffective" : "Restarted";
    },
  };
  return settleOpenRestarts(restarts, evidence, nowMs);
}

/** The first pod that was created after the restart: the operator replaces one pod at a time. */
function successorOf(entry: RestartStatus, pods: readonly ObservedPod[]): ObservedPod | undefined {
  return activePodsOf({ pods })
    .filter(({ pod }) => pod.uid !== entry.podUID && isCreatedAfter(pod.createdAtMs, entry))
    .toSorted((a, b) => a.pod.createdAtMs - b.pod.createdAtMs)[0];
}

function hasRecovered(successor: ObservedPod | undefined, nowMs: number): boolean {
  if (successor === undefined) return false;
  const { pod, logState } = successor;
  return pod.ready && nowMs >= (pod.readySinceMs ?? pod.createdAtMs) + SETTLED_MS && logState === "quiet";
}

// Every change is tried on one node first (docs/adr/0026): the template is changed with updateStrategy OnDelete, one pod is evicted, and after
// the life of its token the rolling update continues, or the template is restored. Pure.

/** A template that changes so soon after the operator's write is changed by it, in milliseconds. */
const WEBHOOK_MS = 60_000;

/** One DaemonSet while the trial lasts; undefined: there is none. */
export function onTrial(subject: Subject): DaemonSetFinding | undefined {
  if (!isOnTrial(subject.daemonSet.view)) return takenOver(subject);
  return (
    outdated(subject) ??
    disturbed(subject) ??
    expired(subject) ??
    replacing(subject) ??
    proving(subject) ??
    passed(subject)
  );
}

/** Its trial ended without proof, for this template and generation of the object. */
export function unproven(subject: Subject): DaemonSetFinding | undefined {
  const { record } = subject.daemonSet;
  const isCurrent = record?.outcome === "Unproven" && record.generation === subject.observed.generation;
  if (!isCurrent || subject.templatePlan.kind !== "Change" || !isSameTemplate(subject)) return undefined;
  return {
    status: "False",
    reason: "Reverted",
    sentence: `${nameOf(subject)} unchanged: its trial on one node gave no proof that the shorter token works. The operator does not retry until the template or this object changes; take the DaemonSet out of the targets if it cannot.`,
    entry: entryWithChange(subject, "Unproven"),
    isStalled: true,
  };
}

/** A trial of another template, or of another spec, proves nothing. */
function outdated(subject: Subject): DaemonSetFinding | undefined {
  const isBoundedNow = subject.templatePlan.kind === "Bounded";
  if (isBoundedNow && isSameTemplate(subject)) return undefined;
  // After a crash the time of the change is not known.
  const isRecorded = subject.daemonSet.record?.outcome === "Trial";
  if (isBoundedNow && isRecorded && subject.nowMs < appliedMs(subject) + WEBHOOK_MS) {
    return contesting(subject, "because its template changed together with the operator's change, as by a webhook");
  }
  return ending(subject, "Waiting", "because the template or this object changed during the trial");
}

/**
 * 401s that show no harm, since {@link reverting} comes first, or a pod with the shorter token that another remedy restarted. Without the
 * trial, whose OnDelete holds up restarts of the other pods, all heal. It is repeated once.
 */
function disturbed(subject: Subject): DaemonSetFinding | undefined {
  const { daemonSet } = subject;
  const isDisturbed = activePodsOf(daemonSet).some(isRejected) || restartBlocker(subject) !== undefined;
  // Without its ServiceAccount nothing can be healed yet.
  if (!isDisturbed || daemonSet.lacksServiceAccount) return undefined;
  const after = changesOf(subject) < MAX_CHANGES ? "Waiting" : "Unproven";
  return ending(subject, after, "because its pods get 401 responses that may have another cause");
}

function expired(subject: Subject): DaemonSetFinding | undefined {
  const [beganMs, waitMs] = [appliedMs(subject), trialMs(subject.spec) + PATIENCE_MS];
  const sinceMs = Math.max(beganMs, Math.min(subject.daemonSet.watchedSinceMs ?? 0, beganMs + LATER_WAITS * waitMs));
  if (subject.nowMs < sinceMs + waitMs) return undefined;
  const cause = missingProof(subject);
  if (cause === undefined) return undefined;
  const finding = ending(subject, "Unproven", `because the trial gave no proof: ${cause}`);
  return finding.intents === undefined ? finding : { ...finding, intents: finding.intents.map(goingOn(subject)) };
}

/** Another field manager has set the update strategy, so the pods are replaced without proof. */
function takenOver(subject: Subject): DaemonSetFinding | undefined {
  const { record, view } = subject.daemonSet;
  const isLost = record?.outcome === "Trial" && subject.templatePlan.kind === "Bounded";
  if (!isLost) return undefined;
  if (view.updateStrategy !== "OnDelete" && view.strategyManager === undefined) return givenBack(subject);
  if (missingProof(subject) === undefined) return undefined;
  const manager = view.strategyManager ?? "another manager";
  return contesting(subject, `because ${manager} changed updateStrategy during the trial`);
}

/** The trial passed, and a crash or a lost answer kept that out of status: only the operator's own apply leaves the field without an owner. */
function givenBack(subject: Subject): DaemonSetFinding {
  return {
    status: "False",
    reason: "Rolling",
    sentence: `${nameOf(subject)}: the trial on one node has passed; the DaemonSet controller replaces the other pods.`,
    entry: { ...entryWithChange(subject, "Rolling"), appliedTime: toSeconds(new Date(subject.nowMs)) },
    isProgressing: true,
    recheckAfterMs: RECHECK_MS,
  };
}

/** There is no other trial for this generation of the object: each one could replace all pods. */
function contesting(subject: Subject, why: string): DaemonSetFinding {
  const finding = ending(subject, "Contested", why);
  if (finding.intents === undefined) return finding;
  return { ...finding, reason: "Contested", entry: { ...finding.entry, changes: MAX_CHANGES } };
}

/** Gives back every field: the template, and with it the update strategy. */
function ending(subject: Subject, after: DaemonSetStatus["outcome"], why: string): DaemonSetFinding {
  const blocker = serviceAccountBlocker(subject);
  if (blocker !== undefined) return waitingFor(subject, blocker, "restoring its template");
  const sentence = `${nameOf(subject)}: restoring its template and updateStrategy, ${why}.`;
  const finding = inTrial(subject, sentence);
  return enforced(subject, { ...finding, intents: [buildRelease(subject.daemonSet, sentence)], after });
}

function replacing(subject: Subject): DaemonSetFinding | undefined {
  const { daemonSet, spec, observed } = subject;
  if (firstPodOf(daemonSet, spec) !== undefined) return undefined;
  const open = observed.restarts.find(isOpen);
  if (open !== undefined) return trialFinding(subject, `the operator is watching the successor of pod ${open.pod}`);
  const blocker = evictionBlocker(subject);
  if (blocker !== undefined) return trialFinding(subject, `replacing the first pod is delayed: ${blocker}`);
  const next = activePodsOf(daemonSet)
    .filter(({ pod }) => !pod.skip)
    .toSorted(({ pod: a }, { pod: b }) => a.createdAtMs - b.createdAtMs || (a.name < b.name ? -1 : 1))[0];
  return next === undefined ? trialFinding(subject, "no pod can be replaced") : evicting(subject, next);
}

function evictionBlocker(subject: Subject): string | undefined {
  const { view } = subject.daemonSet;
  if (view.observedGeneration < view.generation) return "the DaemonSet controller has not seen the change yet";
  const unavailable = view.replicas - view.availablePods;
  if (unavailable > 0) return `${view.availablePods} of ${view.replicas} pods are available`;
  return serviceAccountBlocker(subject) ?? logBlocker(subject);
}

function evicting(subject: Subject, { pod }: ObservedPod): DaemonSetFinding {
  const { view } = subject.daemonSet;
  const why = `Pod ${pod.name} of ${nameOf(subject)} is the first to get a token that is bounded to ${lifetimeOf(subject.spec)}.`;
  const finding = trialFinding(subject, `evicting pod ${pod.name}`);
  return enforced(subject, { ...finding, intents: [buildEviction(pod, view, why)] });
}

function proving(subject: Subject): DaemonSetFinding | undefined {
  const missing = missingProof(subject);
  return missing === undefined ? undefined : trialFinding(subject, missing);
}

/** The rolling update continues with the other pods. */
function passed(subject: Subject): DaemonSetFinding {
  const { daemonSet, spec } = subject;
  const patch = planKeep(templateInputOf(daemonSet), spec, daemonSet.record?.previous ?? []);
  const sentence = `${nameOf(subject)}: the first pod outlived its shorter token; restoring updateStrategy, so that the DaemonSet controller replaces the others.`;
  const finding = inTrial(subject, sentence);
  const intents = [buildChange(daemonSet.view, patch, sentence)].map(goingOn(subject));
  return enforced(subject, { ...finding, intents, after: "Rolling" });
}

/** What ends a trial by its time waits while the operator's clock is off. */
function goingOn({ daemonSet: { view } }: Subject): (intent: Intent) => Intent {
  return intent => ({ ...intent, rollout: { workload: workloadOf(view), goesOn: true } });
}

function trialFinding(subject: Subject, detail: string): DaemonSetFinding {
  return inTrial(subject, `${nameOf(subject)}: trial on one node, ${describeProgress(subject)}; ${detail}.`);
}

function inTrial(subject: Subject, sentence: string): DaemonSetFinding {
  const entry = entryWithChange(subject, "Trial");
  const held = subject.observed.mode !== "Enforce" ? describeHeldTrials([entry]) : undefined;
  // After a crash the change may not be recorded; it is watched from now on.
  const appliedTime = entry.appliedTime ?? toSeconds(new Date(subject.nowMs));
  return {
    status: "False",
    reason: "Rolling",
    sentence: held === undefined ? sentence : `${sentence} ${held}`,
    entry: { ...entry, appliedTime },
    isProgressing: true,
    recheckAfterMs: RECHECK_MS,
  };
}

function enforced({ observed }: Subject, finding: DaemonSetFinding): DaemonSetFinding {
  return observed.mode === "Enforce" ? finding : { ...finding, reason: "WouldChange", isProgressing: false };
}
