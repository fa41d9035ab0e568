import type { RestartStatus, TargetStatus, TokenRestartSpec } from "../../api/controller-resilience";
import type { PendingWrite } from "../../core/remedy";
import type { WindowState } from "../../core/windows";
import { isOpen } from "../../core/restarts";
import type { ObservedPod, ObservedWorkload } from "./observed";
import { wasRolled } from "./settle";
import { isByBudget } from "./wording";

// Whether a restart evicts a pod or rolls its workload. Pure.

/** A PodDisruptionBudget that refuses for a moment only, such as during a drain, needs no rollout. */
const ROLL_AFTER_MS = 60_000;

/** What decides. */
interface Choice {
  readonly spec: TokenRestartSpec;
  readonly workload: ObservedWorkload;
  /** The workload's entry in status.targets. */
  readonly previous: TargetStatus | undefined;
  readonly pending: readonly PendingWrite[];
  readonly now: Date;
  readonly window: WindowState;
}

/**
 * Reports whether the restart of a pod rolls its workload. With the strategy Auto it does if the pod is the only replica of a Deployment
 * that starts a new pod first, and a PodDisruptionBudget keeps refusing the eviction.
 */
export function isRolled(pod: ObservedPod, choice: Choice): boolean {
  const { spec, workload, previous, now } = choice;
  if (spec.strategy !== "Auto") return spec.strategy === "RolloutRestart";
  const { kind, replicas, rollout } = workload.view;
  if (kind !== "Deployment" || replicas !== 1 || rollout?.surges !== true) return false;
  const waitedMs = now.getTime() - Date.parse(previous?.waitStartTime ?? "");
  return waitedMs >= ROLL_AFTER_MS && isProtected(pod, choice);
}

/** Outside of the maintenance windows the operator keeps trying to evict a pod whose token is not proven dead. */
function isProtected({ view, proof }: ObservedPod, { pending, now, window }: Choice): boolean {
  if (!window.isOpen && proof === undefined) return false;
  return pending.some(({ verb, restart, outcome, untilMs }) => {
    const isEviction = verb === "evict" && restart?.podUID === view.uid && untilMs > now.getTime();
    return isEviction && outcome.result === "Blocked" && isByBudget(outcome.message);
  });
}

/** Reports whether a rollout that the operator requested is in progress. */
export function isRolling(
  history: readonly RestartStatus[],
  { spec, workload }: Pick<Choice, "spec" | "workload">,
): boolean {
  const { strategy } = spec;
  if (strategy === "Evict") return false;
  return history.some(entry => isOpen(entry) && (strategy === "RolloutRestart" || wasRolled(entry, workload)));
}
