import { SKIP_ANNOTATION } from "../../api/names";
import type { RestartStatus } from "../../api/controller-resilience";
import { count } from "../../core/text";
import { type BudgetDecision, checkRestartBudget, isOpen } from "../../restarts/history";
import { firstMatch, type Check } from "../../core/checks";
import { describeHolder } from "../../restarts/holder";
import { coolingMs, isUsedUp, type TokenClaim, wasUsedUp, type WorkloadState } from "./candidates";
import { isPresent, isStale, isSuspected, type ObservedPod } from "./observed";
import { evictionOf, workloadId } from "../../restarts/claims";
import { deferred, stalled, type Assessment } from "./reasons";
import { downPods, rolloutInProgress, tooManyDown, UNHEALTHY_HINT, upgradeDeferred } from "./unavailable";
import { notWitnessed } from "./witness";
import { describeBlock, describeCause, describeEvidence, describeMissingSign, describeTime } from "./wording";

// What to do about one workload now. Pure. The first check that applies decides.

const CHECKS: readonly Check<WorkloadState, Assessment>[] = [
  // Another object restarts its pods.
  heldByOther,
  // A restart cannot recreate a ServiceAccount.
  serviceAccountMissing,
  // A person has set the skip annotation.
  skipped,
  // The operator restarts by itself.
  ownPods,
  // It is unknown whether a restart can help.
  serviceAccountUnreadable,
  // A restart would upgrade the pods, and a person decides when.
  upgradeDeferred,
  // A restart does not renew the rejected credential.
  noTokenToRenew,
  // Only a person, a new generation or accepted tokens allow more restarts.
  restartsExhausted,
  // The rollout in progress may replace the pods.
  rolloutInProgress,
  // maxUnavailable is reached.
  tooManyDown,
  // The last restart was recent, or did not help.
  cooldownActive,
  // The new signing key may be a mistake that is about to be corrected.
  keysChangedLately,
  // No API server has refused a request.
  notWitnessed,
  // The client may have recovered.
  evidenceStale,
  // The API server refused the restart a moment ago.
  restartBlocked,
  // Nothing prevents a restart that can help.
  restartNeeded,
  // The successor of a replaced pod has not proven itself yet.
  successorWatched,
  // Without pods there are no tokens.
  noPods,
  // There are 401s, but they are not persistent yet.
  suspected,
  // Without any log read, nothing is known.
  logsUnread,
];

/** Assesses one workload. Without a finding its tokens are accepted. */
export function assess(state: WorkloadState): Assessment {
  return firstMatch(CHECKS, state) ?? accepted(state);
}

// No restart can help, or none may.

function heldByOther({ workload, rejected, share }: WorkloadState): Assessment | undefined {
  if (workload.holder === undefined || rejected.length === 0) return undefined;
  const sentence = `${share}; ${describeHolder(workload.holder)}.`;
  return { status: "False", reason: "Conflict", sentence, isStalled: true };
}

/** Pods of another ServiceAccount that exists are healed first, unless the workload's new pods would lack theirs. */
function serviceAccountMissing({ workload, next }: WorkloadState): Assessment | undefined {
  const orphans = workload.pods.filter(pod => isOrphan(pod));
  const orphan = orphans.find(({ view }) => view.serviceAccountName === workload.view.serviceAccountName) ?? orphans[0];
  if (orphan === undefined || workload.view.skip) return undefined;
  const isNeeded = orphan.view.serviceAccountName === workload.view.serviceAccountName;
  if (!isNeeded && next !== undefined) return undefined;
  const { name, serviceAccountName } = orphan.view;
  const sentence = `ServiceAccount ${serviceAccountName} of pod ${name} does not exist: the token is invalid and a restart cannot help; create the ServiceAccount.`;
  return { status: "False", reason: "ServiceAccountMissing", sentence, isStalled: true };
}

/** A pod without a mounted token has none to lose. That no new pod can be created is reported by the workload's own controller. */
function isOrphan(pod: ObservedPod): boolean {
  return pod.serviceAccount === "missing" && isPresent(pod) && !pod.view.skip && pod.view.mountsToken !== false;
}

function skipped({ workload, rejected, share }: WorkloadState): Assessment | undefined {
  const isSkipped = workload.view.skip || rejected.every(({ view }) => view.skip);
  if (rejected.length === 0 || !isSkipped) return undefined;
  const sentence = `${share}; no action because of the annotation ${SKIP_ANNOTATION}.`;
  return { status: "False", reason: "Rejected", sentence };
}

function ownPods({ rejected, share, next }: WorkloadState): Assessment | undefined {
  const own = rejected.find(({ isOperator }) => isOperator === true);
  if (own === undefined || next !== undefined) return undefined;
  return stalled(
    `${share}; no restart of the operator's own pods, which end by themselves when their token is rejected; find out what pod ${own.view.name} logs.`,
  );
}

function serviceAccountUnreadable({ rejected, share, next }: WorkloadState): Assessment | undefined {
  const unknown = rejected.find(({ view, serviceAccount }) => !view.skip && serviceAccount === "unknown");
  if (unknown === undefined || next !== undefined) return undefined;
  const { name, serviceAccountName } = unknown.view;
  const sentence = `${share}; no action while ServiceAccount ${serviceAccountName} of pod ${name} cannot be read.`;
  return { status: "Unknown", reason: "Forbidden", sentence };
}

function noTokenToRenew({ rejected, share, next }: WorkloadState): Assessment | undefined {
  const first = rejected.find(({ view }) => !view.skip);
  if (first === undefined || next !== undefined) return undefined;
  return stalled(
    `${share}; pod ${first.view.name} mounts no ServiceAccount token for the API server that a restart renews; check its other credentials.`,
  );
}

/** Candidates whose restarts are not used up come first, so the next candidate speaks for all. */
function restartsExhausted(state: WorkloadState): Assessment | undefined {
  const { rejected, share, next, isCooling, observed, previous } = state;
  const isExhausted = next ? isUsedUp(next.claim, state) : wasUsedUp(previous, observed.generation);
  if (rejected.length === 0 || isCooling || !isExhausted) return undefined;
  const sentence = `${share}; restarts did not help; find out why its requests get 401 responses. A change of the spec allows more restarts after the cooldown.`;
  return { status: "False", reason: "RestartsExhausted", sentence, isStalled: true };
}

// A restart can help, and waits.

function cooldownActive(state: WorkloadState): Assessment | undefined {
  const { next, share, now } = state;
  if (next === undefined) return undefined;
  const budget = budgetOf(state, next.claim);
  if (budget.allowed) return undefined;
  const { retryAfterMs } = budget;
  const limit = budget.limit === "Cooldown" ? "cooldown" : "maxRestarts";
  const until = `${describeTime(now.getTime() + retryAfterMs)} (${limit})`;
  return deferred(`${share}; ${describeWait(state, next.claim, until)}.`, { retryAfterMs });
}

/** Of forgiven restarts only the cooldown counts. */
function budgetOf({ history, spec, now, isCooling }: WorkloadState, claim: TokenClaim): BudgetDecision {
  if (!isCooling) return checkRestartBudget(history, claim, now);
  return { allowed: false, limit: "Cooldown", retryAfterMs: coolingMs(history, spec, now) };
}

/** The wait ends earlier if it is for open restarts, and they help. */
function describeWait(state: WorkloadState, claim: TokenClaim, until: string): string {
  const helped = (entry: RestartStatus): RestartStatus => (isOpen(entry) ? { ...entry, outcome: "Recovered" } : entry);
  const open = state.history.findLast(entry => isOpen(entry));
  const isAwaited = open && budgetOf({ ...state, history: state.history.map(helped) }, claim).allowed;
  if (!isAwaited) return `next restart possible at ${until}`;
  return `waiting for the restart of pod ${open.pod} to recover, at most until ${until}`;
}

function keysChangedLately({ next, now }: WorkloadState): Assessment | undefined {
  const { notBeforeMs = -Infinity } = next?.pod.proof ?? {};
  const retryAfterMs = notBeforeMs - now.getTime();
  if (next === undefined || retryAfterMs <= 0) return undefined;
  const time = describeTime(notBeforeMs) ?? "an unknown time";
  return deferred(
    `${describeEvidence(next.pod)}; the signing keys changed lately, so no restart before ${time}, in case the change is undone.`,
    { retryAfterMs, waitHint: "check that all API servers have the same --service-account-key-file" },
  );
}

/** Ends by itself: with the next 401, or when the rejections count as over. */
function evidenceStale({ next, share }: WorkloadState): Assessment | undefined {
  if (next === undefined || !isStale(next.pod)) return undefined;
  return deferred(
    `${share}; pod ${next.pod.view.name} got no 401 response for longer than usual, so it is restarted only after another one.`,
    { waitHint: "compare the clock of the pod's node with the clock of the API server" },
  );
}

const BLOCKED_HINT =
  "delete the pod by hand, or add a replica; if evictions are refused, check the PodDisruptionBudget and the admission webhooks";

function restartBlocked({ next, share, now }: WorkloadState): Assessment | undefined {
  if (next?.refused?.outcome.result !== "Blocked") return undefined;
  const { outcome, untilMs } = next.refused;
  const wait = { isProgressing: true, retryAfterMs: untilMs - now.getTime(), waitHint: BLOCKED_HINT };
  const sentence = `${share}; ${describeBlock(outcome.message, untilMs)}.`;
  return { status: "False", reason: "RestartBlocked", sentence, ...wait };
}

// The restart.

function restartNeeded({ next, observed, rejected, previous }: WorkloadState): Assessment | undefined {
  if (next === undefined) return undefined;
  const { pod, claim, refused } = next;
  const why = `${describeEvidence(pod)} (${describeCause(claim.cause)})`;
  const { mode } = observed;
  const isObserved = mode !== "Enforce";
  const isRetry = previous?.waitStartTime !== undefined || refused !== undefined;
  const others = rejected.length - 1;
  const rest = others > 0 ? `${count(others, "more pod")} of ${claim.workload} will follow.` : "";
  return {
    status: "False",
    reason: isObserved ? "WouldRestart" : "Rejected",
    sentence: `${why}.`,
    intents: [evictionOf(pod.view, why, claim)],
    isProgressing: !isObserved,
    ...(!isObserved && isRetry && { waitHint: BLOCKED_HINT }),
    restart: { mode, rest },
  };
}

function successorWatched(state: WorkloadState): Assessment | undefined {
  const down = downPods(state);
  if (down.length === 0) return undefined;
  const names = down.slice(0, 3).join(", ");
  const pods = down.length === 1 ? `pod ${names}; watching its successor` : `pods ${names}; watching their successors`;
  const sentence = `${workloadId(state.workload.view)}: restarted ${pods}.`;
  return { status: "False", reason: "Restarting", sentence, isProgressing: true, waitHint: UNHEALTHY_HINT };
}

// Nothing to restart.

function noPods({ workload }: WorkloadState): Assessment | undefined {
  const { view, pods } = workload;
  if (pods.some(pod => isPresent(pod))) return undefined;
  const sentence = `${workloadId(view)} has no pods (replicas: ${view.replicas}).`;
  return { status: "True", reason: "NothingToDo", sentence };
}

function suspected({ workload }: WorkloadState): Assessment | undefined {
  const suspect = workload.pods.find(pod => isPresent(pod) && isSuspected(pod));
  if (suspect === undefined) return undefined;
  const isByAge = suspect.proof !== undefined && suspect.logs.occasions === 0;
  const missing = isByAge
    ? describeMissingSign(suspect.proof)
    : "a restart needs three occasions or more, over minDuration or longer";
  return { status: "True", reason: "Suspected", sentence: `${describeEvidence(suspect)}; ${missing}.` };
}

/** Only for a log that has not been read yet. One that cannot be read for longer is one of the problems. */
function logsUnread({ workload }: WorkloadState): Assessment | undefined {
  const { length } = workload.pods.filter(
    pod => isPresent(pod) && pod.readMs === undefined && !pod.unreadable && pod.isNew !== true,
  );
  if (length === 0) return undefined;
  const sentence = `${workloadId(workload.view)}: logs of ${count(length, "pod")} not read yet.`;
  return { status: "Unknown", reason: "ObserveFailed", sentence, isProgressing: true };
}

function accepted({ workload }: WorkloadState): Assessment {
  const { view, pods } = workload;
  const sentence = `${workloadId(view)} (${count(pods.length, "pod")}): no pod persistently gets 401 responses.`;
  const partial = pods.find(({ isLogPartial }) => isLogPartial === true);
  if (partial === undefined) return { status: "True", reason: "Accepted", sentence };
  const note = `Part of the log of pod ${partial.view.name} was skipped, because it is written faster than it can be read.`;
  return { status: "True", reason: "Accepted", sentence: `${sentence} ${note}`, isNotable: true };
}
