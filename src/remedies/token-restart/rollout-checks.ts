import type { Assessment } from "./assessment";
import { candidatesOf, isHealable, type WorkloadState } from "./candidates";
import { rolloutWaitMs } from "./rollout-bound";
import { describeShare, describeTime } from "./wording";

// Checks against the rollout of the workload's own template. Pure.

const UPGRADE_HINT = "delete the pod once it may be upgraded";

/** A restart would upgrade each pod that it can heal, which a person has not allowed yet. */
export function upgradeDeferred(state: WorkloadState): Assessment | undefined {
  const { workload, rejected } = state;
  const pod = rejected.find(one => isHealable(one));
  if (pod === undefined || candidatesOf(state).length > 0) return undefined;
  const isKnown = workload.view.rollout?.currentLabel !== undefined;
  const has = isKnown ? "has" : "may have";
  const sentence = `${describeShare(workload, rejected)}; pod ${pod.view.name} ${has} an older template, and with update strategy OnDelete a restart would upgrade it; ${UPGRADE_HINT}.`;
  // Right after a change of the workload, its controller has not published the revision yet.
  const wait = isKnown ? { isStalled: true } : { isProgressing: true, waitHint: UPGRADE_HINT };
  return { status: "False", reason: "Rejected", sentence, ...wait };
}

/** The rollout may replace the rejected pods itself. One that does not, such as for their sake, is not waited for any longer. */
export function rolloutInProgress(state: WorkloadState): Assessment | undefined {
  const { workload, rejected, now } = state;
  const untilMs = (workload.rolloutSinceMs ?? -Infinity) + rolloutWaitMs(workload.view);
  if (candidatesOf(state).length === 0 || now.getTime() >= untilMs) return undefined;
  const until = describeTime(untilMs) ?? "an unknown time";
  const sentence = `${describeShare(workload, rejected)}; waiting for the rollout in progress, until ${until} at the latest.`;
  const retryAfterMs = untilMs - now.getTime();
  return { status: "False", reason: "RestartDeferred", sentence, isProgressing: true, retryAfterMs };
}
