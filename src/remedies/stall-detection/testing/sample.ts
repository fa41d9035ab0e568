import type { StallDetectionSpec } from "../../../api/controller-resilience";
import { intentsOf, type RemedySample } from "../../../core/testing/remedy-sample";
import { executedRestart } from "../../../restarts/testing/history";
import type { Observed } from "../observed";
import { planStalls, reportStalls, type StallPlan } from "../plan";
import { anyObserved, anySpec } from "./arbitrary";

export const sample: RemedySample<Observed, StallDetectionSpec, StallPlan> = {
  observed: anyObserved,
  specs: anySpec,
  plan: (observed, spec, now) => planStalls(observed, spec, now, []),
  report: reportStalls,
  applied: observedAfter,
};

/** The restarts are in status, and the pods are terminating. */
function observedAfter(observed: Observed, plan: StallPlan, now: Date): Observed {
  const claims = intentsOf(plan).flatMap(({ restart }) => restart ?? []);
  const uids = new Set(claims.map(({ podUID }) => podUID));
  return {
    ...observed,
    restarts: [...plan.restarts, ...claims.map(claim => executedRestart(claim, now))],
    previous: plan.items.flatMap(({ entries }) => entries),
    workloads: observed.workloads.map(workload => ({
      ...workload,
      pods: workload.pods.map(pod => {
        if (!uids.has(pod.view.uid)) return pod;
        const view = { ...pod.view, deletedAtMs: now.getTime() };
        return { ...pod, view, leases: pod.leases.map(held => ({ ...held, pod: view })) };
      }),
    })),
  };
}
