import type { Mode } from "../../core/mode";
import type { Check } from "../kit/checks";
import type { Finding } from "../kit/finding";
import type { WorkloadState } from "./candidates";
import type { Reason } from "./reasons";

/** What the checks found out about one workload. */
export interface Assessment extends Finding<Reason> {
  readonly retryAfterMs?: number;
  /** The workload waits for something that may never happen: what a person can do about it. */
  readonly waitHint?: string;
  /** Set when `intents` restart a pod: the report completes the sentence with the outcome. */
  readonly restart?: PlannedRestart;
}

/** A restart as people see it. */
export interface PlannedRestart {
  /** The restart is not executed unless this is Enforce. */
  readonly mode: Mode;
  /** `2 more pods of Deployment/web will follow.`, or empty. */
  readonly rest: string;
}

/** One check of a workload. */
export type WorkloadCheck = Check<WorkloadState, Assessment>;
