import { toSeconds } from "./time";
import type { StatusCondition } from "../api/controller-resilience";

/** The desired state of a condition. */
export interface ConditionUpdate {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** Maximum length of a message in metav1.Condition. */
const MAX_MESSAGE = 32_768;

/**
 * Returns one condition per update. Other conditions are dropped, since their remedies are disabled. lastTransitionTime changes
 * only with status, as metav1.Condition requires.
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
