import { Cause } from "../../api/conditions";
import type { DaemonSetStatus, RestartStatus } from "../../api/controller-resilience";
import {
  checkRestartBudget,
  isOpen,
  isOverdue,
  mayReplace,
  PROVEN_BY_POD,
  restartsOf,
  settleOpenRestarts,
} from "../../restarts/history";
import { CLOCK_SKEW_MS, timeInMessage, toSeconds } from "../../core/time";
import { canBeAgent } from "../../logs/sandboxes";
import { ACCEPTED_MS, trialMs } from "./harm";
import {
  describeProgress,
  isRejected,
  logBlocker,
  overridden,
  restartBlocker,
  serviceAccountBlocker,
  tooManyAtOnce,
  waitingFor,
} from "./rollout";
import {
  activePodsOf,
  appliedMs,
  buildChange,
  buildEviction,
  buildRelease,
  type DaemonSetFinding,
  entryWithChange,
  isCanary,
  isRelease,
  isSameTemplate,
  lifetimeOf,
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

/** A trial that does not go on leaves OnDelete in place, so a person must act; undefined: there is none. Pure. */
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

/** While the log of the first pod is unread, as for a new leader or after the object was suspended, a trial lasts so many times longer. */
const UNREAD_WAITS = 5;

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

/** The kubelet has requested the first token by then: before the pod is Ready, by a clock that may be behind that of its creation. */
function startedMs({ pod }: Pick<ObservedPod, "pod">): number {
  return Math.max(pod.readySinceMs ?? 0, pod.createdAtMs);
}

/** From this time on no copy of the first token is accepted. */
export function tokenDiedMs(first: Pick<ObservedPod, "pod">, { expirationSeconds }: Spec): number {
  return startedMs(first) + 1000 * expirationSeconds + ACCEPTED_MS;
}

/** What the trial still waits for, as the end of a sentence; undefined: it has passed. */
function missingProof(subject: Subject): string | undefined {
  const { daemonSet, spec, nowMs } = subject;
  const first = firstPodOf(daemonSet, spec);
  if (first === undefined) {
    const cause = evictionBlocker(subject) ?? "does a PodDisruptionBudget refuse the eviction?";
    return `no pod has the shorter token yet; ${cause}`;
  }
  const endMs = startedMs(first) + trialMs(spec);
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

/** The pod was healthy, so its restart has helped once a successor is Ready. Updates the outcomes of this remedy's restarts. Pure: history in, history out. */
export function settleRestarts({ daemonSets, restarts }: Observed, nowMs: number): RestartStatus[] {
  const observed = daemonSets.map(({ view, pods }) => ({ view, pods: pods.map(({ pod }) => ({ view: pod })) }));
  const outcomeOf = (entry: RestartStatus, one: (typeof observed)[number]): RestartStatus["outcome"] => {
    if (one.pods.some(pod => pod.view.ready && mayReplace(pod, entry))) return "Recovered";
    return isOverdue(entry, one, nowMs) ? "Ineffective" : "Restarted";
  };
  const workloads = new Map(observed.map(one => [workloadOf(one.view), one]));
  return settleOpenRestarts(restarts, { causes: [Cause.TokenTooLong], workloads, outcomeOf }, nowMs);
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

/** A trial of another template, or of another spec, proves nothing. */
function outdated(subject: Subject): DaemonSetFinding | undefined {
  if (subject.templatePlan.kind === "Bounded" && isSameTemplate(subject)) return undefined;
  const { lastManager } = subject.daemonSet.view;
  const other = lastManager === undefined ? "another field manager or a webhook" : `field manager ${lastManager}`;
  const [after, why] = isTakenBack(subject)
    ? (["Contested", `${other} changed the template`] as const)
    : (["Waiting", "the template or this object changed"] as const);
  return ending(subject, after, `because ${why} during the trial`);
}

/** Another field manager restored the template that was changed, or changed it together with the operator. */
function isTakenBack(subject: Subject): boolean {
  const { daemonSet, observed, templatePlan, nowMs } = subject;
  const { record } = daemonSet;
  // After a crash the time of the change is not known.
  if (record?.outcome !== "Trial" || record.generation !== observed.generation) return false;
  if (templatePlan.kind === "Bounded") return nowMs < appliedMs(subject) + WEBHOOK_MS;
  return templatePlan.kind === "Change" && !isRelease(subject) && isSameTemplate(subject);
}

/**
 * 401s that show no harm, since {@link reverting} comes first, or a pod with the shorter token that another remedy restarted. Without the
 * trial, whose OnDelete holds up restarts of the other pods, all heal. A new trial begins then only if the cause is proven to be another one:
 * else a token that is too short could be tried again and again.
 */
function disturbed(subject: Subject): DaemonSetFinding | undefined {
  const { daemonSet } = subject;
  const isDisturbed = activePodsOf(daemonSet).some(isRejected) || restartBlocker(subject) !== undefined;
  // Without its ServiceAccount nothing can be healed yet.
  if (!isDisturbed || daemonSet.lacksServiceAccount) return undefined;
  if (!isProvenForeign(subject)) {
    return ending(subject, "Unproven", "because its pods get 401 responses that may have another cause");
  }
  return ending(
    subject,
    "Waiting",
    "because its ServiceAccount or a signing key changed; a trial follows once all pods work",
  );
}

/** A pod's token is invalid whatever its lifetime: its ServiceAccount was recreated, or its signing key rotated. */
function isProvenForeign(subject: Subject): boolean {
  const { daemonSet, observed } = subject;
  const restarts = restartsOf(workloadOf(daemonSet.view), observed.otherOpenRestarts);
  return (
    (observed.rotatedMs ?? -Infinity) >= appliedMs(subject) ||
    activePodsOf(daemonSet).some(({ isOlderThanServiceAccount }) => isOlderThanServiceAccount) ||
    restarts.some(({ cause }) => PROVEN_BY_POD.has(cause))
  );
}

function expired(subject: Subject): DaemonSetFinding | undefined {
  const isUnread = firstPodOf(subject.daemonSet, subject.spec)?.logState === "unread";
  const waitMs = (trialMs(subject.spec) + PATIENCE_MS) * (isUnread ? UNREAD_WAITS : 1);
  if (subject.nowMs < appliedMs(subject) + waitMs) return undefined;
  const cause = missingProof(subject);
  return cause === undefined ? undefined : ending(subject, "Unproven", `because the trial gave no proof: ${cause}`);
}

/** Another field manager has set the update strategy, so the pods are replaced without proof. The operator's own apply leaves no manager. */
function takenOver(subject: Subject): DaemonSetFinding | undefined {
  const { record, view } = subject.daemonSet;
  if (record?.outcome !== "Trial" || subject.templatePlan.kind !== "Bounded") return undefined;
  const isGivenBack = view.updateStrategy !== "OnDelete" && view.strategyManager === undefined;
  if (isGivenBack || missingProof(subject) === undefined) return undefined;
  const manager = view.strategyManager ?? "another manager";
  return ending(subject, "Contested", `because ${manager} changed updateStrategy during the trial`);
}

/** Gives back every field: the template, and with it the update strategy. */
function ending(subject: Subject, after: DaemonSetStatus["outcome"], why: string): DaemonSetFinding {
  const blocker = serviceAccountBlocker(subject);
  // Still a trial: OnDelete holds every update, also once the DaemonSet is no target any more.
  if (blocker !== undefined)
    return { ...waitingFor(subject, blocker, "restoring its template"), entry: entryWithChange(subject, "Trial") };
  const sentence = `${nameOf(subject)}: restoring its template and updateStrategy, ${why}.`;
  const finding = inTrial(subject, sentence, after === "Contested" ? "Contested" : "Rolling");
  return { ...finding, intents: [buildRelease(subject.daemonSet, sentence)], after };
}

function replacing(subject: Subject): DaemonSetFinding | undefined {
  const { daemonSet, spec, observed } = subject;
  if (firstPodOf(daemonSet, spec) !== undefined) return undefined;
  // No other pod would get the shorter token either.
  const cause = overridden(subject);
  if (cause !== undefined) return ending(subject, "Unproven", `because ${cause}`);
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
  const why = `Pod ${pod.name} of ${nameOf(subject)} is the first to get a token that is bounded to ${lifetimeOf(subject.spec)}.`;
  const { daemonSet, observed, nowMs } = subject;
  const { intent, claim } = buildEviction(pod, daemonSet, why);
  const budget = checkRestartBudget(observed.restarts, claim, new Date(nowMs));
  if (budget !== undefined) {
    const at = timeInMessage(nowMs + budget.retryAfterMs);
    return trialFinding(subject, `the next pod can be replaced at ${at} (${budget.limit})`);
  }
  return { ...trialFinding(subject, `evicting pod ${pod.name}`), intents: [intent] };
}

function proving(subject: Subject): DaemonSetFinding | undefined {
  const missing = missingProof(subject);
  return missing === undefined ? undefined : trialFinding(subject, missing);
}

/** The rolling update continues with the other pods. */
function passed(subject: Subject): DaemonSetFinding {
  const { daemonSet, spec } = subject;
  // Its strategy, or the number of its nodes, has changed during the trial.
  if (tooManyAtOnce(subject) !== undefined)
    return ending(subject, "Waiting", "because its rolling update would now replace too many pods at once");
  const patch = planKeep(templateInputOf(daemonSet), spec, daemonSet.record?.previous ?? []);
  const sentence = `${nameOf(subject)}: the first pod outlived its shorter token; restoring updateStrategy, so that the DaemonSet controller replaces the others.`;
  const finding = inTrial(subject, sentence);
  // While the operator's clock is off, a log seems quiet.
  const rollout = { workload: workloadOf(daemonSet.view), goesOn: true } as const;
  const intents = [{ ...buildChange(daemonSet.view, patch, sentence), rollout }];
  return { ...finding, intents, after: "Rolling" };
}

function trialFinding(subject: Subject, detail: string): DaemonSetFinding {
  return inTrial(subject, `${nameOf(subject)}: trial on one node, ${describeProgress(subject)}; ${detail}.`);
}

/** @param reason while the operator acts */
function inTrial(subject: Subject, sentence: string, reason: "Contested" | "Rolling" = "Rolling"): DaemonSetFinding {
  const entry = entryWithChange(subject, "Trial");
  const held = subject.observed.mode === "Enforce" ? undefined : describeHeldTrials([entry]);
  return {
    status: "False",
    reason: held === undefined ? reason : "WouldChange",
    sentence: held === undefined ? sentence : `${sentence} ${held}`,
    entry,
    isProgressing: held === undefined,
    isStalled: held !== undefined,
    recheckAfterMs: RECHECK_MS,
  };
}
