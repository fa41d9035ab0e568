import type { Intent } from "../../core/intent";
import type { WorkloadView } from "../../core/views";
import { buildScaleBack, buildScaleToZero, nameOf as nameOfWorkload } from "./writes";
import type { FlowIsolationFacts } from "./facts";
import { isToBeScaled, measured, nameOf, type Flow } from "./flow";
import { idOf, MAX_SCALED, scaledOf } from "./scaled";

/** Scales workloads of throttled ServiceAccounts to zero, and all others back. Pure. */
export function planScaling(facts: FlowIsolationFacts, flows: readonly Flow[]): Intent[] {
  const throttled = flows.filter(isToBeScaled);
  const names = new Set(throttled.map(({ account }) => account.name));
  const isFree = ({ serviceAccountName }: WorkloadView): boolean => !names.has(serviceAccountName);
  return [
    ...throttled.flatMap(scaledToZero),
    ...buildScalingBack(facts.scaledDown.filter(isFree), "its ServiceAccount is no longer throttled"),
    ...buildScalingBack(
      facts.scaledDown.filter(one => one.skip && !isFree(one)),
      "it has the skip annotation",
    ),
  ];
}

/** Scales workloads back. Also those with the skip annotation: the operator undoes its own change. Pure. */
export function buildScalingBack(workloads: readonly WorkloadView[], why: string): Intent[] {
  return workloads.map(workload => buildScaleBack(workload, why));
}

function scaledToZero(flow: Flow): Intent[] {
  return toBeScaled(flow).map(workload =>
    buildScaleToZero(
      workload,
      flow.facts.owner,
      `${nameOfWorkload(workload)} is scaled from ${workload.replicas} replicas to zero: ${nameOf(flow)} is a runaway: ${measured(flow)}`,
    ),
  );
}

/**
 * Workloads of a throttled ServiceAccount that the operator scales to zero now: each one once in a throttle. One that has the annotation and
 * replicas again got them from another client. A client that replaces the whole object removes the annotation too, so status has the names.
 */
export function toBeScaled(flow: Flow): WorkloadView[] {
  const { account, facts } = flow;
  if (!facts.mayScale) return [];
  const scalable = account.workloads.filter(({ kind }) => kind !== "DaemonSet");
  const { scaled, restored } = scaledOf(flow);
  const known = new Set([...scaled, ...restored]);
  return scalable
    .filter(view => view.replicas > 0 && view.scaledDown === undefined && !known.has(idOf(view)))
    .slice(0, Math.max(0, MAX_SCALED - known.size));
}

/** Deployments and StatefulSets of a throttled ServiceAccount that keep their replicas. */
export interface Kept {
  /** They were scaled to zero, and another client has set their replicas since. */
  readonly setByOthers: readonly WorkloadView[];
  /** All others, such as those that the operator has restored for the skip annotation. */
  readonly others: readonly WorkloadView[];
}

/** Returns which of its workloads keep their replicas, and why. */
export function keptReplicas(flow: Flow): Kept {
  const scaling = toBeScaled(flow);
  const { scaled } = scaledOf(flow);
  const kept = flow.account.workloads.filter(
    view => view.kind !== "DaemonSet" && view.replicas > 0 && !scaling.includes(view),
  );
  const isSetByOthers = (view: WorkloadView): boolean => scaled.includes(idOf(view));
  return { setByOthers: kept.filter(isSetByOthers), others: kept.filter(view => !isSetByOthers(view)) };
}
