import type { ReasonRule } from "../../core/remedy";
import { type PlannedRestart, RESTART_REASONS, WORST_RESTART_REASONS } from "../../restarts/claims";
import type { Finding } from "../kit/finding";

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
    help: "A read failed, or `containers` names a container that no pod has; it does nothing meanwhile.",
  },
  Suspected: { event: "None", help: "Signs of a rejected token, not enough to act on yet; wait a minute." },
  Accepted: { event: "Normal", help: "No action required." },
  NothingToDo: { event: "Normal", help: "No workload of the targets has a pod." },
} as const satisfies Record<string, ReasonRule>;

/** One of the reasons. */
export type Reason = keyof typeof REASONS;

/** What the checks found out about one workload. */
export interface Assessment extends Finding<Reason> {
  readonly retryAfterMs?: number | undefined;
  /** The workload waits for something that may never happen: what a person can do about it. */
  readonly wayOut?: string | undefined;
  /** Set when `intents` restart a pod: the report completes the sentence with the outcome. */
  readonly restart?: PlannedRestart;
}

/** A restart that can help waits. */
export function deferred(sentence: string, more: Pick<Assessment, "retryAfterMs" | "wayOut"> = {}): Assessment {
  return { status: "False", reason: "RestartDeferred", sentence, isProgressing: true, ...more };
}

/** The pods stay rejected until a person acts. */
export function stalled(sentence: string): Assessment {
  return { status: "False", reason: "Rejected", sentence, isStalled: true };
}
