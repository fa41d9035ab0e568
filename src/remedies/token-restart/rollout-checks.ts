import type { Assessment } from "./assessment";
import { candidatesOf, isHealable, type WorkloadState } from "./candidates";
import { describeShare } from "./wording";

// Checks against the rollout of the workload's own template. Pure.

/** A restart would upgrade each pod that it can heal, which a person has not allowed yet. */
export function upgradeDeferred(state: WorkloadState): Assessment | undefined {
  const { workload, rejected } = state;
  const pod = rejected.find(one => isHealable(one, state));
  if (pod === undefined || candidatesOf(state).length > 0) return undefined;
  const has = workload.view.rollout?.currentLabel === undefined ? "may have" : "has";
  const sentence = `${describeShare(workload, rejected)}; pod ${pod.view.name} ${has} an older template, and with update strategy OnDelete a restart would upgrade it; delete the pod once it may be upgraded.`;
  return { status: "False", reason: "Rejected", sentence, isStalled: true };
}
