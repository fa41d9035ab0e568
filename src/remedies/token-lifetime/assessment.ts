import type { Reason } from "../../api/conditions";
import type { DaemonSetStatus } from "../../api/controller-resilience";
import type { Intent } from "../../core/intent";

/** What there is to say and to do about one DaemonSet. */
export interface Assessment {
  readonly status: "True" | "False";
  readonly reason: Reason;
  readonly sentence: string;
  readonly entry: DaemonSetStatus;
  readonly intents?: readonly Intent[];
  /** A person is needed. */
  readonly isStalled?: boolean;
  /** Something will go on by itself. */
  readonly isProgressing?: boolean;
  readonly recheckAfterMs?: number;
}

/** Looked at again as soon as status was written. */
export const AT_ONCE_MS = 1_000;
