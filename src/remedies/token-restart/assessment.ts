import type { Reason } from "../../api/conditions";
import type { Intent } from "../../core/intent";
import type { WorkloadCase } from "./candidates";

/** What there is to say and to do about one workload. */
export interface Assessment {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: Reason;
  readonly sentence: string;
  readonly intent?: Intent;
  /** A person is needed. */
  readonly isStalled?: boolean;
  /** Something will go on by itself. */
  readonly isProgressing?: boolean;
  readonly retryAfterMs?: number;
}

/** Says something of the workload, or leaves it to the next. */
export type Check = (given: WorkloadCase) => Assessment | undefined;
