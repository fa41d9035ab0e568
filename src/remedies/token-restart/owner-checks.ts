import { formatDuration } from "../../core/duration";
import type { Assessment } from "./assessment";
import { candidatesOf, type WorkloadState } from "./candidates";
import { parseWorkloadId, workloadId } from "./observed";
import { isTypedKind } from "./pod-owner";
import { NO_SUCCESSOR_MS, unreplacedRestarts } from "./settle";
import { describeShare } from "./wording";

// Checks of the owners of pods. Pure.

/** The owner would not recreate an evicted pod. */
export function neverRestarted(state: WorkloadState): Assessment | undefined {
  const { workload, rejected } = state;
  const { refusal } = workload.view;
  if (refusal === undefined || rejected.length === 0 || candidatesOf(state).length > 0) return undefined;
  const sentence = `${describeShare(workload, rejected)}; never restarted, because ${refusal}; recreate it by hand.`;
  return { status: "False", reason: "Rejected", sentence, isStalled: true };
}

/** The owner has not recreated an evicted pod, so it may not recreate the next one either. */
export function notRecreated({ workload, history, now }: WorkloadState): Assessment | undefined {
  const [lost] = unreplacedRestarts(history, workload, now.getTime());
  if (lost === undefined) return undefined;
  const within = formatDuration(NO_SUCCESSOR_MS);
  const sentence = `${workloadId(workload.view)}: evicted pod ${lost.pod}, and no pod that the targets select replaced it within ${within}; no more restarts until one does; add a pod, or change the spec if the owner was scaled down or deleted.`;
  return { status: "False", reason: "NotRecreated", sentence, isStalled: true };
}

/** The workload has no pods, but its selector matches pods of another owner, such as an Argo Rollout: their tokens are not watched. */
export function podsOfOthers({ workload }: WorkloadState): Assessment | undefined {
  const { view, otherOwners = [] } = workload;
  const [other] = otherOwners;
  if (other === undefined) return undefined;
  const isTyped = isTypedKind(parseWorkloadId(other).kind);
  const way = isTyped ? "add it to the targets" : "use kind: Pod with that selector";
  const sentence = `${workloadId(view)} has no pods, but its selector matches pods of ${otherOwners.join(", ")}, which are not watched; ${way}.`;
  return { status: "Unknown", reason: "OtherOwner", sentence, isStalled: true };
}
