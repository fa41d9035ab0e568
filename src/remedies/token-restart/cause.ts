import { Cause } from "../../api/conditions";

/** Why this remedy restarts a pod. */
export type TokenCause = Exclude<Cause, "TokenTooLong">;

/** All of them: the restarts in status of which this remedy tells. */
export const TOKEN_CAUSES: readonly Cause[] = Object.values(Cause).filter(cause => cause !== Cause.TokenTooLong);

/** Rejections of different ServiceAccounts that began within this time of each other have one cause. */
const SAME_TIME_MS = 300_000;

/** A rejection that has ended is remembered for this long: a rotated key is healed one workload after the other. */
const REMEMBERED_MS = 3_600_000;

/** Since when the pods of a workload are rejected. */
export interface Onset {
  readonly workload: string;
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly sinceMs: number;
  /** When that was last seen to be so. */
  readonly seenMs: number;
  /** Beyond suspicion: a few 401s happen to anybody. */
  readonly isPersistent: boolean;
}

/** Whether it still counts, though it may be over. Pure. */
export function isRemembered({ seenMs }: Onset, nowMs: number): boolean {
  return nowMs - seenMs < REMEMBERED_MS;
}

/**
 * Onsets as they are now, with those of before: a workload that was healed in the meantime, or whose first 401s have left the
 * window, still tells when it began. Pure.
 */
export function rememberOnsets(before: readonly Onset[], current: readonly Onset[], nowMs: number): Onset[] {
  const recent = before.filter(onset => isRemembered(onset, nowMs));
  const byWorkload = new Map<string, Onset>();
  for (const onset of [...recent, ...current]) {
    // A stray 401 is not the beginning of what becomes persistent half an hour later.
    const key = `${onset.namespace}/${onset.workload}/${onset.serviceAccount}/${onset.isPersistent}`;
    const earlier = byWorkload.get(key);
    byWorkload.set(key, { ...onset, sinceMs: Math.min(onset.sinceMs, earlier?.sinceMs ?? Infinity) });
  }
  return [...byWorkload.values()];
}

/** What is known of a rejected pod. */
export interface Rejection {
  readonly onset: Onset;
  /** The pod is older than its ServiceAccount. */
  readonly isOlder: boolean;
  readonly isServiceAccountMissing: boolean;
}

/**
 * Why a pod's token is rejected; `known` are the rejections that nothing else explains, of every workload that the operator
 * sees, this one among them. Recreated ServiceAccounts explain themselves: two of them at once are one clumsy deployment and no rotated key. Pure.
 */
export function causeOf(rejection: Rejection, known: readonly Onset[]): TokenCause {
  if (rejection.isServiceAccountMissing) return Cause.ServiceAccountMissing;
  if (rejection.isOlder) return Cause.ServiceAccountRecreated;
  const { onset } = rejection;
  const sinceMs = Math.min(onset.sinceMs, ...known.filter(other => isSame(other, onset)).map(other => other.sinceMs));
  const isShared = known.some(
    other =>
      (other.namespace !== onset.namespace || other.serviceAccount !== onset.serviceAccount) &&
      (other.namespace !== onset.namespace || other.workload !== onset.workload) &&
      Math.abs(other.sinceMs - sinceMs) <= SAME_TIME_MS,
  );
  return isShared ? Cause.SigningKeyRotated : Cause.Unknown;
}

/** A stray 401 is not the beginning of what becomes persistent half an hour later. */
function isSame(one: Onset, other: Onset): boolean {
  return (
    one.namespace === other.namespace &&
    one.workload === other.workload &&
    one.serviceAccount === other.serviceAccount &&
    one.isPersistent === other.isPersistent
  );
}
