import type { WorkloadView } from "../../core/views";

/** The default progressDeadlineSeconds of a Deployment. */
const USUAL_MS = 600_000;

const LONGEST_MS = 900_000;

/** How long a rollout in progress delays restarts, in milliseconds. Pure. */
export function rolloutWaitMs({ rollout }: Pick<WorkloadView, "rollout">): number {
  return Math.min(rollout?.progressDeadlineMs ?? USUAL_MS, LONGEST_MS);
}
