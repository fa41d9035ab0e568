import { Cause } from "../../api/conditions";
import type { ContainerView, PodView, ServiceAccountView } from "../../core/views";
import type { QuietTime } from "../../logs/reading/watched-log";
import type { Recreation, TokenProof } from "./token-proof";

// Proof without a log line. A token names the uid of its ServiceAccount, and the kubelet keeps a pod's token for 80 % of its life. A pod that
// got its token before its ServiceAccount was recreated has an invalid token until then.

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
 * Later refreshes drift, so the time of an older pod's next refresh is unknown. Such a pod is rejected without a log line only for this long
 * after the ServiceAccount was created, while hardly any token was refreshed.
 */
const ALONE_UNTIL_MS = 600_000;

/** A log that continues without a 401 for this long since the ServiceAccount was created belongs to a healthy client. */
const HEALTHY_AFTER_MS = 300_000;

/** This long after the ServiceAccount was created, a running pod is rejected without a log line. */
const ALONE_AFTER_MS = 60_000;

/** Proof that a pod's token names a deleted ServiceAccount. */
export interface AgeProof extends TokenProof {
  /** The current ServiceAccount, which is younger than the pod's token. */
  readonly serviceAccountUID: string;
}

/** Returns the proof if the pod is older than its ServiceAccount and its token cannot have been refreshed yet. Pure. */
export function proveByAge(pod: PodView, serviceAccount: ServiceAccountView, nowMs: number): AgeProof | undefined {
  const sinceMs = serviceAccount.createdAtMs;
  if (!holdsTokenFromBefore(pod, sinceMs, nowMs)) return undefined;
  const isDue = nowMs - sinceMs >= ALONE_AFTER_MS && hasFirstTokenOrIsEarly(pod, sinceMs, nowMs);
  const alone = pod.mountsToken === true && pod.phase === "Running" && isDue && isKnownBefore(pod, sinceMs);
  return { cause: Cause.ServiceAccountRecreated, serviceAccountUID: serviceAccount.uid, sinceMs, alone };
}

/** Returns what recreated the ServiceAccount since the pod was created; undefined if nothing did. Pure. */
export function recreationOf(pod: PodView, { createdAtMs, hook }: ServiceAccountView): Recreation | undefined {
  if (pod.createdAtMs >= createdAtMs) return undefined;
  return { ...(hook && { hook }) };
}

/** Reports whether the pod certainly holds a token that was issued before this time. Pure. */
export function holdsTokenFromBefore(pod: PodView, ms: number, nowMs: number): boolean {
  // The API server keeps whole seconds, so equal times prove nothing.
  if (pod.mountsToken === false || pod.createdAtMs >= ms) return false;
  return hadTokenBefore(pod, ms) && !wasRefreshed(pod, ms, nowMs);
}

/** Weakens the proof when a log shows a healthy client: a 401 must then confirm it. Pure. */
export function weighLogs(proof: TokenProof, quietTimes: readonly QuietTime[]): TokenProof {
  const isHealthy = quietTimes.some(
    ({ fromMs, untilMs }) => untilMs - Math.max(fromMs, proof.sinceMs) >= HEALTHY_AFTER_MS,
  );
  return isHealthy ? { ...proof, alone: false, isContradicted: true } : proof;
}

/** Reports false for a pod that waited for its node or its volumes until the ServiceAccount existed again: its token is valid. */
function hadTokenBefore(pod: PodView, ms: number): boolean {
  // Volumes that became ready (again) later may hold a new token, even if containers ran before.
  if (pod.volumesReadyMs !== undefined) return pod.volumesReadyMs < ms;
  const earliestMs = earliestTime(pod);
  if (earliestMs < ms) return true;
  // The first start of a restarted container is unknown.
  return earliestMs === Infinity || pod.containers.some(container => container.restartCount > 0);
}

function isKnownBefore(pod: PodView, ms: number): boolean {
  return (pod.volumesReadyMs ?? earliestTime(pod)) < ms - ALONE_CLOCK_SKEW_MS;
}

/** First timestamp of the kubelet. */
function earliestTime({ volumesReadyMs, containers }: PodView): number {
  const times = [volumesReadyMs, ...containers.flatMap(container => knownTimes(container))];
  return Math.min(...times.filter(at => at !== undefined));
}

function knownTimes(container: ContainerView): (number | undefined)[] {
  return [container.startedAtMs, container.lastFinishedAtMs];
}

/** Reports whether a refresh was due since this time, or so shortly before that it may have been later. */
function wasRefreshed(pod: PodView, sinceMs: number, nowMs: number): boolean {
  const everyMs = refreshInterval(pod);
  return nowMs >= firstToken(pod) + everyMs * nextRefresh(firstToken(pod), everyMs, sinceMs);
}

/** Number of the first refresh that, with its slack, ends after that time. */
function nextRefresh(firstMs: number, everyMs: number, ms: number): number {
  return Math.max(1, Math.floor((ms - REFRESH_SLACK_MS - firstMs) / everyMs) + 1);
}

/** The first token is certainly the invalid one. A later token is probably invalid, for a short time. */
function hasFirstTokenOrIsEarly(pod: PodView, sinceMs: number, nowMs: number): boolean {
  return nowMs < firstToken(pod) + refreshInterval(pod) || nowMs - sinceMs < ALONE_UNTIL_MS;
}

function firstToken(pod: PodView): number {
  return pod.volumesReadyMs ?? pod.createdAtMs;
}

function refreshInterval(pod: PodView): number {
  const lifeMs = (pod.tokenExpirationSeconds ?? DEFAULT_EXPIRATION_SECONDS) * 1000;
  return Math.min(lifeMs * REFRESHED_AT, OLDEST_TOKEN_MS);
}
