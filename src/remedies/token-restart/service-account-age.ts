import type { ContainerView, PodView, ServiceAccountView } from "../../core/views";
import type { QuietTime } from "../../logs/reading/log-watch";

// Proof without a log line. A token names the uid of its ServiceAccount, and the kubelet keeps a pod's token until 80 % of
// its life are over: so a pod that got its token before its ServiceAccount was created anew holds a dead one until then.

/** Life of the token that admission injects, in seconds. The API server lets it live for a year, but the kubelet refreshes by this. */
const DEFAULT_EXPIRATION_SECONDS = 3607;

/** Share of its life after which the kubelet fetches a new token. */
const REFRESHED_AT = 0.8;

/** However long a token lives, the kubelet replaces one that is a day old (its token manager's maxTTL). */
const OLDEST_TOKEN_MS = 86_400_000;

/** After that, the kubelet takes up to so long to notice (it looks when it syncs the pod) and the client to read the file. */
const REFRESH_SLACK_MS = 180_000;

/**
 * What the kubelet stamps is compared with what the API server stamps, and a node's clock may be off by this much. It is asked
 * for where nothing but these times speaks against a pod. Where a 401 does too, any margin will do.
 */
const ALONE_CLOCK_SKEW_MS = 30_000;

/**
 * Later refreshes drift by the kubelet's pace, so that nothing tells any more when an older pod's is due. Without a line
 * in its log it is condemned for so long after the ServiceAccount was created, while hardly any was refreshed.
 */
const ALONE_UNTIL_MS = 600_000;

/** A log that was seen to go on without a 401 for this long since the ServiceAccount was created is a client's that is well. */
const WELL_AFTER_MS = 300_000;

/** So long after the ServiceAccount was created, a running pod is condemned even without a line in its log. */
const CONDEMNED_ALONE_AFTER_MS = 60_000;

/** That a pod's token names a ServiceAccount that is gone. */
export interface AgeProof {
  /** The ServiceAccount that the pod can't know. */
  readonly serviceAccountUID: string;
  /** When that was created: 401s since then are the proof's confirmation. */
  readonly sinceMs: number;
  /** Nothing more is needed; before that, a first 401 is. */
  readonly alone: boolean;
}

/** The proof, if the pod is older than its ServiceAccount and its token can't have been refreshed yet. Pure. */
export function proveByAge(pod: PodView, serviceAccount: ServiceAccountView, nowMs: number): AgeProof | undefined {
  const sinceMs = serviceAccount.createdAtMs;
  // The API server keeps whole seconds, so equal ones prove nothing.
  if (pod.mountsToken === false || pod.createdAtMs >= sinceMs) return undefined;
  if (!hadTokenBefore(pod, sinceMs) || wasRefreshed(pod, sinceMs, nowMs)) return undefined;
  const isDue = nowMs - sinceMs >= CONDEMNED_ALONE_AFTER_MS && hasFirstTokenOrIsEarly(pod, sinceMs, nowMs);
  const alone = pod.mountsToken === true && pod.phase === "Running" && isDue && isKnownBefore(pod, sinceMs);
  return { serviceAccountUID: serviceAccount.uid, sinceMs, alone };
}

/** The proof after a look at the logs: one that goes on and is well since condemns nobody without a 401. Pure. */
export function weighLogs(proof: AgeProof, quietTimes: readonly QuietTime[]): AgeProof {
  const isWell = quietTimes.some(({ fromMs, untilMs }) => untilMs - Math.max(fromMs, proof.sinceMs) >= WELL_AFTER_MS);
  return isWell ? { ...proof, alone: false } : proof;
}

/** A pod that waited for its node or its volumes until the ServiceAccount was there again got a good token. */
function hadTokenBefore(pod: PodView, ms: number): boolean {
  // Volumes that became ready (again) since may hold a new token, whatever containers did before.
  if (pod.volumesReadyMs !== undefined) return pod.volumesReadyMs < ms;
  const earliestMs = earliestSign(pod);
  if (earliestMs < ms) return true;
  // Nothing tells when a container that has been restarted was started first.
  return earliestMs === Infinity || pod.containers.some(container => container.restartCount > 0);
}

function isKnownBefore(pod: PodView, ms: number): boolean {
  return (pod.volumesReadyMs ?? earliestSign(pod)) < ms - ALONE_CLOCK_SKEW_MS;
}

/** The first sign of life that the kubelet stamped. */
function earliestSign({ volumesReadyMs, containers }: PodView): number {
  const signs = [volumesReadyMs, ...containers.flatMap(container => knownTimes(container))];
  return Math.min(...signs.filter(at => at !== undefined));
}

function knownTimes(container: ContainerView): (number | undefined)[] {
  return [container.startedAtMs, container.lastFinishedAtMs];
}

/** Whether a refresh was due since the ServiceAccount was created, or so shortly before that it may have come after. */
function wasRefreshed(pod: PodView, sinceMs: number, nowMs: number): boolean {
  const everyMs = refreshInterval(pod);
  return nowMs >= firstToken(pod) + everyMs * nextRefresh(firstToken(pod), everyMs, sinceMs);
}

/** The number of the first refresh that, with its slack, ends after that time. */
function nextRefresh(firstMs: number, everyMs: number, ms: number): number {
  return Math.max(1, Math.floor((ms - REFRESH_SLACK_MS - firstMs) / everyMs) + 1);
}

/** Its token is surely the dead one while it is on its first; on a later one it is likely to be, shortly after. */
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
