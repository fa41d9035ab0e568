import { Cause } from "../../api/conditions";
import type { TokenRestartSpec } from "../../api/controller-resilience";
import { KEYS_SETTLE_MS, type KeyRotation } from "../../core/signing-keys";
import type { PodView, ServiceAccountView } from "../../core/views";
import type { BeginTime, LogFinding } from "../../logs/reading/log-watch";
import { EXTENDED_SECONDS } from "../kit/pods";

// Proof without a log line. Pure. A token names the uid of its ServiceAccount and the key that signed it, and the kubelet keeps a pod's token
// for 80 % of its life. A pod that got its token before its ServiceAccount was recreated, or before its key was replaced, has an invalid
// token until then.

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

/** Proof that a pod's token is invalid. */
export interface TokenProof {
  readonly cause: "ServiceAccountRecreated" | "SigningKeyRotated";
  /** Present if the ServiceAccount was recreated: the current one. */
  readonly serviceAccountUID?: string;
  /** Since when the token is invalid, at the latest. 401s since then confirm the proof. */
  readonly sinceMs: number;
  /** The proof is sufficient alone. Otherwise one 401 must confirm it. */
  readonly alone: boolean;
  /** A log shows a healthy client. */
  readonly isContradicted?: boolean;
}

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

/** What may have made a token of a pod invalid, and when 401s because of it begin. */
export interface Incident extends BeginTime {
  /** The kubelet has renewed a token from before by this time. When exactly is unknown, since its refreshes drift. */
  readonly renewedMs: number;
  /** Absent: the kubelet may have renewed the token. */
  readonly proof?: TokenProof;
  /** No restart before this time: the change may still be undone. */
  readonly notBeforeMs: number;
}

/** A change that makes tokens from before it invalid, what it proves, and when 401s because of it begin at the earliest. */
interface Change extends Pick<Incident, "fromMs" | "notBeforeMs"> {
  readonly beforeMs: number;
  readonly proof: TokenProof;
}

/** Returns what may have made a token of this pod invalid. It may use that token for ever, since not every client reads a new one. */
export function incidentsOf(
  pod: PodView,
  account: KnownAccount | null | undefined,
  { spec, rotation, nowMs }: ProofContext,
): Incident[] {
  const byAge = account && spec.evidence.includes("ServiceAccountAge") ? [recreated(pod, account, nowMs)] : [];
  const changes = [...byAge, ...(rotation === undefined ? [] : [rotated(rotation)])];
  return changes.flatMap(({ beforeMs, fromMs, notBeforeMs, proof }) => {
    if (!hadTokenBefore(pod, beforeMs)) return [];
    const nextMs = refreshedMs(pod, beforeMs);
    const untilMs = Math.max(nextMs, proof.sinceMs + BEGUN_WITHIN_MS);
    const renewedMs = beforeMs + refreshInterval(pod) + REFRESH_SLACK_MS;
    return { fromMs, untilMs, renewedMs, notBeforeMs, ...(nowMs < nextMs && { proof }) };
  });
}

function recreated(pod: PodView, { uid, createdAtMs, sinceOtherMs = Infinity }: KnownAccount, nowMs: number): Change {
  const isFirstToken = nowMs < firstToken(pod) + refreshInterval(pod);
  const ageMs = nowMs - createdAtMs;
  // A cache may show the other one for minutes after its end.
  const isDue = ageMs >= ALONE_AFTER_MS && (isFirstToken || Math.max(ageMs, sinceOtherMs) < ALONE_UNTIL_MS);
  const isKnownBefore = (pod.volumesReadyMs ?? earliestTime(pod)) < createdAtMs - ALONE_CLOCK_SKEW_MS;
  const alone = pod.mountsToken === true && pod.phase === "Running" && isDue && isKnownBefore;
  const proof = { cause: Cause.ServiceAccountRecreated, serviceAccountUID: uid, sinceMs: createdAtMs, alone };
  return { beforeMs: createdAtMs, fromMs: createdAtMs - EARLY_MS, notBeforeMs: -Infinity, proof };
}

/**
 * The signing key of older tokens is gone. A 401 must confirm it, since other parts of the control plane may still accept the key, and the change
 * must last, since a wrong key file looks the same until it is corrected.
 */
function rotated({ beforeMs, changedMs, unchangedMs }: KeyRotation): Change {
  const proof = { cause: Cause.SigningKeyRotated, sinceMs: changedMs, alone: false };
  const fromMs = Math.min(unchangedMs, changedMs - EARLY_MS);
  return { beforeMs, fromMs, notBeforeMs: changedMs + KEYS_SETTLE_MS, proof };
}

/**
 * Weakens the proof when every log shows a healthy client, or may show it once it is read: a 401 must then confirm it. A container that logs nothing may
 * be the client. Logs of sidecars show nothing.
 */
export function weighLogs(proof: TokenProof, logs: readonly Pick<LogFinding, "quiet" | "isRead">[]): TokenProof {
  const isHealthy = logs.every(
    ({ quiet: { fromMs, untilMs } }) => untilMs - Math.max(fromMs, proof.sinceMs) >= HEALTHY_AFTER_MS,
  );
  if (isHealthy && logs.length > 0) return { ...proof, alone: false, isContradicted: true };
  return logs.every(({ isRead }) => isRead) ? proof : { ...proof, alone: false };
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
  const lifeMs = (pod.tokenExpirationSeconds ?? EXTENDED_SECONDS) * 1000;
  return Math.min(lifeMs * REFRESHED_AT, OLDEST_TOKEN_MS);
}
