import type { Intent } from "../../core/intent";
import type { WorkloadView } from "../../core/views";
import { buildScaleBack, buildScaleToZero, nameOf as nameOfWorkload } from "./writes";
import type { FlowIsolationFacts } from "./facts";
import { isToBeScaled, measured, nameOf, type Flow } from "./flow";

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
  const { account, facts } = flow;
  if (!facts.mayScale) return [];
  return account.workloads
    .filter(isScalable)
    .map(workload =>
      buildScaleToZero(
        workload,
        facts.owner,
        `${nameOfWorkload(workload)} is scaled from ${workload.replicas} replicas to zero: ${nameOf(flow)} is a runaway: ${measured(flow)}`,
      ),
    );
}

/** A workload with the annotation was scaled to zero before; if it has replicas again, a person wants them. */
function isScalable({ kind, replicas, scaledDown }: WorkloadView): boolean {
  return kind !== "DaemonSet" && replicas > 0 && scaledDown === undefined;
}
