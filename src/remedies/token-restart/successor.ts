import { Cause } from "../../api/conditions";
import type { RestartStatus } from "../../api/controller-resilience";
import { isRejected, withoutOneSided, withoutSandboxes, type ObservedPod } from "./observed";

// Whether the pod that replaced a rejected one works. Pure. Silence proves nothing: a program that hangs logs no 401 either.

/** A successor without a 401 for this long has a valid token, if the old token was proven to be invalid. */
const SETTLED_PROVEN_MS = 30_000;
const PROVEN: ReadonlySet<string> = new Set([Cause.ServiceAccountRecreated, Cause.SigningKeyRotated]);

/**
 * A successor of a recreated ServiceAccount has a new token for certain. It works if it has been Ready for this long, and if its log went on
 * without a 401 for {@link WORKING_MS} of it.
 */
const WORKING_SETTLED_MS = 10_000;
const WORKING_MS = 5_000;

/** The same if it was not proven: the slowest clients log a 401 every 30 to 60 s. */
const SETTLED_MS = 90_000;

/**
 * - `accepted`: Ready, and for long enough without a 401 after its first log line.
 * - `silent`: Ready for long enough, and its log is empty.
 * - `undecided`: everything else.
 */
export type Verdict = "accepted" | "silent" | "undecided";

/** Judges a pod after a restart. A pod that another incident rejected was accepted before. */
export function judge(pod: ObservedPod, entry: RestartStatus, nowMs: number): Verdict {
  if (isRejectedFor(pod, entry)) return "accepted";
  if (!pod.view.ready || !isObservable(pod, entry) || !isQuietSince(withoutOneSided(evidenceOn(pod, entry)), pod))
    return "undecided";
  if (isWorking(pod, entry, nowMs) || hasSettled(pod, entry, nowMs)) return "accepted";
  const isSilent = pod.firstLineMs === undefined && hasPassed(readySince(pod) + SETTLED_MS, pod, nowMs);
  return isSilent ? "silent" : "undecided";
}

/** Reports whether the evidence of a restart is there again, on any pod. */
export function isRejectedFor(pod: ObservedPod, entry: RestartStatus): boolean {
  return isRejected(evidenceOn(pod, entry));
}

/** Reports whether the successor is rejected for the reason of the restart, not for a later one. */
export function isRejectedAgain(pod: ObservedPod, entry: RestartStatus): boolean {
  const { proof } = pod;
  // A token of a successor that lost its key did so in a later rotation.
  const isOtherIncident =
    proof !== undefined &&
    (proof.cause !== Cause.ServiceAccountRecreated || proof.serviceAccountUID !== entry.serviceAccountUID);
  return isRejectedFor(pod, entry) && !isOtherIncident;
}

/**
 * Reports whether the evidence of the restart can be observed on the successor: not while the Events of its node, or its log, cannot be
 * read. A successor of a recreated ServiceAccount needs no log: its token is younger than the ServiceAccount.
 */
export function isObservable({ sandboxes, unreadable }: ObservedPod, { cause }: RestartStatus): boolean {
  if (cause === Cause.CniCredentialRejected) return sandboxes !== undefined;
  return cause === Cause.ServiceAccountRecreated || !unreadable;
}

/** Events about sandboxes say nothing about the restart of a pod whose own requests were rejected, and any client can write them. */
function evidenceOn(pod: ObservedPod, { cause }: RestartStatus): ObservedPod {
  return cause === Cause.CniCredentialRejected ? pod : withoutSandboxes(pod);
}

/** Where there is a log, only its lines show that the program runs. A CNI agent proves itself by new pods on its node. */
function needsLog({ unreadable }: ObservedPod, { cause }: RestartStatus): boolean {
  return cause !== Cause.CniCredentialRejected && !unreadable;
}

/** Reports whether this time has passed, and the log was read since. */
function hasPassed(ms: number, { unreadable, readMs = -Infinity }: ObservedPod, nowMs: number): boolean {
  return nowMs >= ms && (unreadable || readMs >= ms);
}

function hasSettled(pod: ObservedPod, entry: RestartStatus, nowMs: number): boolean {
  const beganMs = needsLog(pod, entry) ? firstSign(pod) : readySince(pod);
  const settleMs = PROVEN.has(entry.cause) ? SETTLED_PROVEN_MS : SETTLED_MS;
  return hasPassed(beganMs + settleMs, pod, nowMs);
}

function isWorking(pod: ObservedPod, { cause, serviceAccountUID }: RestartStatus, nowMs: number): boolean {
  const { proof, quiet, unreadable } = pod;
  const isNewToken = cause === Cause.ServiceAccountRecreated && serviceAccountUID !== undefined && proof === undefined;
  if (!isNewToken || quiet === undefined || unreadable) return false;
  const readyMs = readySince(pod);
  const workedMs = quiet.untilMs - Math.max(readyMs, quiet.fromMs);
  return workedMs >= WORKING_MS && hasPassed(readyMs + WORKING_SETTLED_MS, pod, nowMs);
}

/** Infinity without a log line. */
function firstSign(pod: ObservedPod): number {
  return Math.max(readySince(pod), pod.firstLineMs ?? Infinity);
}

function readySince({ view }: ObservedPod): number {
  return view.readySinceMs ?? view.createdAtMs;
}

function isQuietSince({ logs, sandboxes }: Pick<ObservedPod, "logs" | "sandboxes">, pod: ObservedPod): boolean {
  const ms = readySince(pod);
  return [logs, sandboxes].every(one => one === undefined || one.state === "quiet" || (one.lastMs ?? 0) < ms);
}
