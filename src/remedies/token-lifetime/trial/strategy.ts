import type { DaemonSetView } from "../../../core/views";
import { activePodsOf, isBounded, type ObservedDaemonSet } from "../observed";
import { isRelease, type Subject } from "../subject";

/** Part of an apply: the DaemonSet controller replaces no pod by itself. Leaving it out gives RollingUpdate, the default, again. */
export const TRIAL_STRATEGY = { updateStrategy: { type: "OnDelete" } } as const;

/** The operator has set updateStrategy OnDelete, so only the pods that it evicts get the changed template. */
export function isOnTrial({ updateStrategy, ownsUpdateStrategy }: DaemonSetView): boolean {
  return updateStrategy === "OnDelete" && ownsUpdateStrategy === true;
}

/** A change of the template is tried on one node first, unless there is only one. */
export function needsTrial(subject: Subject): boolean {
  return !isRelease(subject) && nodesOf(subject.daemonSet) >= 2 && !isEverywhere(subject);
}

/** Every pod has the shorter token already. */
export function isEverywhere({ daemonSet, spec }: Pick<Subject, "daemonSet" | "spec">): boolean {
  return activePodsOf(daemonSet).every(({ pod }) => isBounded(pod, spec));
}

function nodesOf(daemonSet: ObservedDaemonSet): number {
  return new Set(activePodsOf(daemonSet).map(({ pod }) => pod.nodeName)).size;
}
