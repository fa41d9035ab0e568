import type { PodView } from "../../core/views";
import { isOwnedBy } from "../kit/pods";
import type { WatchedWorkload } from "./observed";

export { hasEnded } from "../kit/pods";

/** Reports whether a pod is watched as one of a workload's pods. */
export function isPodOf(pod: PodView, workload: WatchedWorkload): boolean {
  return workload.selected?.has(pod.uid) ?? isOwnedBy(pod, workload);
}
