import type { ReasonRule } from "../../core/remedy";
import { RESTART_REASONS, WORST_RESTART_REASONS } from "../../restarts/claims";
import { held, type RestartFinding } from "../kit/restarting";

/** The reasons of TokensAccepted, worst first. */
export const REASONS = {
  ...WORST_RESTART_REASONS,
  ServiceAccountMissing: {
    event: "Warning",
    help: "Create the ServiceAccount.",
  },
  Rejected: {
    event: "Warning",
    help: "Being healed, unless the message says why not and what to do.",
  },
  ...RESTART_REASONS,
  ObserveFailed: {
    event: "Warning",
    help: "A read failed or still runs, or `containers` names a container that no pod has; it does nothing meanwhile.",
  },
  Suspected: { event: "None", help: "Signs of a rejected token, not enough to act on yet; wait a minute." },
  Accepted: { event: "Normal", help: "No action required." },
  NothingToDo: { event: "Normal", help: "No workload of the targets has a pod." },
} as const satisfies Record<string, ReasonRule>;

/** One of the reasons. */
export type Reason = keyof typeof REASONS;

/** What the checks found out about one workload. */
export type Assessment = RestartFinding<Reason>;

/** The pods stay rejected until a person acts. */
export function stalled(sentence: string): Assessment {
  return held("Rejected", sentence);
}
