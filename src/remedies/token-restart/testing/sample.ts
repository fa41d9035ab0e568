import fc from "fast-check";
import type { TokenRestartSpec } from "../../../api/controller-resilience";
import type { PendingWrite } from "../../../core/remedy";
import { intentsOf, type RemedySample } from "../../../core/testing/remedy-sample";
import { executedRestart } from "../../../restarts/testing/history";
import type { Observed } from "../observed";
import { planRestarts, type TokenRestartPlan } from "../plan";
import { reportTokens } from "../report";
import { anyObserved, anyPending, anySpec } from "./arbitrary";

interface Input {
  readonly observed: Observed;
  readonly pending: readonly PendingWrite[];
}

/** The sample of token-restart for the contract test. */
export const sample: RemedySample<Input, TokenRestartSpec, TokenRestartPlan> = {
  observed: fc.record({ observed: anyObserved, pending: anyPending }),
  specs: anySpec,
  plan: ({ observed, pending }, spec, now) => planRestarts(observed, spec, now, pending),
  report: reportTokens,
  applied: ({ observed, pending }, plan, now): Input => ({ observed: observedAfter(observed, plan, now), pending }),
};

/** The restarts are in status, and the pods are terminating. */
function observedAfter(observed: Observed, plan: TokenRestartPlan, now: Date): Observed {
  const claims = intentsOf(plan).flatMap(({ restart }) => restart ?? []);
  const restarted = claims.map(claim => executedRestart(claim, now));
  const uids = new Set(claims.map(({ podUID }) => podUID));
  return {
    ...observed,
    restarts: [...plan.restarts, ...restarted],
    previousTargets: plan.items.map(({ target }) => target),
    workloads: observed.workloads.map(({ view, pods }) => ({
      view,
      pods: pods.map(pod =>
        uids.has(pod.view.uid) ? { ...pod, view: { ...pod.view, deletedAtMs: now.getTime() } } : pod,
      ),
    })),
  };
}
