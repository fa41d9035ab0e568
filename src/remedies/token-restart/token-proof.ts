import type { TokenRestartSpec } from "../../api/controller-resilience";
import type { KeyRotation } from "../../core/signing-keys";
import type { PodView, ServiceAccountView } from "../../core/views";
import type { TokenCause } from "./cause";
import { proveByKeys } from "./key-rotation";
import { proveByAge } from "./service-account-age";

/** Proof that a pod's token is invalid. */
export interface TokenProof {
  readonly cause: TokenCause;
  /** Present if the ServiceAccount was recreated: the current one. */
  readonly serviceAccountUID?: string;
  /** Since when the token is invalid, at the latest. 401s since then confirm the proof. */
  readonly sinceMs: number;
  /** No restart before this time: the change that made the token invalid may still be undone. */
  readonly notBeforeMs?: number;
  /** The proof is sufficient alone. Otherwise one 401 must confirm it. */
  readonly alone: boolean;
  /** `evidence` lacks ServiceAccountAge: the proof names the cause, but is no evidence. */
  readonly isCauseOnly?: boolean;
  /** Nothing shows that the pod uses the API server, or that is unknown. Absent: it does, or the proof is not sufficient alone. */
  readonly apiUse?: "unseen" | "unknown";
  /** A log shows a healthy client. */
  readonly isContradicted?: boolean;
}

/** What a proof is made from. */
export interface ProofContext {
  readonly spec: Pick<TokenRestartSpec, "evidence">;
  readonly rotation: KeyRotation | undefined;
  readonly nowMs: number;
}

/** Returns the proof that the token of a pod is invalid, if there is one. Pure. */
export function proofOf(
  pod: PodView,
  account: ServiceAccountView | null | undefined,
  { spec, rotation, nowMs }: ProofContext,
): TokenProof | undefined {
  const byAge = account ? proveByAge(pod, account, nowMs) : undefined;
  if (byAge === undefined) return proveByKeys(pod, rotation, nowMs);
  // Whatever may condemn a pod, the cause is named by everything that is known.
  return spec.evidence.includes("ServiceAccountAge") ? byAge : { ...byAge, alone: false, isCauseOnly: true };
}
