import type { ContainerView, PodView, ServiceAccountView } from "../../core/views";

// Proof without a log line. A token names the uid of its ServiceAccount, and the kubelet keeps a pod's token until 80 % of
// its life are over: so a pod that got its token before its ServiceAccount was created anew holds a dead one until then.

/** Life of the token that admission injects, in seconds. The API server lets it live for a year, but the kubelet refreshes by this. */
const DEFAULT_EXPIRATION_SECONDS = 3607;

/** Share of its life after which the kubelet fetches a new token. */
const REFRESHED_AT = 0.8;

/** After that, the kubelet takes up to so long to notice (it looks when it syncs the pod) and the client to read the file. */
const REFRESH_SLACK_MS = 180_000;

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
  if (!hadTokenBefore(pod, sinceMs) || mayBeRefreshed(pod, sinceMs, nowMs)) return undefined;
  const alone = pod.mountsToken === true && pod.phase === "Running" && nowMs - sinceMs >= CONDEMNED_ALONE_AFTER_MS;
  return { serviceAccountUID: serviceAccount.uid, sinceMs, alone };
}

/** A pod that waited for its node or its volumes until the ServiceAccount was there again got a good token. */
function hadTokenBefore(pod: PodView, ms: number): boolean {
  const signsOfLife = [pod.volumesReadyMs, ...pod.containers.flatMap(container => knownTimes(container))];
  const earliestMs = Math.min(...signsOfLife.filter(at => at !== undefined));
  if (earliestMs < ms) return true;
  // Nothing tells when a container that has been restarted was started first.
  const isFirstLife = pod.containers.every(container => container.restartCount === 0);
  return pod.volumesReadyMs === undefined && (!isFirstLife || earliestMs === Infinity);
}

function knownTimes(container: ContainerView): (number | undefined)[] {
  return [container.startedAtMs, container.lastFinishedAtMs];
}

function mayBeRefreshed(pod: PodView, sinceMs: number, nowMs: number): boolean {
  const refreshMs = (pod.tokenExpirationSeconds ?? DEFAULT_EXPIRATION_SECONDS) * 1000 * REFRESHED_AT;
  if (nowMs >= sinceMs + refreshMs) return true;
  // When a pod's first token is refreshed is known; later refreshes drift by the kubelet's pace.
  const firstRefreshMs = pod.volumesReadyMs === undefined ? Infinity : pod.volumesReadyMs + refreshMs;
  return firstRefreshMs > sinceMs && nowMs >= firstRefreshMs + REFRESH_SLACK_MS;
}
