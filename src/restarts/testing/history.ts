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

/** A restart at this time that has helped, of another pod for each time. */
export function restartAt(ms: number, over: Partial<RestartStatus> = {}): RestartStatus {
  const pod = { pod: `app-${ms}`, podUID: `uid-${ms}`, workload: "Deployment/app" };
  return { ...pod, time: new Date(ms).toISOString(), cause: "Unknown", outcome: "Recovered", ...over };
}
