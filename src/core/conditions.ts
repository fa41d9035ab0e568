import { toSeconds } from "./time";
import type { StatusCondition } from "../api/controller-resilience";

/** What a condition shall say now. */
export interface ConditionUpdate {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** Longest message that the schema takes (metav1.Condition). */
const MAX_MESSAGE = 32_768;

/**
 * The conditions after the updates: those of types that are not updated are dropped, since they belong to remedies that
 * are off. lastTransitionTime moves only when status flips, as metav1.Condition demands.
 */
export function nextConditions(
  previous: readonly StatusCondition[],
  updates: readonly ConditionUpdate[],
  generation: number,
  now: Date,
): StatusCondition[] {
  return updates.map(update => {
    const before = previous.find(condition => condition.type === update.type);
    return {
      type: update.type,
      status: update.status,
      observedGeneration: generation,
      lastTransitionTime: before?.status === update.status ? before.lastTransitionTime : toSeconds(now),
      reason: update.reason,
      message: update.message.slice(0, MAX_MESSAGE),
    };
  });
}
