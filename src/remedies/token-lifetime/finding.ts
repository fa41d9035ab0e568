import type { DaemonSetStatus } from "../../api/controller-resilience";
import type { Finding } from "../kit/finding";
import type { Reason } from "./reasons";

/** What the checks found out about one DaemonSet, and what the operator writes for it. */
export interface DaemonSetFinding extends Finding<Reason> {
  readonly status: "True" | "False";
  /** For status.daemonSets, before any write of this pass. */
  readonly entry: DaemonSetStatus;
  /** Present when the intents shorten tokens: status counts the change once they are executed. */
  readonly shortens?: true;
  /** The outcome in status once the intents are executed. */
  readonly after?: DaemonSetStatus["outcome"];
  readonly recheckAfterMs?: number;
}

/** Delay of the next pass when it only waits for status to be written, in milliseconds. */
export const IMMEDIATE_MS = 1_000;

/** Delay of the next pass while the cluster has to change first, in milliseconds. */
export const RECHECK_MS = 10_000;
