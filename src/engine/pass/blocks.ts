import { ConditionType } from "../../api/conditions";
import type { ControllerResilience, ControllerResilienceStatus } from "../../api/controller-resilience";
import type { RemedyKey, RemedyStatus } from "../../core/remedy";

/** Each remedy's condition and the lists of status that are its own. Restarts belong to nobody: budgets outlive the remedy's block. */
export const BLOCKS: Record<
  RemedyKey,
  { readonly condition: ConditionType; readonly owns: Exclude<keyof RemedyStatus, "restarts"> }
> = {
  tokenRestart: { condition: ConditionType.TokensAccepted, owns: "targets" },
  bindingRenewal: { condition: ConditionType.BindingsCurrent, owns: "bindings" },
  tokenLifetime: { condition: ConditionType.TokenLifetimeBounded, owns: "daemonSets" },
  flowIsolation: { condition: ConditionType.FlowsIsolated, owns: "flows" },
};

/** Their keys, in the order of their conditions. */
export const REMEDY_KEYS = Object.keys(BLOCKS) as RemedyKey[];

/** Status without the lists of remedies that are off. While an object is suspended nothing is cleaned up, and what they tell may still be so. */
export function withoutForeignLists(
  before: ControllerResilienceStatus,
  object: ControllerResilience,
): ControllerResilienceStatus {
  const kept = { ...before };
  for (const key of REMEDY_KEYS) {
    const { owns } = BLOCKS[key];
    if (object.spec[key] === undefined && !object.spec.suspend) Reflect.deleteProperty(kept, owns);
  }
  return kept;
}
