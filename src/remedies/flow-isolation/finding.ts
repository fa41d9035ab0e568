import type { Reason } from "../../api/conditions";
import type { Intent } from "../../core/intent";

/** Something that there is to say, and perhaps to do. */
export interface Finding {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: Reason;
  readonly sentence: string;
  readonly intents?: readonly Intent[];
  /** A person is needed. */
  readonly isStalled?: boolean;
  /** Something will go on by itself. */
  readonly isProgressing?: boolean;
}
