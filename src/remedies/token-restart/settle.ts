import { workloadId } from "../../core/text";
import { canBeAgent } from "../../logs/sandboxes";
import { Cause } from "../../api/conditions";
import type { RestartStatus } from "../../api/controller-resilience";
import {
  isPresent,
  type Accused,
  isInPlaceOf,
  isPodPresent,
  isUnproven,
  mayReplace,
  PROVEN_BY_POD,
  isOverdue,
  isWhole,
  settleOpenRestarts,
  UNKNOWN_MS,
} from "../../restarts/history";
import {
  isBySandbox,
  isRejected,
  TOKEN_CAUSES,
  withoutOneSided,
  withoutSandboxes,
  type ObservedPod,
  type ObservedWorkload,
} from "./observed";

// The outcomes of the restarts in status. Pure: history in, history out. The rules for an executed restart differ from those of
// token-lifetime: the pod was rejected, so its restart stays open while the successor is not Ready, which proves nothing about the token.
// Silence proves nothing either: a program that hangs logs no 401.

/** Without an identifiable successor for this long, in milliseconds, the workload was scaled down. */
const NO_SUCCESSOR_MS = 120_000;

/** A successor without a 401 for this long has a valid token, if the old token was proven to be invalid. */
const SETTLED_PROVEN_MS = 30_000;

/** The same if it was not proven: the slowest clients log a 401 every 30 to 60 s. */
const SETTLED_MS = 90_000;

/**
 * A successor of a recreated ServiceAccount has a new token for certain. It works if it has been Ready for this long, and if its log went on
 * without a 401 for {@link WORKING_MS} of it.
 */
const WORKING_SETTLED_MS = 10_000;
const WORKING_MS = 5_000;

type Outcome = RestartStatus["outcome"];

interface Context {
  readonly workload: ObservedWorkload;
  readonly nowMs: number;
  /** Uids of successors that are counted for an earlier restart. */
  readonly taken: Set<string>;
}

/** Updates the outcomes of this remedy's restarts. */
export function settleRestarts(
  history: readonly RestartStatus[],
  workloads: readonly ObservedWorkload[],
  nowMs: number,
): RestartStatus[] {
  const taken = new Set<string>();
  const outcome = (entry: RestartStatus, workload: ObservedWorkload): Outcome =>
    outcomeOf(entry, { workload, nowMs, taken });
  const evidence = { causes: TOKEN_CAUSES, outcomeOf: outcome, accused: workloads.flatMap(accused) };
  const byName = new Map(workloads.map(workload => [workloadId(workload.view), workload]));
  return settleOpenRestarts(history, { ...evidence, workloads: byName }, nowMs);
}

/** A proof is of another incident. */
function accused({ view, pods }: ObservedWorkload): Accused[] {
  const rejected = pods.filter(pod => isRejected(pod) && pod.proof === undefined);
  return rejected.map(pod => {
    const { uid: podUID, createdAtMs, nodeName } = pod.view;
    const cause = isBySandbox(pod) ? Cause.CniCredentialRejected : Cause.Unknown;
    return { workload: workloadId(view), podUID, cause, createdAtMs, nodeName };
  });
}

/**
 * The outcome of an executed restart:
 *
 * - `Restarted`, still: its successor is not Ready, or was never created while the workload lacks a pod, so that it has not been tried.
 * - `Ineffective`: the successor is rejected for the same reason, or until the restart is overdue there is none.
 * - `Recovered`: the successor has been Ready for long enough without a 401 after its first log line, or another incident rejects it after a restart
 *   with proof.
 * - `Replaced`: nothing shows whether it helped. Another incident has hidden that, no pod is missing, the log is empty, or a Ready successor cannot be
 *   observed, or gets a 401 now and then, but none for {@link SETTLED_PROVEN_MS} in the end, although the token of its predecessor was proven to be dead.
 */
function outcomeOf(entry: RestartStatus, context: Context): Outcome {
  const { workload, nowMs } = context;
  const inTheEnd = (outcome: Outcome): Outcome => (isOverdue(entry, workload, nowMs) ? outcome : entry.outcome);
  // Such as one of a DaemonSet with the update strategy OnDelete.
  if (isPodPresent(entry, workload.pods)) return inTheEnd("Ineffective");
  const successor = successorOf(entry, context);
  if (successor === undefined && !isWhole(entry, workload)) return entry.outcome;
  if (successor === undefined) return needsNoSuccessor(entry, context) ? "Replaced" : inTheEnd("Ineffective");
  if (isRejected(successor)) return isOtherIncident(successor, entry) ? overtaken(entry, context) : "Ineffective";
  if (!successor.view.ready) return entry.outcome;
  return effectOn(successor, entry, nowMs) ?? inTheEnd(lastWordOn(successor, entry, nowMs));
}

/** Another incident hides whether a restart without proof has helped. */
function overtaken(entry: RestartStatus, { workload, nowMs }: Context): Outcome {
  if (!isUnproven(entry)) return "Recovered";
  return isOverdue(entry, workload, nowMs) ? "Replaced" : entry.outcome;
}

/** What a Ready successor shows that is not rejected; undefined: nothing yet. */
function effectOn(pod: ObservedPod, entry: RestartStatus, nowMs: number): Outcome | undefined {
  if (!isObservable(pod, entry) || !isQuietSinceReady(withoutOneSided(pod))) return undefined;
  if (isWorking(pod, entry, nowMs) || hasSettled(pod, entry, nowMs)) return "Recovered";
  return pod.firstLineMs === undefined && isOver(SETTLED_MS, readySince(pod), pod, nowMs) ? "Replaced" : undefined;
}

/** What counts for a successor that has shown nothing in the end. A 401, or a failed sandbox, now and then would keep it open for ever. */
function lastWordOn(pod: ObservedPod, entry: RestartStatus, nowMs: number): Outcome {
  const isBlind = !isObservable(pod, entry);
  // It has shown by then all that it will.
  if (!isBlind && !isOver(UNKNOWN_MS, readySince(pod), pod, nowMs)) return entry.outcome;
  const isQuiet = PROVEN_BY_POD.has(entry.cause) && hasSettled(pod, entry, nowMs);
  return isBlind || isQuiet ? "Replaced" : "Ineffective";
}

/** Reports whether a whole workload works, such as one that was scaled down or lost a node. A pod on another node says nothing about it. */
function needsNoSuccessor(entry: RestartStatus, { workload, nowMs }: Context): boolean {
  const heirs = workload.pods.filter(pod => isPresent(pod) && isInPlaceOf(pod.view, entry));
  const works = !heirs.some(pod => isRejected(evidenceOn(pod, entry)));
  return works && nowMs - Date.parse(entry.time) >= NO_SUCCESSOR_MS;
}

/** The oldest pod that may be the successor, with the evidence that counts. */
function successorOf(entry: RestartStatus, { workload, taken }: Context): ObservedPod | undefined {
  const [first] = workload.pods
    .filter(pod => mayReplace(pod, entry) && !taken.has(pod.view.uid))
    .sort(({ view: a }, { view: b }) => a.createdAtMs - b.createdAtMs || (a.uid < b.uid ? -1 : 1));
  if (first !== undefined) taken.add(first.view.uid);
  return first && evidenceOn(first, entry);
}

/** Reports whether a rejected successor is so for a later reason: if it lost its key, it did so in a later rotation. */
function isOtherIncident({ proof }: ObservedPod, { serviceAccountUID }: RestartStatus): boolean {
  const isRecreated = proof?.cause === Cause.ServiceAccountRecreated;
  return proof !== undefined && !(isRecreated && proof.serviceAccountUID === serviceAccountUID);
}

/**
 * Reports whether the evidence of the restart can be observed on the successor: not while the Events of its node, or its log, cannot be
 * read. A successor of a recreated ServiceAccount needs no log: its token is younger than the ServiceAccount.
 */
function isObservable(pod: ObservedPod, entry: RestartStatus): boolean {
  if (entry.cause === Cause.ServiceAccountRecreated) return true;
  return wasBySandbox(entry, pod) ? pod.sandboxes !== undefined : !pod.unreadable;
}

/** Reports whether Events of the node led to the restart, or may have confirmed its proof: no 401 of a container's log did. */
function wasBySandbox({ cause, container }: RestartStatus, { view }: ObservedPod): boolean {
  if (cause === Cause.SigningKeyRotated) return container === undefined && canBeAgent(view);
  return cause === Cause.CniCredentialRejected;
}

/**
 * The evidence that led to the restart, on another pod: that of the same container. Events about sandboxes say nothing about the restart of a pod
 * whose own requests were rejected, and any client can write them.
 */
function evidenceOn(pod: ObservedPod, entry: RestartStatus): ObservedPod {
  if (wasBySandbox(entry, pod)) return pod;
  return withoutSandboxes({ ...pod, ...pod.byContainer?.get(entry.container ?? "") });
}

/** Reports whether this long has passed, and the log was read since. The node's clock stamps the beginning, and may be behind. */
function isOver(forMs: number, fromMs: number, { view, unreadable, readMs = 0 }: ObservedPod, nowMs: number): boolean {
  const ms = Math.max(view.createdAtMs, fromMs) + forMs;
  return nowMs >= ms && (unreadable || readMs >= ms);
}

function hasSettled(pod: ObservedPod, entry: RestartStatus, nowMs: number): boolean {
  // Where there is a log, only its lines show that the program runs. A CNI agent proves itself by new pods on its node.
  const isAgent = wasBySandbox(entry, pod);
  const beganMs = Math.max(readySince(pod), isAgent || pod.unreadable ? 0 : (pod.firstLineMs ?? Infinity));
  return isOver(PROVEN_BY_POD.has(entry.cause) && !isAgent ? SETTLED_PROVEN_MS : SETTLED_MS, beganMs, pod, nowMs);
}

function isWorking(pod: ObservedPod, { cause, serviceAccountUID }: RestartStatus, nowMs: number): boolean {
  const { proof, quiet, unreadable } = pod;
  const isNewToken = cause === Cause.ServiceAccountRecreated && serviceAccountUID !== undefined && proof === undefined;
  if (!isNewToken || quiet === undefined || unreadable) return false;
  const readyMs = readySince(pod);
  const workedMs = quiet.untilMs - Math.max(readyMs, quiet.fromMs);
  return workedMs >= WORKING_MS && isOver(WORKING_SETTLED_MS, readyMs, pod, nowMs);
}

function readySince({ view }: ObservedPod): number {
  return view.readySinceMs ?? view.createdAtMs;
}

function isQuietSinceReady(pod: ObservedPod): boolean {
  const ms = readySince(pod);
  return [pod.logs, pod.sandboxes].every(one => one === undefined || one.state === "quiet" || (one.lastMs ?? 0) < ms);
}
