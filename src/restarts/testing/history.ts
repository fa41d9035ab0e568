import type { RestartStatus } from "../../api/controller-resilience";
import type { RestartClaim } from "../../core/intent";
import { requestedRestart } from "../history";

/** The entry of a restart in status after the executor has executed it. */
export function executedRestart(
  claim: RestartClaim,
  now: Date,
  outcome: RestartStatus["outcome"] = "Restarted",
): RestartStatus {
  return { ...requestedRestart(claim, now), outcome };
}
