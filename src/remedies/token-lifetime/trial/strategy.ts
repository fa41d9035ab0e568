import type { DaemonSetView } from "../../../core/views";

/** Part of an apply: the DaemonSet controller replaces no pod by itself. Leaving it out gives RollingUpdate, the default, again. */
export const TRIAL_STRATEGY = { updateStrategy: { type: "OnDelete" } } as const;

/** The operator has set updateStrategy OnDelete, so only the pods that it evicts get the changed template. */
export function isOnTrial({ updateStrategy, ownsUpdateStrategy }: DaemonSetView): boolean {
  return updateStrategy === "OnDelete" && ownsUpdateStrategy === true;
}
