import { Cause } from "../api/conditions";
import { SKIP_ANNOTATION } from "../api/names";
import type { RestartStatus } from "../api/controller-resilience";
import { type Check, firstMatch } from "../core/checks";
import type { RestartClaim } from "../core/intent";
import type { PendingRestart } from "../core/remedy";
import { timeInMessage, toSeconds } from "../core/time";
import type { PodView, WorkloadView } from "../core/views";
import { BLOCKED_HINT, describeBlock, refusedRestart } from "./claims";
import {
  checkRestartBudget,
  incidentOf,
  isOpen,
  isPresent,
  isUnproven,
  mayReplace,
  RESTARTS_WINDOW_MS,
  UNKNOWN_MS,
  UNPROVEN_OPEN_MS,
} from "./history";

// The limits of one workload: may this pod be restarted now? In the order of LIMITS. Pure. The limits of the cluster follow, in ledger.ts.

/** A workload as its limits see it. */
export interface LimitedWorkload {
  readonly view: WorkloadView;
  /** All that have not ended. */
  readonly pods: readonly LimitedPod[];
  /** A restart that is due and a rollout in progress were first seen together at this time. Absent: they are not. */
  readonly rolloutSinceMs?: number | undefined;
  /** Its restarts, with the outcomes known now. */
  readonly history: readonly RestartStatus[];
  readonly maxUnavailable: number;
  /** Restarts in backoff. */
  readonly pending: readonly PendingRestart[];
  readonly now: Date;
}

/** A pod of the workload. */
export interface LimitedPod {
  readonly view: PodView;
  /** Proven not to work. */
  readonly isDead?: boolean;
}

/** Why a restart waits. */
export interface Limit {
  /** A part of a sentence. */
  readonly wait: string;
  readonly retryAfterMs?: number;
  /** It may never end: what a person can do. */
  readonly wayOut?: string;
  /** In the condition. Absent: RestartDeferred. */
  readonly reason?: "RestartsExhausted" | "RestartBlocked";
}

/** Why a pod is never restarted, whatever is wrong with it. */
interface Bar {
  /** A part of a sentence. */
  readonly why: string;
  /** A person has said so. */
  readonly isWanted?: boolean;
}

/** Returns undefined for a pod that may be restarted. */
export function barOf(
  { view, isOperator }: { readonly view: PodView; readonly isOperator?: boolean },
  workload: Pick<WorkloadView, "skip" | "rollout">,
): Bar | undefined {
  const { skip } = workload;
  if (view.skip || skip) return { why: `no action because of the annotation ${SKIP_ANNOTATION}`, isWanted: true };
  if (isOperator === true)
    return {
      why: `no restart of the operator's own pods, which end by themselves; find out what pod ${view.name} logs`,
    };
  if (!wouldUpgrade(view, workload)) return undefined;
  return {
    why: `pod ${view.name} may have an older template, and with update strategy OnDelete a restart would upgrade it; delete the pod once it may be upgraded`,
  };
}

/** A restart that is due. */
interface Due {
  readonly pod: PodView;
  readonly claim: RestartClaim;
  readonly workload: LimitedWorkload;
}

/** Of one workload, in their order. */
export const LIMITS: readonly Check<Due, Limit>[] = [
  exhausted,
  endsTooLate,
  rolloutInProgress,
  unanswered,
  tooManyDown,
  overBudget,
  refused,
];

/** Returns the first limit of the workload that holds a restart back. */
export function limitOf(pod: PodView, claim: RestartClaim, workload: LimitedWorkload): Limit | undefined {
  return firstMatch(LIMITS, { pod, claim, workload });
}

// Restarts in vain.

/** So long at least restarts that did not help are held against the next one, in milliseconds. */
export const EXHAUSTED_MS = 86_400_000;

/** This many restarts without proof that did not help are enough, also if others helped for a while. */
const UNPROVEN_RESTARTS = 2;

const TROUBLES: Partial<Record<RestartClaim["cause"], string>> = {
  [Cause.CniCredentialRejected]: "the CNI credential on its node gets 401 responses",
  [Cause.LeaseNotRenewed]: "it does not renew its Lease",
  [Cause.ProgressStopped]: "it does nothing",
};

function exhausted({ claim, workload: { history, now } }: Due): Limit | undefined {
  if (!isExhausted(claim, history, now)) return undefined;
  const trouble = TROUBLES[claim.cause] ?? "its requests get 401 responses";
  const next = "Once that is mended, restart it by hand; the operator tries again a day after them at the earliest";
  return { wait: `restarts did not help; find out why ${trouble}. ${next}`, reason: "RestartsExhausted" };
}

/**
 * Reports whether the restarts for the incident of a claim are exhausted: of those of a day, or of longer cooldowns, two without proof or the
 * last `maxRestarts` with proof did not help (docs/adr/0005-count-restarts-by-incident.md).
 */
export function isExhausted(
  claim: Pick<RestartClaim, "cause" | "serviceAccountUID" | "limits">,
  history: readonly RestartStatus[],
  now: Date,
): boolean {
  const { maxRestarts, cooldownMs } = claim.limits;
  const enough = isUnproven(claim) ? Math.min(UNPROVEN_RESTARTS, maxRestarts) : maxRestarts;
  // The cooldown doubles after each of them: with a long one, so many take longer than a day.
  const heldMs = Math.max(EXHAUSTED_MS, RESTARTS_WINDOW_MS + cooldownMs * 2 ** enough);
  const recent = history
    .filter(entry => incidentOf(entry) === incidentOf(claim) && !isOpen(entry))
    .filter(({ time }) => now.getTime() - Date.parse(time) < heldMs);
  const counted = isUnproven(claim) ? recent : recent.slice(-enough);
  return counted.filter(({ outcome }) => outcome === "Ineffective").length >= enough;
}

/** A pod that may end later has no known outcome, and maybe no successor, when a restart without proof has to have one. In milliseconds. */
const LONGEST_GRACE_MS = UNPROVEN_OPEN_MS - UNKNOWN_MS;

function endsTooLate({ claim, workload: { view } }: Due): Limit | undefined {
  if (!isUnproven(claim) || (view.graceMs ?? 0) <= LONGEST_GRACE_MS) return undefined;
  const wait = `nothing proves that the pod is dead, so it waits until terminationGracePeriodSeconds is ${LONGEST_GRACE_MS / 1_000} or less`;
  return { wait, wayOut: "lower terminationGracePeriodSeconds, or delete the pod by hand" };
}

// Rollouts of the workload's own template.

/** How long a rollout delays restarts: the default progressDeadlineSeconds of a Deployment, and the longest time. */
const ROLLOUT_MS = 600_000;
const LONGEST_ROLLOUT_MS = 900_000;

/** A rollout that does not end, such as for the sake of these pods, is not waited for any longer. */
function rolloutInProgress({ workload: { view, rolloutSinceMs = -Infinity, now } }: Due): Limit | undefined {
  const untilMs = rolloutSinceMs + rolloutWaitMs(view);
  const retryAfterMs = untilMs - now.getTime();
  if (retryAfterMs <= 0) return undefined;
  return { wait: `waiting for the rollout in progress, until ${timeInMessage(untilMs)} at the latest`, retryAfterMs };
}

function rolloutWaitMs({ rollout }: Pick<WorkloadView, "rollout">): number {
  return Math.min(rollout?.progressDeadlineMs ?? ROLLOUT_MS, LONGEST_ROLLOUT_MS);
}

/**
 * Reports whether the eviction of a pod could upgrade it although the update strategy OnDelete leaves the time of the upgrade to a person:
 * the pod is not known to have the present template.
 */
function wouldUpgrade({ labels }: PodView, { rollout }: Pick<WorkloadView, "rollout">): boolean {
  if (rollout?.strategy !== "OnDelete" || rollout.isComplete) return false;
  const { currentLabel } = rollout;
  return currentLabel === undefined || labels[currentLabel.key] !== currentLabel.value;
}

/** When a restart that is due was first seen together with the rollout in progress, by the uid of the workload. */
export class RolloutWaits {
  #sinceMs: ReadonlyMap<string, number> = new Map();

  /** Adds that time to the workloads of an object's pass, and forgets the other workloads. `nowMs` is wall-clock time. */
  mark<W extends { readonly view: WorkloadView }>(
    workloads: readonly W[],
    isDue: (workload: W) => boolean,
    nowMs: number,
  ): (W & Pick<LimitedWorkload, "rolloutSinceMs">)[] {
    const rolling = workloads.filter(({ view: { rollout } }) => rollout?.isInProgress === true);
    // One pass without the evidence does not begin the wait for the same rollout anew.
    const waiting = rolling.filter(workload => this.#sinceMs.has(workload.view.uid) || isDue(workload));
    // The clock may have been set back.
    const sinceMs = (uid: string): number => Math.min(nowMs, this.#sinceMs.get(uid) ?? nowMs);
    this.#sinceMs = new Map(waiting.map(({ view: { uid } }) => [uid, sinceMs(uid)]));
    return workloads.map(workload => ({ ...workload, rolloutSinceMs: this.#sinceMs.get(workload.view.uid) }));
  }
}

// Pods that are down.

/** What a person can do while a pod does not become healthy. */
export const UNHEALTHY_HINT = "see kubectl describe for pods that are not Ready or do not terminate";

/** A pod that still exists this long after the end of its grace period does not terminate by itself: its node does not answer. */
const STUCK_TERMINATING_MS = 180_000;

/** Pods that have not been Ready for this long do not hold others back. */
const CHRONIC_MS = 3_600_000;

/** Returns the number of a pod of a StatefulSet, which creates no successor before all pods of lower numbers are Ready; 0: it has none. */
export function ordinalIn({ kind }: Pick<WorkloadView, "kind">, pod: string): number {
  return kind === "StatefulSet" ? Number(/\d+$/.exec(pod)?.[0] ?? 0) : 0;
}

/**
 * As many pods are down as `maxUnavailable` allows, or no other is Ready. A pod that is not Ready takes no further one down. A restart counts for a day,
 * as successors may need each other to get Ready; for a pod that may work, until it has an outcome.
 */
function tooManyDown({ pod, claim, workload: { history, ...rest } }: Due): Limit | undefined {
  const { view, pods, maxUnavailable, now } = rest;
  const counts = (entry: RestartStatus): boolean =>
    (isOpen(entry) && isUnproven(claim)) || !(now.getTime() - Date.parse(entry.time) >= EXHAUSTED_MS);
  const workload = { ...rest, history: history.filter(counts) };
  // It keeps successors of higher numbers away, and does not wait for them.
  const isHeldUp = (name: string): boolean =>
    !pod.ready && ordinalIn(view, name) > ordinalIn(view, pod.name) && !pods.some(one => one.view.name === name);
  const [first, ...more] = downPods(workload).filter(name => !isHeldUp(name));
  const restarted = first === undefined ? 0 : 1 + more.length;
  const { down, isLastReady, what } = pod.ready ? unavailableBeside(pod, workload) : NONE_DOWN;
  if (Math.max(restarted, down) < maxUnavailable && !isLastReady) return undefined;
  const wait = first === undefined ? what : `the successor of pod ${first} is healthy`;
  return { wait: `waiting until ${wait} (maxUnavailable ${maxUnavailable})`, wayOut: UNHEALTHY_HINT };
}

const NONE_DOWN = { down: 0, isLastReady: false, what: "" };

/**
 * How many pods are down beside a Ready one: those that do not exist, those that are not Ready, and those that the workload's own controller counts no
 * longer. If all are proven to be dead, only the first. `isLastReady`: no other of several pods is Ready, whatever `maxUnavailable` allows: what
 * stops one successor may stop the next.
 */
function unavailableBeside(pod: PodView, workload: LimitedWorkload): typeof NONE_DOWN {
  const { view, pods } = workload;
  const present = pods.filter(isPresent);
  const areDead = present.every(({ isDead }) => isDead === true);
  const known = present.filter(one => one.view.ready).length;
  // What is known here may be minutes old.
  const ready = Math.min(known, view.readyReplicas ?? Infinity);
  const counted = present.filter(
    one => !areDead && !one.view.ready && !isLost(one, workload) && !(ready > 1 && isChronic(one, workload)),
  );
  // A Deployment makes another one at once, or cannot.
  const gone = pods.filter(one => view.kind === "DaemonSet" && !isPresent(one) && isLost(one, workload)).length;
  const missing = Math.max(0, view.replicas - present.length - gone);
  const notReady = Math.max(0, counted.length - addedTo(workload, present.length));
  const down = missing + notReady + (areDead ? 0 : known - ready);
  const isOther = (one: LimitedPod): boolean =>
    one.view.uid !== pod.uid && one.isDead !== true && !isLost(one, workload);
  const isLastReady = view.replicas > 1 && ready < 2 && (missing > 0 || present.some(isOther));
  const [other] = counted;
  const rest = `all pods ${missing > 0 ? "exist" : "are Ready"}`;
  return { down, isLastReady, what: other === undefined ? rest : `pod ${other.view.name} is Ready` };
}

/** The number of pods that the stuck rollout of a Deployment has added, which it does not need. Any other surplus may be about to go. */
function addedTo({ view, rolloutSinceMs }: LimitedWorkload, present: number): number {
  return rolloutSinceMs !== undefined && view.kind === "Deployment" ? Math.max(0, present - view.replicas) : 0;
}

/**
 * Reports whether a pod does not count, since its node does not answer: a lost node does not stop the healing of a DaemonSet. It counts in a
 * StatefulSet, which creates no successor before all pods of lower numbers are Ready.
 */
function isLost(pod: LimitedPod, { view, now }: LimitedWorkload): boolean {
  return view.kind !== "StatefulSet" && (pod.view.nodeUnreachable === true || isStuckTerminating(pod, now));
}

/** Describes the pods that restarts for these causes took down. Undefined: there are none. */
export function describeDown(
  { pods, history, now }: Pick<LimitedWorkload, "pods" | "history" | "now">,
  causes: readonly Cause[],
): string | undefined {
  const down = downPods({ pods, now, history: history.filter(entry => causes.some(cause => cause === entry.cause)) });
  if (down.length === 0) return undefined;
  const names = down.slice(0, 3).join(", ");
  return down.length === 1
    ? `restarted pod ${names}; watching its successor`
    : `restarted pods ${names}; watching their successors`;
}

/** Names of the pods that the operator's restarts took down: without a healthy successor, or still in its place, unless that is on a node that does not answer. */
function downPods({ pods, history, now }: Pick<LimitedWorkload, "pods" | "history" | "now">): string[] {
  const ending = pods.filter(pod => !isPresent(pod)).map(({ view }) => view.uid);
  const cutOff = pods.filter(({ view }) => view.nodeUnreachable === true);
  const isCutOff = ({ podUID, nodeName }: RestartStatus): boolean =>
    cutOff.some(pod => (pod.view.uid === podUID ? isStuckTerminating(pod, now) : pod.view.nodeName === nodeName));
  const down = history.filter(entry => {
    // Another pod of a DaemonSet may have helped.
    const isAwaited = isOpen(entry) || (entry.nodeName !== undefined && ending.includes(entry.podUID));
    return isAwaited && !isCutOff(entry);
  });
  return [...new Map(down.map(entry => [entry.podUID, entry.pod])).values()];
}

function isStuckTerminating({ view }: LimitedPod, now: Date): boolean {
  return view.deletedAtMs !== undefined && now.getTime() - view.deletedAtMs >= STUCK_TERMINATING_MS;
}

/**
 * Reports whether a pod that is not Ready does not count while others are: it has not been so for an hour, but in a StatefulSet; not successors of
 * restarts, nor pods of the new template of a DaemonSet whose rollout is stuck, which the successor would have, too.
 */
function isChronic(pod: LimitedPod, { view: workload, history, rolloutSinceMs, now }: LimitedWorkload): boolean {
  const { view } = pod;
  const label = workload.rollout?.currentLabel;
  const isNew = label === undefined || view.labels[label.key] === label.value;
  const isBroken = workload.kind === "DaemonSet" && rolloutSinceMs !== undefined && isNew;
  if (workload.kind === "StatefulSet" || isBroken || history.some(entry => mayReplace(pod, entry))) return false;
  const patienceMs = rolloutSinceMs === undefined ? CHRONIC_MS : rolloutWaitMs(workload);
  return now.getTime() - (view.readySinceMs ?? view.createdAtMs) >= patienceMs;
}

// The budget.

/** The wait ends earlier if it is for open restarts, and they help. */
function overBudget({ claim, workload: { history, now } }: Due): Limit | undefined {
  const budget = checkRestartBudget(history, claim, now);
  if (budget === undefined) return undefined;
  const { limit, retryAfterMs } = budget;
  const until = timeInMessage(now.getTime() + retryAfterMs);
  const open = history.findLast(isOpen);
  const what =
    open === undefined ? "no restart before" : `waiting for the restart of pod ${open.pod} to recover, at most until`;
  return { wait: `${what} ${until} (${limit})`, retryAfterMs };
}

// An eviction that failed or was refused.

/** It may have been carried out. */
function unanswered({ pod, workload: { history } }: Due): Limit | undefined {
  if (!history.some(({ podUID, outcome }) => podUID === pod.uid && outcome === "Requested")) return undefined;
  return { wait: `the request to evict pod ${pod.name} has got no clear answer yet`, wayOut: BLOCKED_HINT };
}

function refused({ pod, workload: { pending, now } }: Due): Limit | undefined {
  const { outcome, untilMs = 0 } = refusedRestart(pod, { pending, now }) ?? {};
  if (outcome?.result !== "Blocked") return undefined;
  const wait = describeBlock(outcome.message, pod.name, untilMs);
  return { wait, retryAfterMs: untilMs - now.getTime(), wayOut: BLOCKED_HINT, reason: "RestartBlocked" };
}

// No wait is for ever.

/** A person must act after this long without progress, whatever the restart waits for. */
const PATIENCE_MS = 3_600_000;

/** When a restart began to wait for something that may never happen, as in status. Empty: it does not. */
export interface Wait {
  readonly waitStartTime?: string;
}

/** An executed restart ends the wait of its workload. What ends by itself neither begins nor ends one: it has no way out. */
export function waitOf(
  { wayOut, isProgressing = false }: { readonly wayOut?: string | undefined; readonly isProgressing?: boolean },
  recorded: string | undefined,
  { history, now }: Pick<LimitedWorkload, "history" | "now">,
): Wait {
  const executed = history.filter(({ outcome }) => outcome !== "Requested").map(({ time }) => Date.parse(time));
  const [begunMs, nowMs] = [Date.parse(recorded ?? ""), now.getTime()];
  // A clock that was ahead may have stamped it.
  const isOver = begunMs > nowMs || executed.some(ms => ms > begunMs && ms <= nowMs);
  const begun = isOver ? undefined : recorded;
  const waitStartTime = begun ?? (wayOut === undefined ? undefined : toSeconds(now));
  return waitStartTime === undefined || !isProgressing ? {} : { waitStartTime };
}

/** Returns a finding as Stalled, with the way out, if it has waited for too long. */
export function withPatience<F extends { readonly sentence: string }>(
  finding: F,
  wayOut: string | undefined,
  { waitStartTime = "" }: Wait,
  now: Date,
): F & { readonly isStalled?: boolean; readonly isProgressing?: boolean } {
  const sinceMs = Date.parse(waitStartTime);
  if (wayOut === undefined || !(now.getTime() - sinceMs >= PATIENCE_MS)) return finding;
  const sentence = `${finding.sentence} Waiting since ${timeInMessage(sinceMs)}: ${wayOut}.`;
  return { ...finding, sentence, isStalled: true, isProgressing: false };
}
