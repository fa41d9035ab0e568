import { formatDuration, timeInMessage } from "../../core/time";
import { countPresent, isPresent } from "../../restarts/history";
import { count, workloadId } from "../../core/text";
import { barOf } from "../../restarts/limits";
import { firstMatch, type Check } from "../../core/checks";
import { describeHolder } from "../../restarts/holder";
import { asObserved, atLimit, deferred, evict, held, watched } from "../kit/restarting";
import { canHeal, type WorkloadState } from "./candidates";
import { isBySandbox, isStale, isSuspected, type ObservedPod, isLogEvidence, TOKEN_CAUSES } from "./observed";
import { stalled, type Assessment } from "./reasons";
import { notWitnessed, serverLacksKey } from "./witness";
import { CAUSES, describeDoubt, describeEvidence } from "./wording";

// What to do about one workload now. Pure. The first check that applies decides.

/**
 * In their order, which docs/why-not-restarted.md shows: first what makes a restart useless or not ours, then what it waits for, the evidence last,
 * since it is the first to change; then the restart. What follows speaks of workloads without a pod to restart.
 */
export const CHECKS: readonly Check<WorkloadState, Assessment>[] = [
  heldByOther,
  serviceAccountMissing,
  barred,
  serviceAccountUnreadable,
  noTokenToRenew,
  limitReached,
  keysChangedLately,
  serverLacksKey,
  notWitnessed,
  evidenceStale,
  restartNeeded,
  successorWatched,
  noPods,
  eventsUnseen,
  suspected,
  logsUnread,
];

/** Assesses one workload. Without a finding its tokens are accepted. */
export function assess(state: WorkloadState): Assessment {
  const { observed, next } = state;
  return asObserved(firstMatch(CHECKS, state) ?? accepted(state), observed.mode, next?.pod.view.name ?? "");
}

// No restart can help, or none may.

function heldByOther({ workload, rejected, share }: WorkloadState): Assessment | undefined {
  if (workload.holder === undefined || rejected.length === 0) return undefined;
  return held("Conflict", `${share}; ${describeHolder(workload.holder)}.`);
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
  return held("ServiceAccountMissing", sentence);
}

/** A pod without a mounted token has none to lose. That no new pod can be created is reported by the workload's own controller. */
function isOrphan(pod: ObservedPod): boolean {
  return pod.serviceAccount === "missing" && isPresent(pod) && !pod.view.skip && pod.view.mountsToken !== false;
}

/** By the skip annotation, as a pod of the operator, or by the update strategy OnDelete. */
function barred({ workload, rejected, share, next }: WorkloadState): Assessment | undefined {
  const { view } = workload;
  const bars = rejected.map(pod => barOf(pod, canHeal(pod) ? view : { skip: view.skip }));
  const bar = bars.find(one => one?.isWanted !== true) ?? bars[0];
  if (bar === undefined || bars.includes(undefined) || next !== undefined) return undefined;
  const sentence = `${share}; ${bar.why}.`;
  return bar.isWanted === true ? { status: "False", reason: "Rejected", sentence } : stalled(sentence);
}

function serviceAccountUnreadable({ rejected, share, next }: WorkloadState): Assessment | undefined {
  const unknown = rejected.find(({ view, serviceAccount }) => !view.skip && serviceAccount === "unknown");
  if (unknown === undefined || next !== undefined) return undefined;
  const { name, serviceAccountName } = unknown.view;
  const sentence = `${share}; no action while ServiceAccount ${serviceAccountName} of pod ${name} cannot be read.`;
  return { status: "Unknown", reason: "Forbidden", sentence };
}

function noTokenToRenew({ workload, rejected, share, next }: WorkloadState): Assessment | undefined {
  const first = rejected.find(pod => barOf(pod, { skip: workload.view.skip }) === undefined && !canHeal(pod));
  if (first === undefined || next !== undefined) return undefined;
  return stalled(
    `${share}; pod ${first.view.name} mounts no ServiceAccount token for the API server that a restart renews; check its other credentials.`,
  );
}

// A restart can help, and waits.

/** One of src/restarts/limits.ts. */
function limitReached(state: WorkloadState): Assessment | undefined {
  const { next, share } = state;
  return next && atLimit(next, state, wait => `${share}; ${wait}.`);
}

function keysChangedLately({ next, now }: WorkloadState): Assessment | undefined {
  const { incidents = [], proof } = next?.pod ?? {};
  const doubted = proof === undefined ? incidents : incidents.filter(one => one.proof?.cause === proof.cause);
  const notBeforeMs = Math.max(...doubted.map(incident => incident.notBeforeMs));
  const retryAfterMs = notBeforeMs - now.getTime();
  if (next === undefined || retryAfterMs <= 0) return undefined;
  return deferred(
    `${describeEvidence(next.pod)}; the signing keys changed lately, so no restart before ${timeInMessage(notBeforeMs)}, in case the change is undone.`,
    { retryAfterMs, wayOut: "check that all API servers have the same --service-account-key-file" },
  );
}

/** Ends by itself: with the next 401, or when the rejections count as over. */
function evidenceStale({ next, share }: WorkloadState): Assessment | undefined {
  if (next === undefined || !isStale(next.pod)) return undefined;
  return deferred(
    `${share}; pod ${next.pod.view.name} got no 401 response for longer than usual, so it is restarted only after another one.`,
    { wayOut: "compare the clock of the pod's node with the clock of the API server" },
  );
}

// The restart.

function restartNeeded({ workload, rejected, next }: WorkloadState): Assessment | undefined {
  if (next === undefined) return undefined;
  const { pod, claim } = next;
  const why = `${describeEvidence(pod)} (${CAUSES[claim.cause]})`;
  const others = rejected.filter(one => barOf(one, workload.view) === undefined && canHeal(one)).length - 1;
  const rest = others > 0 ? ` ${count(others, "more pod")} of ${claim.workload} will follow.` : "";
  return evict(next, { reason: "Rejected", sentence: `${why}.${rest}`, why });
}

function successorWatched({ workload, history, now }: WorkloadState): Assessment | undefined {
  return watched(workload, { history, causes: TOKEN_CAUSES, now });
}

// Nothing to restart.

function noPods({ workload }: WorkloadState): Assessment | undefined {
  const { view, pods } = workload;
  if (pods.some(pod => isPresent(pod))) return undefined;
  const sentence = `${workloadId(view)} has no pods (replicas: ${view.replicas}).`;
  return { status: "True", reason: "NothingToDo", sentence };
}

/** Without a 401 or work in its log since a proof, for as long, in milliseconds, nothing shows whether a pod uses its token. */
const UNCONFIRMED_MS = 600_000;

function suspected({ workload, spec, now }: WorkloadState): Assessment | undefined {
  const present = workload.pods.filter(pod => isPresent(pod));
  const isRead = isLogEvidence(workload.view, spec);
  const doubtful = present.find(pod => (isRead ? isUnconfirmed(pod, now) : isDoubtful(pod, now)));
  if (doubtful !== undefined) {
    const silent = `for ${formatDuration(UNCONFIRMED_MS)} its log has shown no 401 that counts, and no work`;
    const unlessEvidence = isRead ? "its log was not read" : "its log is no evidence";
    const why = isRead && doubtful.readMs !== undefined ? silent : unlessEvidence;
    const sentence = `${describeDoubt(doubtful)}; whether its requests get 401 responses is unknown, because ${why}.`;
    return { status: "Unknown", reason: "Suspected", sentence };
  }
  const suspect = present.find(pod => isSuspected(pod));
  if (suspect === undefined) return undefined;
  const isByAge = suspect.proof !== undefined && suspect.logs.occasions === 0 && !isBySandbox(suspect);
  const missing = isByAge
    ? "no 401 response confirms it yet; without one, a restart needs a binding that names the ServiceAccount"
    : "a restart needs three occasions or more, over minDuration or longer";
  const sentence = `${describeEvidence(suspect)}; ${missing}.`;
  return { status: "True", reason: "Suspected", sentence, isNotable: true };
}

function isUnconfirmed({ proof, logs }: ObservedPod, now: Date): boolean {
  if (proof === undefined || proof.isContradicted === true || logs.occasions > 0) return false;
  return now.getTime() - proof.sinceMs >= UNCONFIRMED_MS;
}

/** Only a 401 could show that it still has the old token, and none is read. */
function isDoubtful({ proof, incidents = [] }: ObservedPod, now: Date): boolean {
  return proof !== undefined || incidents.some(({ renewedMs }) => now.getTime() < renewedMs);
}

function eventsUnseen({ workload }: WorkloadState): Assessment | undefined {
  return workload.isUnseen === true ? unread(workload, "Events not followed for long enough yet") : undefined;
}

/** Only for a log that has not been read yet. One that cannot be read for longer is one of the problems. */
function logsUnread({ workload }: WorkloadState): Assessment | undefined {
  const isUnread = workload.pods.some(
    pod => isPresent(pod) && pod.readMs === undefined && !pod.unreadable && pod.isNew !== true,
  );
  return isUnread ? unread(workload, "logs not read yet") : undefined;
}

/** Without a number: each log that is read would be a write of status. */
function unread({ view }: WorkloadState["workload"], what: string): Assessment {
  return { status: "Unknown", reason: "ObserveFailed", sentence: `${workloadId(view)}: ${what}.`, isProgressing: true };
}

function accepted({ workload, spec }: WorkloadState): Assessment {
  const { view, pods } = workload;
  const whose = `${workloadId(view)} (${count(countPresent(pods), "pod")})`;
  if (!isLogEvidence(view, spec)) {
    const sentence = `${whose}: no pod is known to have an invalid token; its log is no evidence.`;
    return { status: "True", reason: "Accepted", sentence, isNotable: true };
  }
  const sentence = `${whose}: no pod persistently gets 401 responses.`;
  const partial = pods.find(({ isLogPartial }) => isLogPartial === true);
  if (partial === undefined) return { status: "True", reason: "Accepted", sentence };
  const note = `Part of the log of pod ${partial.view.name} was skipped: it is written faster than it can be read, or the clock of its node was set back.`;
  return { status: "True", reason: "Accepted", sentence: `${sentence} ${note}`, isNotable: true };
}
