import { Cause } from "../../api/conditions";
import { KEYS_SETTLE_MS, type KeyRotation } from "../../core/signing-keys";
import type { PodView } from "../../core/views";
import { holdsTokenFromBefore } from "./service-account-age";
import type { TokenProof } from "./token-proof";

/**
 * An object with pods has a pass at least this often, in milliseconds, so that the published keys are followed.
 * It is longer than the time between two full passes by default.
 */
export const KEYS_RECHECK_MS = 70_000;

/**
 * Returns the proof if the pod holds a token whose signing key is gone. A 401 must confirm it, since other parts of the control plane may
 * still accept the key, and the change must last, since a wrong key file looks the same until it is corrected. Pure.
 */
export function proveByKeys(pod: PodView, rotation: KeyRotation | undefined, nowMs: number): TokenProof | undefined {
  if (rotation === undefined || !holdsTokenFromBefore(pod, rotation.beforeMs, nowMs)) return undefined;
  const { changedMs } = rotation;
  return {
    cause: Cause.SigningKeyRotated,
    sinceMs: changedMs,
    notBeforeMs: changedMs + KEYS_SETTLE_MS,
    alone: false,
  };
}
