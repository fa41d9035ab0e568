import { Cause } from "../../api/conditions";
import type { DaemonSetStatus, RestartStatus } from "../../api/controller-resilience";
import { type Check, firstMatch } from "../../core/checks";
import {
  checkRestartBudget,
  isOverdue,
  mayReplace,
  PROVEN_BY_POD,
  restartsOf,
  settleOpenRestarts,
} from "../../restarts/history";
import { CLOCK_SKEW_MS, timeInMessage, toSeconds } from "../../core/time";
import { canBeAgent } from "../../logs/sandboxes";
import {
  blockerOf,
  describeProgress,
  isRejected,
  overridden,
  restartBlocker,
  serviceAccountBlocker,
  sparedBlocker,
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
  entryOf,
  isCanary,
  isOnTrial,
  isSameTemplate,
  lifetimeOf,
  nameOf,
  type Observed,
  type ObservedDaemonSet,
  type ObservedPod,
  pastOf,
  progressing,
  type Spec,
  type Subject,
  workloadOf,
} from "./subject";

// Every change is tried on one node first (docs/adr/0026): the template is changed with updateStrategy OnDelete, one pod is evicted, and after
// the life of its token the rolling update continues, or the template is restored. Pure.

/**
 * A token is accepted for so long after it has expired, in milliseconds: for a minute (kubernetes/kubernetes pkg/serviceaccount/claims.go,
 * jwt.DefaultLeeway), 10 s more by the API server's cache of tokens, and two minutes more by the kubelet's (authentication.webhook.cacheTTL).
 */
const ACCEPTED_MS = 190_000;

/** That, and time for a 401 to be logged and read. */
const TRIAL_MARGIN_MS = ACCEPTED_MS + 60_000;

/** How long a pod with the shorter token must work before it proves anything, in milliseconds: a client that never rereads its token fails after one life. */
function trialMs({ expirationSeconds }: Spec): number {
  return 1000 * expirationSeconds + TRIAL_MARGIN_MS;
}

/**
 * A trial without proof ends after the life of the token and this time, in milliseconds: OnDelete also holds up the owner's own updates.
 */
const PATIENCE_MS = 3_600_000;

/** While the log of the first pod is unread, as for a new leader or after the object was suspended, a trial lasts so many times longer. */
const UNREAD_WAITS = 5;

/** A template that changes so soon after the operator's write is changed by it, in milliseconds. */
const WEBHOOK_MS = 60_000;

const CHECKS: readonly Check<Subject, DaemonSetFinding>[] = [outdated, disturbed, unproven, tooManyNow, passed];

/** One DaemonSet while the trial lasts; undefined: there is none. */
export function onTrial(subject: Subject): DaemonSetFinding | undefined {
  return isOnTrial(subject.view) ? firstMatch(CHECKS, subject) : takenOver(subject);
}

/** A trial that does not go on leaves OnDelete in place, so a person must act; undefined: there is none. Pure. */
export function describeHeldTrials(entries: readonly Pick<DaemonSetStatus, "name" | "outcome">[]): string | undefined {
  const names = entries.filter(({ outcome }) => outcome === "Trial").map(({ name }) => name);
  if (names.length === 0) return undefined;
  return `DaemonSet ${names.join(", ")}: updateStrategy OnDelete of the trial holds every update of the template; let this object go on, or take it back by hand (docs/remedies/token-lifetime.md).`;
}

/** Another field manager has set the update strategy, so the pods are replaced without proof. The operator's own apply leaves no manager. */
function takenOver(subject: Subject): DaemonSetFinding | undefined {
  const { record, view, plan } = subject;
  if (record?.outcome !== "Trial" || plan.kind !== "Bounded") return undefined;
  const isGivenBack = view.updateStrategy !== "OnDelete" && view.strategyManager === undefined;
  if (isGivenBack || missingProof(subject) === undefined) return undefined;
  const manager = view.strategyManager ?? "another manager";
  return ending(subject, "Contested", `because ${manager} changed updateStrategy during the trial`);
}

/** A trial of another template, or of another spec, proves nothing. Others may have restored the template, or changed it together with the operator. */
function outdated(subject: Subject): DaemonSetFinding | undefined {
  const { view, record, plan, observed, nowMs } = subject;
  if (plan.kind === "Bounded" && isSameTemplate(subject)) return undefined;
  // After a crash the time of the change is not known.
  const isTrial = record?.outcome === "Trial" && record.generation === observed.generation;
  const isByWebhook = isTrial && plan.kind === "Bounded" && nowMs < appliedMs(subject) + WEBHOOK_MS;
  if (!isByWebhook && pastOf(subject) !== "Contested")
    return ending(subject, "Waiting", "because the template or this object changed during the trial");
  const { lastManager } = view;
  const other = lastManager === undefined ? "another field manager or a webhook" : `field manager ${lastManager}`;
  return ending(subject, "Contested", `because ${other} changed the template during the trial`);
}

/**
 * 401s that show no harm, since that is reverted before, or a pod with the shorter token that another remedy restarted. Without the
 * trial, whose OnDelete holds up restarts of the other pods, all heal. A new trial begins then only if the cause is proven to be another one:
 * else a token that is too short could be tried again and again.
 */
function disturbed(subject: Subject): DaemonSetFinding | undefined {
  const rejections = activePodsOf(subject).some(isRejected) ? "its pods get 401 responses" : undefined;
  const what = rejections ?? restartBlocker(subject);
  // Without its ServiceAccount nothing can be healed yet.
  if (what === undefined || subject.lacksServiceAccount) return undefined;
  return isProvenForeign(subject)
    ? ending(
        subject,
        "Waiting",
        "because its ServiceAccount or a signing key changed; a trial follows once all pods work",
      )
    : ending(subject, "Unproven", `because ${what}, and the shorter token may be why`);
}

/** A pod's token is invalid whatever its lifetime: its ServiceAccount was recreated, or its signing key rotated. */
function isProvenForeign(subject: Subject): boolean {
  const { view, observed } = subject;
  const restarts = restartsOf(workloadOf(view), observed.otherOpenRestarts);
  return (
    (observed.rotatedMs ?? -Infinity) >= appliedMs(subject) ||
    activePodsOf(subject).some(({ isOlderThanServiceAccount }) => isOlderThanServiceAccount) ||
    restarts.some(({ cause }) => PROVEN_BY_POD.has(cause))
  );
}

/** It waits for proof, and is over without it. */
function unproven(subject: Subject): DaemonSetFinding | undefined {
  const { spec, nowMs } = subject;
  const missing = missingProof(subject);
  if (missing === undefined) return undefined;
  const first = firstPodOf(subject, spec);
  const waitMs = (trialMs(spec) + PATIENCE_MS) * (first?.logState === "unread" ? UNREAD_WAITS : 1);
  // It may be tried again once no pod is spared.
  const spared = sparedBlocker(subject);
  const after = spared !== undefined && missing.includes(spared) ? "Waiting" : "Unproven";
  if (nowMs >= appliedMs(subject) + waitMs)
    return ending(subject, after, `because the trial gave no proof: ${missing}`);
  return first === undefined ? replacing(subject) : trialFinding(subject, missing);
}

function replacing(subject: Subject): DaemonSetFinding {
  // No other pod would get the shorter token either.
  const cause = overridden(subject);
  if (cause !== undefined) return ending(subject, "Unproven", `because ${cause}`);
  const blocker = blockerOf(subject);
  if (blocker !== undefined) return trialFinding(subject, `replacing the first pod is delayed: ${blocker}`);
  const next = activePodsOf(subject)
    .filter(({ skip }) => !skip)
    .toSorted((a, b) => a.createdAtMs - b.createdAtMs || (a.name < b.name ? -1 : 1))[0];
  return next === undefined ? trialFinding(subject, "no pod can be replaced") : evicting(subject, next);
}

function evicting(subject: Subject, pod: ObservedPod): DaemonSetFinding {
  const { spec, observed, nowMs } = subject;
  const why = `Pod ${pod.name} of ${nameOf(subject)} is the first to get a token that is bounded to ${lifetimeOf(spec)}.`;
  const intent = buildEviction(pod, subject, why);
  const budget = checkRestartBudget(observed.restarts, intent.restart, new Date(nowMs));
  if (budget === undefined) return { ...trialFinding(subject, `evicting pod ${pod.name}`), intents: [intent] };
  const at = timeInMessage(nowMs + budget.retryAfterMs);
  return trialFinding(subject, `the next pod can be replaced at ${at} (${budget.limit})`);
}

/** Its strategy, or the number of its nodes, has changed during the trial. */
function tooManyNow(subject: Subject): DaemonSetFinding | undefined {
  if (tooManyAtOnce(subject) === undefined) return undefined;
  return ending(subject, "Waiting", "because its rolling update would now replace too many pods at once");
}

/** The rolling update continues with the other pods. */
function passed(subject: Subject): DaemonSetFinding {
  const { view, plan } = subject;
  const words =
    ": the first pod outlived its shorter token; restoring updateStrategy, so that the DaemonSet controller replaces the others";
  // While the operator's clock is off, a log seems quiet.
  const rollout = { workload: workloadOf(view), goesOn: true } as const;
  const intents = [{ ...buildChange(view, plan.patch, `${nameOf(subject)}${words}.`), rollout }];
  return { ...inTrial(subject, words), intents, after: "Rolling" };
}

/** Gives back every field: the template, and with it the update strategy. */
function ending(subject: Subject, after: DaemonSetStatus["outcome"], why: string): DaemonSetFinding {
  const blocker = serviceAccountBlocker(subject);
  // Still a trial: OnDelete holds every update, also once the DaemonSet is no target any more.
  if (blocker !== undefined)
    return { ...waitingFor(subject, blocker, "restoring its template"), entry: entryOf(subject, "Trial") };
  const words = `: restoring its template and updateStrategy, ${why}`;
  const finding = inTrial(subject, words, after === "Contested" ? "Contested" : "Rolling");
  const sentence = `${nameOf(subject)}${words}.`;
  return { ...finding, intents: [buildRelease(subject.view, subject.record, sentence)], after };
}

function trialFinding(subject: Subject, detail: string): DaemonSetFinding {
  return inTrial(subject, `: trial on one node, ${describeProgress(subject)}; ${detail}`);
}

/** @param reason while the operator acts */
function inTrial(subject: Subject, words: string, reason: "Contested" | "Rolling" = "Rolling"): DaemonSetFinding {
  const finding = progressing(subject, reason, "Trial", words);
  if (subject.observed.mode === "Enforce") return finding;
  const sentence = `${finding.sentence} ${describeHeldTrials([finding.entry])}`;
  return { ...finding, reason: "WouldChange", sentence, isProgressing: false, isStalled: true };
}

// The first pod with the shorter token must outlive it before another pod gets one.

/** Reports whether the DaemonSet's pods may leave a copy of their token on the node, for a network plugin. */
export function isNodeAgent({ pods }: Pick<ObservedDaemonSet, "pods">): boolean {
  return pods.some(canBeAgent);
}

/**
 * The oldest pod with the shorter token that is later than the change: by its template, or, once the owner has rolled out another one, by its
 * creation, since the operator's clock may be ahead.
 */
export function firstPodOf(daemonSet: ObservedDaemonSet, spec: Spec): ObservedPod | undefined {
  const label = daemonSet.view.rollout?.currentLabel;
  const sinceMs = Date.parse(daemonSet.record?.appliedTime ?? "") - CLOCK_SKEW_MS;
  return activePodsOf(daemonSet)
    .filter(pod => isCanary(pod, spec))
    .filter(({ createdAtMs, labels }) => createdAtMs >= sinceMs || (label && labels[label.key] === label.value))
    .toSorted((a, b) => a.createdAtMs - b.createdAtMs)[0];
}

/** The kubelet has requested the first token by then: before the pod is Ready, by a clock that may be behind that of its creation. */
function startedMs({ readySinceMs = 0, createdAtMs }: ObservedPod): number {
  return Math.max(readySinceMs, createdAtMs);
}

/** From this time on no copy of the first token is accepted. */
export function tokenDiedMs(first: ObservedPod, { expirationSeconds }: Spec): number {
  return startedMs(first) + 1000 * expirationSeconds + ACCEPTED_MS;
}

/** What the trial still waits for, as the end of a sentence; undefined: it has passed. */
function missingProof(subject: Subject): string | undefined {
  const { spec, nowMs } = subject;
  const first = firstPodOf(subject, spec);
  if (first === undefined) {
    const cause = blockerOf(subject) ?? "does a PodDisruptionBudget refuse the eviction?";
    return `no pod has the shorter token yet; ${cause}`;
  }
  const endMs = startedMs(first) + trialMs(spec);
  if (nowMs < endMs) return `the first must work until ${toSeconds(new Date(endMs))} before the next pod is replaced`;
  return unhealthy(first, endMs) ?? unprovenNode(first, subject) ?? sparedBlocker(subject);
}

function unhealthy({ name, ready, logState, logReadMs }: ObservedPod, endMs: number): string | undefined {
  if (!ready) return `pod ${name}, the first with the shorter token, is not Ready`;
  // A log that was read before the end may lack what the expired token caused.
  if (logState === "quiet" && logReadMs >= endMs) return undefined;
  const cause = logState === "suspected" || logState === "persistent" ? "gets 401 responses" : "has unread logs";
  return `pod ${name}, the first with the shorter token, ${cause}`;
}

function unprovenNode(first: ObservedPod, { pods, nodeProof, spec }: Subject): string | undefined {
  if (!isNodeAgent({ pods }) || nodeProof === "Started") return undefined;
  if (nodeProof === "Forbidden")
    return "the operator may not list the pods of all namespaces, so it cannot see whether pods start on a node; grant list pods";
  const since = toSeconds(new Date(tokenDiedMs(first, spec)));
  return `no pod with its own network was seen to start on node ${first.nodeName ?? "unknown"} since ${since}, when a copy of the first token expired; start one there`;
}

/** The pod was healthy, so its restart has helped once a successor is Ready. Updates the outcomes of this remedy's restarts. Pure: history in, history out. */
export function settleRestarts({ daemonSets, restarts }: Observed, nowMs: number): RestartStatus[] {
  const observed = daemonSets.map(({ view, pods }) => ({ view, pods: pods.map(pod => ({ view: pod })) }));
  const outcomeOf = (entry: RestartStatus, one: (typeof observed)[number]): RestartStatus["outcome"] => {
    if (one.pods.some(pod => pod.view.ready && mayReplace(pod, entry))) return "Recovered";
    return isOverdue(entry, one, nowMs) ? "Ineffective" : "Restarted";
  };
  const workloads = new Map(observed.map(one => [workloadOf(one.view), one]));
  return settleOpenRestarts(restarts, { causes: [Cause.TokenTooLong], workloads, outcomeOf }, nowMs);
}
