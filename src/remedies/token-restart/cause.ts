import { Cause } from "../../api/conditions";

/** Rejections of different ServiceAccounts that began within this time of each other have one cause. */
const SAME_TIME_MS = 300_000;

/** Since when the pods of a workload are rejected. */
export interface Onset {
  readonly workload: string;
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly sinceMs: number;
}

/** What is known of a rejected pod. */
export interface Rejection {
  readonly onset: Onset;
  /** The pod is older than its ServiceAccount. */
  readonly isOlder: boolean;
  readonly isServiceAccountMissing: boolean;
}

/**
 * Why a pod's token is rejected; `others` are the rejections that nothing else explains, of every workload that the operator
 * sees. Recreated ServiceAccounts explain themselves: two of them at once are one clumsy deployment and no rotated key. Pure.
 */
export function causeOf(rejection: Rejection, others: readonly Onset[]): Cause {
  if (rejection.isServiceAccountMissing) return Cause.ServiceAccountMissing;
  if (rejection.isOlder) return Cause.ServiceAccountRecreated;
  const { onset } = rejection;
  const isShared = others.some(
    other =>
      (other.namespace !== onset.namespace || other.serviceAccount !== onset.serviceAccount) &&
      (other.namespace !== onset.namespace || other.workload !== onset.workload) &&
      Math.abs(other.sinceMs - onset.sinceMs) <= SAME_TIME_MS,
  );
  return isShared ? Cause.SigningKeyRotated : Cause.Unknown;
}
