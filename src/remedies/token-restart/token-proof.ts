import type { RecreatingHook } from "../../core/recreating-hooks";
import type { TokenCause } from "./cause";

/** The ServiceAccount of a pod was recreated. The kubelet may have renewed the token since. */
export interface Recreation {
  /** Its annotations say what recreates it each time. */
  readonly hook?: RecreatingHook;
}

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
