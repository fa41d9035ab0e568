import { Cause } from "../../api/conditions";
import type { TokenRestartSpec } from "../../api/controller-resilience";
import { KEYS_SETTLE_MS, type KeyRotation } from "../../core/signing-keys";
import type { PodView, ServiceAccountView } from "../../core/views";
import type { BeginTime, QuietTime } from "../../logs/reading/log-watch";
import type { Recreation, TokenProof } from "./observed";

// Proof without a log line. Pure. A token names the uid of its ServiceAccount and the key that signed it, and the kubelet keeps a pod's token
// for 80 % of its life. A pod that got its token before its ServiceAccount was recreated, or before its key was replaced, has an invalid
// token until then.

/** Life of the token that admission injects, in seconds. The API server extends it to a year, but the kubelet refreshes by this value. */
const DEFAULT_EXPIRATION_SECONDS = 3607;

/** Share of its life after which the kubelet fetches a new token. */
const REFRESHED_AT = 0.8;

/** The kubelet replaces every token that is a day old, however long it lives (maxTTL of its token manager). */
const OLDEST_TOKEN_MS = 86_400_000;

/** Additional time for the kubelet to notice (it checks when it syncs the pod) and for the client to read the file. */
const REFRESH_SLACK_MS = 180_000;

/**
 * Timestamps of the kubelet are compared with those of the API server, and the clock of a node may be off by this much. The margin is required
 * where these times are the only evidence. With a 401 as well, any margin is enough.
 */
const ALONE_CLOCK_SKEW_MS = 30_000;

/**
 * Later refreshes drift, so the time of an older pod's next refresh is unknown; one that was due while the ServiceAccount was missing follows
 * once it is back. Such a pod is rejected without a log line only for this long after its own ServiceAccount was last seen, while hardly any
 * token was refreshed.
 */
const ALONE_UNTIL_MS = 600_000;

/** This long after the ServiceAccount was created, a running pod is rejected without a log line. */
const ALONE_AFTER_MS = 60_000;

/** A log that continues without a 401 for this long since the ServiceAccount was created belongs to a healthy client. */
const HEALTHY_AFTER_MS = 300_000;

/**
 * An object with pods has a pass at least this often, in milliseconds, so that the published keys are followed.
 * It is longer than the time between two full passes by default.
 */
export const KEYS_RECHECK_MS = 70_000;

/** 401s may begin so long before a proof, in milliseconds: a ServiceAccount is gone before it is created again, and clocks differ. */
const EARLY_MS = 120_000;

/** The kubelet remembers for two minutes that a token was valid, and agents ask it every minute: 401s begin within this, in milliseconds. */
const BEGUN_WITHIN_MS = 300_000;

/** A ServiceAccount, and how long ago one of another uid was last seen in its place, in milliseconds. Absent: unknown, as to a new leader. */
export interface KnownAccount extends ServiceAccountView {
  readonly sinceOtherMs?: number;
}

/** What a proof is made from. */
export interface ProofContext {
  readonly spec: Pick<TokenRestartSpec, "evidence">;
  readonly rotation: KeyRotation | undefined;
  readonly nowMs: number;
}

/** Returns the proof that the token of a pod is invalid, if there is one. */
export function proofOf(
  pod: PodView,
  account: KnownAccount | null | undefined,
  { spec, rotation, nowMs }: ProofContext,
): TokenProof | undefined {
  const byAge = account && spec.evidence.includes("ServiceAccountAge") ? proveByAge(pod, account, nowMs) : undefined;
  return byAge ?? proveByKeys(pod, rotation, nowMs);
}

/** What may have made a token of a pod invalid, and when 401s because of it begin. */
export interface Incident extends BeginTime {
  /** The kubelet has renewed a token from before by this time. When exactly is unknown, since its refreshes drift. */
  readonly renewedMs: number;
  /** No restart before this time: the change may still be undone. */
  readonly notBeforeMs: number;
}

/** Returns what may have made a token of this pod invalid. It may use that token for ever, since not every client reads a new one. */
export function incidentsOf(
  pod: PodView,
  account: ServiceAccountView | null | undefined,
  { spec, rotation }: Pick<ProofContext, "spec" | "rotation">,
): Incident[] {
  const incidents: Incident[] = [];
  const add = (beforeMs: number, fromMs: number, sinceMs: number, notBeforeMs = -Infinity): void => {
    if (!hadTokenBefore(pod, beforeMs)) return;
    const untilMs = Math.max(refreshedMs(pod, beforeMs), sinceMs + BEGUN_WITHIN_MS);
    incidents.push({ fromMs, untilMs, renewedMs: beforeMs + refreshInterval(pod) + REFRESH_SLACK_MS, notBeforeMs });
  };
  if (account && spec.evidence.includes("ServiceAccountAge"))
    add(account.createdAtMs, account.createdAtMs - EARLY_MS, account.createdAtMs);
  if (rotation === undefined) return incidents;
  const { beforeMs, changedMs } = rotation;
  add(beforeMs, keysEarliestMs(rotation), changedMs, changedMs + KEYS_SETTLE_MS);
  return incidents;
}

/** Returns the proof if the pod is older than its ServiceAccount and its token cannot have been refreshed yet. */
export function proveByAge(
  pod: PodView,
  { uid, createdAtMs, sinceOtherMs = Infinity }: KnownAccount,
  nowMs: number,
): TokenProof | undefined {
  if (!holdsTokenFromBefore(pod, createdAtMs, nowMs)) return undefined;
  const isFirstToken = nowMs < firstToken(pod) + refreshInterval(pod);
  const isDue = nowMs - createdAtMs >= ALONE_AFTER_MS && (isFirstToken || sinceOtherMs < ALONE_UNTIL_MS);
  const isKnownBefore = (pod.volumesReadyMs ?? earliestTime(pod)) < createdAtMs - ALONE_CLOCK_SKEW_MS;
  const alone = pod.mountsToken === true && pod.phase === "Running" && isDue && isKnownBefore;
  return { cause: Cause.ServiceAccountRecreated, serviceAccountUID: uid, sinceMs: createdAtMs, alone };
}

/**
 * Returns the proof if the pod holds a token whose signing key is gone. A 401 must confirm it, since other parts of the control plane may
 * still accept the key, and the change must last, since a wrong key file looks the same until it is corrected.
 */
function proveByKeys(pod: PodView, rotation: KeyRotation | undefined, nowMs: number): TokenProof | undefined {
  if (rotation === undefined || !holdsTokenFromBefore(pod, rotation.beforeMs, nowMs)) return undefined;
  const { changedMs } = rotation;
  return {
    cause: Cause.SigningKeyRotated,
    ...{ sinceMs: changedMs, notBeforeMs: changedMs + KEYS_SETTLE_MS },
    alone: false,
  };
}

function keysEarliestMs({ changedMs, unchangedMs }: KeyRotation): number {
  return Math.min(unchangedMs, changedMs - EARLY_MS);
}

/** Returns what recreated the ServiceAccount since the pod was created; undefined if nothing did. */
export function recreationOf(pod: PodView, account: ServiceAccountView): Recreation | undefined {
  return pod.createdAtMs >= account.createdAtMs ? undefined : account;
}

/**
 * Weakens the proof when every log shows a healthy client: a 401 must then confirm it. A container that logs nothing may be the client. Logs of
 * sidecars show nothing.
 */
export function weighLogs(proof: TokenProof, quietTimes: readonly QuietTime[]): TokenProof {
  const isHealthy = quietTimes.every(
    ({ fromMs, untilMs }) => untilMs - Math.max(fromMs, proof.sinceMs) >= HEALTHY_AFTER_MS,
  );
  return isHealthy && quietTimes.length > 0 ? { ...proof, alone: false, isContradicted: true } : proof;
}

/** Reports whether the pod certainly holds a token that was issued before this time. */
function holdsTokenFromBefore(pod: PodView, ms: number, nowMs: number): boolean {
  return hadTokenBefore(pod, ms) && nowMs < refreshedMs(pod, ms);
}

/** Reports false for a pod that mounts none, or that waited for its node or its volumes until that time: its token is valid. */
function hadTokenBefore(pod: PodView, ms: number): boolean {
  // The API server keeps whole seconds, so equal times prove nothing.
  if (pod.mountsToken === false || pod.createdAtMs >= ms) return false;
  // Volumes that became ready (again) later may hold a new token, even if containers ran before.
  if (pod.volumesReadyMs !== undefined) return pod.volumesReadyMs < ms;
  const earliestMs = earliestTime(pod);
  if (earliestMs < ms) return true;
  // The first start of a restarted container is unknown.
  return earliestMs === Infinity || pod.containers.some(container => container.restartCount > 0);
}

/** First timestamp of the kubelet. */
function earliestTime({ volumesReadyMs, containers }: PodView): number {
  const times = containers.flatMap(({ startedAtMs, lastFinishedAtMs }) => [startedAtMs, lastFinishedAtMs]);
  return Math.min(...[volumesReadyMs, ...times].filter(at => at !== undefined));
}

/** When the first refresh since this time was due, or one so shortly before that it may have been later. */
function refreshedMs(pod: PodView, sinceMs: number): number {
  const [firstMs, everyMs] = [firstToken(pod), refreshInterval(pod)];
  // The first refresh that, with its slack, ends after that time.
  const next = Math.max(1, Math.floor((sinceMs - REFRESH_SLACK_MS - firstMs) / everyMs) + 1);
  return firstMs + everyMs * next;
}

function firstToken(pod: PodView): number {
  return pod.volumesReadyMs ?? pod.createdAtMs;
}

function refreshInterval(pod: PodView): number {
  const lifeMs = (pod.tokenExpirationSeconds ?? DEFAULT_EXPIRATION_SECONDS) * 1000;
  return Math.min(lifeMs * REFRESHED_AT, OLDEST_TOKEN_MS);
}
