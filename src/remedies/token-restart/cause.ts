import { Cause } from "../../api/conditions";

/** Why this remedy restarts a pod. */
export type TokenCause = Exclude<Cause, "TokenTooLong" | "LeaseNotRenewed">;

/** All causes of this remedy: it settles the restarts in status with these causes. */
export const TOKEN_CAUSES: readonly Cause[] = Object.values(Cause).filter(
  cause => cause !== Cause.TokenTooLong && cause !== Cause.LeaseNotRenewed,
);

/** Rejections of different ServiceAccounts that began within this time of each other probably have one cause. */
export const SAME_TIME_MS = 300_000;

/** A rejection that has ended is remembered for this long: after a key rotation, workloads are healed one after the other. */
const REMEMBERED_MS = 3_600_000;

/** When the rejections of a workload's pods began. */
export interface Onset {
  readonly workload: string;
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly sinceMs: number;
  /** Time of the last observation. */
  readonly seenMs: number;
  /** False: a few 401s, which are normal. */
  readonly isPersistent: boolean;
  /** The rejections may have begun before `sinceMs`: the log was not read further back. So nothing began together with them. */
  readonly isStartUnknown?: boolean;
}

/** Reports whether an onset still counts, even if the rejection has ended. Pure. */
export function isRemembered({ seenMs }: Onset, nowMs: number): boolean {
  return nowMs - seenMs < REMEMBERED_MS;
}

/**
 * Merges current onsets with remembered ones. The earliest start is kept, also after the workload was healed or its first 401s have left
 * the window. Pure.
 */
export function rememberOnsets(before: readonly Onset[], current: readonly Onset[], nowMs: number): Onset[] {
  const recent = before.filter(onset => isRemembered(onset, nowMs));
  const byWorkload = new Map<string, Onset>();
  for (const onset of [...recent, ...current]) {
    // A stray 401 is not the start of a persistent rejection half an hour later.
    const key = `${onset.namespace}/${onset.workload}/${onset.serviceAccount}/${onset.isPersistent}`;
    const earlier = byWorkload.get(key);
    const first = earlier !== undefined && earlier.sinceMs <= onset.sinceMs ? earlier : onset;
    byWorkload.set(key, { ...first, seenMs: onset.seenMs });
  }
  return [...byWorkload.values()];
}

/** A rejected pod. */
export interface Rejection {
  readonly onset: Onset;
  /** Why the token is invalid, if that is proven. */
  readonly proven?: TokenCause | undefined;
  readonly isServiceAccountMissing: boolean;
}

/**
 * Returns the cause of a rejection. `known` are the unexplained rejections of every workload that the operator watches, including this one.
 * Proven causes explain themselves: two ServiceAccounts that were recreated at the same time are one deployment. Pure.
 */
export function causeOf(rejection: Rejection, known: readonly Onset[]): TokenCause {
  if (rejection.isServiceAccountMissing) return Cause.ServiceAccountMissing;
  if (rejection.proven !== undefined) return rejection.proven;
  const { onset } = rejection;
  const own = known.filter(other => isSame(other, onset));
  if (own.some(({ isStartUnknown }) => isStartUnknown)) return Cause.Unknown;
  const sinceMs = Math.min(onset.sinceMs, ...own.map(other => other.sinceMs));
  const isShared = known.some(
    other =>
      // A stray 401 elsewhere is normal, and nearly always there.
      other.isPersistent &&
      other.isStartUnknown !== true &&
      (other.namespace !== onset.namespace || other.serviceAccount !== onset.serviceAccount) &&
      (other.namespace !== onset.namespace || other.workload !== onset.workload) &&
      Math.abs(other.sinceMs - sinceMs) <= SAME_TIME_MS,
  );
  return isShared ? Cause.RejectedTogether : Cause.Unknown;
}

/** A stray 401 is not the start of a persistent rejection half an hour later. */
function isSame(one: Onset, other: Onset): boolean {
  return (
    one.namespace === other.namespace &&
    one.workload === other.workload &&
    one.serviceAccount === other.serviceAccount &&
    one.isPersistent === other.isPersistent
  );
}
