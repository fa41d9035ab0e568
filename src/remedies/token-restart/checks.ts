import { SKIP_ANNOTATION } from "../../api/names";
import { count } from "../../core/count";
import type { Intent, RestartClaim } from "../../core/intent";
import { firstMatch } from "../kit/checks";
import { describeHolder } from "../kit/holder";
import type { Assessment, WorkloadCheck } from "./assessment";
import {
  candidatesOf,
  nextCandidate,
  nextClaim,
  refusedRestart,
  type TokenClaim,
  type WorkloadState,
} from "./candidates";
import { cooldownActive, restartsExhausted } from "./limits";
import { rolloutInProgress, upgradeDeferred } from "./rollout-checks";
import { downPods, tooManyDown, UNHEALTHY_HINT } from "./unavailable";
import { isStale, isSuspected, workloadId, type ObservedPod, type ObservedWorkload } from "./observed";
import {
  describeBlock,
  describeCause,
  describeEvidence,
  describeMissingSign,
  describeShare,
  describeTime,
} from "./wording";
import { notWitnessed } from "./witness";

/** The first check that applies decides. */
const CHECKS: readonly WorkloadCheck[] = [
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

function accepted({ workload }: WorkloadState): Assessment {
  const pods = count(workload.pods.length, "pod");
  const sentence = `${workloadId(workload.view)} (${pods}): no pod persistently gets 401 responses.`;
  const notes = describePartialLog(workload);
  if (notes.length === 0) return { status: "True", reason: "Accepted", sentence };
  return { status: "True", reason: "Accepted", sentence: [sentence, ...notes].join(" "), isNotable: true };
}

function describePartialLog({ pods }: ObservedWorkload): string[] {
  const partial = pods.find(({ isLogPartial }) => isLogPartial === true);
  if (partial === undefined) return [];
  return [`Part of the log of pod ${partial.view.name} was skipped, because it is written faster than it can be read.`];
}

function heldByOther({ workload, rejected }: WorkloadState): Assessment | undefined {
  if (workload.holder === undefined || rejected.length === 0) return undefined;
  const sentence = `${describeShare(workload, rejected)}; ${describeHolder(workload.holder)}.`;
  return { status: "False", reason: "Conflict", sentence, isStalled: true };
}

/** Pods of another ServiceAccount that exists are healed first, unless the workload's new pods would lack theirs. */
function serviceAccountMissing(state: WorkloadState): Assessment | undefined {
  const { workload } = state;
  const orphans = workload.pods.filter(pod => isOrphan(pod));
  const orphan = orphans.find(({ view }) => view.serviceAccountName === workload.view.serviceAccountName) ?? orphans[0];
  if (orphan === undefined || workload.view.skip) return undefined;
  const isNeeded = orphan.view.serviceAccountName === workload.view.serviceAccountName;
  if (!isNeeded && candidatesOf(state).length > 0) return undefined;
  const { name, serviceAccountName } = orphan.view;
  const sentence = `ServiceAccount ${serviceAccountName} of pod ${name} does not exist: the token is invalid and a restart cannot help; create the ServiceAccount.`;
  return { status: "False", reason: "ServiceAccountMissing", sentence, isStalled: true };
}

/** A pod without a mounted token has none to lose. That no new pod can be created is reported by the workload's own controller. */
function isOrphan({ view, serviceAccount }: ObservedPod): boolean {
  return serviceAccount === "missing" && view.deletedAtMs === undefined && !view.skip && view.mountsToken !== false;
}

function skipped({ workload, rejected }: WorkloadState): Assessment | undefined {
  const isSkipped = workload.view.skip || rejected.every(({ view }) => view.skip);
  if (rejected.length === 0 || !isSkipped) return undefined;
  const sentence = `${describeShare(workload, rejected)}; no action because of the annotation ${SKIP_ANNOTATION}.`;
  return { status: "False", reason: "Rejected", sentence };
}

function ownPods(state: WorkloadState): Assessment | undefined {
  const { workload, rejected } = state;
  const own = rejected.find(({ isOperator }) => isOperator === true);
  if (own === undefined || candidatesOf(state).length > 0) return undefined;
  const sentence = `${describeShare(workload, rejected)}; no restart of the operator's own pods, which end by themselves when their token is rejected; find out what pod ${own.view.name} logs.`;
  return { status: "False", reason: "Rejected", sentence, isStalled: true };
}

function serviceAccountUnreadable(state: WorkloadState): Assessment | undefined {
  const { workload, rejected } = state;
  const unknown = rejected.find(({ view, serviceAccount }) => !view.skip && serviceAccount === "unknown");
  if (unknown === undefined || candidatesOf(state).length > 0) return undefined;
  const { name, serviceAccountName } = unknown.view;
  const sentence = `${describeShare(workload, rejected)}; no action while ServiceAccount ${serviceAccountName} of pod ${name} cannot be read.`;
  return { status: "Unknown", reason: "Forbidden", sentence };
}

function noTokenToRenew(state: WorkloadState): Assessment | undefined {
  const { workload, rejected } = state;
  const [first] = rejected.filter(({ view }) => !view.skip);
  if (first === undefined || candidatesOf(state).length > 0) return undefined;
  const sentence = `${describeShare(workload, rejected)}; pod ${first.view.name} mounts no ServiceAccount token for the API server that a restart renews; check its other credentials.`;
  return { status: "False", reason: "Rejected", sentence, isStalled: true };
}

function keysChangedLately(state: WorkloadState): Assessment | undefined {
  const candidate = nextCandidate(state);
  const { notBeforeMs = -Infinity } = candidate?.proof ?? {};
  const retryAfterMs = notBeforeMs - state.now.getTime();
  if (candidate === undefined || retryAfterMs <= 0) return undefined;
  const time = describeTime(notBeforeMs) ?? "an unknown time";
  const sentence = `${describeEvidence(candidate)}; the signing keys changed lately, so no restart before ${time}, in case the change is undone.`;
  const waitHint = "check that all API servers have the same --service-account-key-file";
  return { status: "False", reason: "RestartDeferred", sentence, isProgressing: true, retryAfterMs, waitHint };
}

const STALE_HINT = "compare the clock of the pod's node with the clock of the API server";

/** Ends by itself: with the next 401, or when the rejections count as over. */
function evidenceStale(state: WorkloadState): Assessment | undefined {
  const candidate = nextCandidate(state);
  if (candidate === undefined || !isStale(candidate)) return undefined;
  const sentence = `${describeShare(state.workload, state.rejected)}; pod ${candidate.view.name} got no 401 response for longer than usual, so it is restarted only after another one.`;
  return { status: "False", reason: "RestartDeferred", sentence, isProgressing: true, waitHint: STALE_HINT };
}

const BLOCKED_HINT =
  "check the PodDisruptionBudget and the admission webhooks for evictions, delete the pod by hand, or add a replica";

function restartBlocked(state: WorkloadState): Assessment | undefined {
  const { workload, rejected, now } = state;
  const candidate = nextCandidate(state);
  const write = candidate && refusedRestart(candidate, state);
  if (write?.outcome.result !== "Blocked") return undefined;
  const block = describeBlock(write.outcome.message, write.untilMs);
  const sentence = `${describeShare(workload, rejected)}; ${block}.`;
  const retryAfterMs = write.untilMs - now.getTime();
  return {
    status: "False",
    reason: "RestartBlocked",
    sentence,
    isProgressing: true,
    retryAfterMs,
    waitHint: BLOCKED_HINT,
  };
}

function restartNeeded(state: WorkloadState): Assessment | undefined {
  const candidate = nextCandidate(state);
  const claim = nextClaim(state);
  if (candidate === undefined || claim === undefined) return undefined;
  const { observed, rejected } = state;
  const why = `${describeEvidence(candidate)} (${describeCause(claim.cause)})`;
  const { mode } = observed;
  const isObserved = mode !== "Enforce";
  return {
    status: "False",
    reason: isObserved ? "WouldRestart" : "Rejected",
    sentence: `${why}.`,
    intents: [eviction(candidate, claim, why)],
    isProgressing: !isObserved,
    ...(isObserved || !isRetry(candidate, state) ? {} : { waitHint: BLOCKED_HINT }),
    restart: { mode, rest: describeRest(rejected, claim) },
  };
}

/** The API server refused or failed the restart before. */
function isRetry(candidate: ObservedPod, state: WorkloadState): boolean {
  return state.previous?.waitStartTime !== undefined || refusedRestart(candidate, state) !== undefined;
}

function describeRest(rejected: readonly ObservedPod[], { workload }: TokenClaim): string {
  const others = rejected.length - 1;
  return others > 0 ? `${count(others, "more pod")} of ${workload} will follow.` : "";
}

function successorWatched(state: WorkloadState): Assessment | undefined {
  const { workload } = state;
  const down = downPods(state);
  if (down.length === 0) return undefined;
  const names = down.slice(0, 3).join(", ");
  const pods = down.length === 1 ? `pod ${names}; watching its successor` : `pods ${names}; watching their successors`;
  const sentence = `${workloadId(workload.view)}: restarted ${pods}.`;
  return { status: "False", reason: "Restarting", sentence, isProgressing: true, waitHint: UNHEALTHY_HINT };
}

function noPods({ workload }: WorkloadState): Assessment | undefined {
  if (workload.pods.some(({ view }) => view.deletedAtMs === undefined)) return undefined;
  const { view } = workload;
  return {
    status: "True",
    reason: "NoPods",
    sentence: `${workloadId(view)} has no pods (replicas: ${view.replicas}).`,
  };
}

function suspected({ workload }: WorkloadState): Assessment | undefined {
  const suspect = workload.pods.find(pod => pod.view.deletedAtMs === undefined && isSuspected(pod));
  if (suspect === undefined) return undefined;
  const isByAge = suspect.proof !== undefined && suspect.logs.occasions === 0;
  const missing = isByAge ? describeMissingSign(suspect.proof) : "not persistent yet";
  return { status: "True", reason: "Suspected", sentence: `${describeEvidence(suspect)}; ${missing}.` };
}

/** Only for a log that has not been read yet. One that cannot be read for longer is one of the problems. */
function logsUnread({ workload }: WorkloadState): Assessment | undefined {
  const { length } = workload.pods.filter(pod => isUnread(pod));
  if (length === 0) return undefined;
  const sentence = `${workloadId(workload.view)}: logs of ${count(length, "pod")} not read yet.`;
  return { status: "Unknown", reason: "ObserveFailed", sentence, isProgressing: true };
}

function isUnread({ view, readMs, unreadable, isNew }: ObservedPod): boolean {
  return view.deletedAtMs === undefined && readMs === undefined && !unreadable && isNew !== true;
}

function eviction({ view }: ObservedPod, restart: RestartClaim, why: string): Intent {
  const { namespace, name, uid } = view;
  const target = { apiVersion: "v1", kind: "Pod", namespace, name, uid };
  return { verb: "evict", target, why, eventReason: "PodEvicted", restart };
}
