import type { TokenRestartSpec } from "../../api/controller-resilience";
import type { KeyRotation } from "../../core/signing-keys";
import type { PodView, ServiceAccountView } from "../../core/views";
import { proveByKeys } from "./key-rotation";
import { proveByAge } from "./service-account-age";
import type { TokenProof } from "./token-proof";

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
