import type { Intent } from "../../core/intent";
import type { WorkloadView } from "../../core/views";
import { buildScaleBack, buildScaleToZero, nameOf as nameOfWorkload } from "./writes";
import type { FlowIsolationFacts } from "./facts";
import { isToBeScaled, measured, nameOf, scalingsOf, type Flow } from "./flow";

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
 * replicas again got them from another client. A client that replaces the whole object removes the annotation too, so status has the count.
 */
export function toBeScaled(flow: Flow): WorkloadView[] {
  const { account, facts } = flow;
  if (!facts.mayScale) return [];
  const scalable = account.workloads.filter(({ kind }) => kind !== "DaemonSet");
  const left = Math.max(0, scalable.length - scalingsOf(flow));
  return scalable.filter(({ replicas, scaledDown }) => replicas > 0 && scaledDown === undefined).slice(0, left);
}

/** Workloads of a throttled ServiceAccount that keep the replicas that another client has set. */
export function keptByOthers(flow: Flow): WorkloadView[] {
  const scaled = toBeScaled(flow);
  return flow.account.workloads.filter(
    workload => workload.kind !== "DaemonSet" && workload.replicas > 0 && !scaled.includes(workload),
  );
}
