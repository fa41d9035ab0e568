import type { Intent } from "../../core/intent";
import type { WorkloadView } from "../../core/views";
import { buildScaleBack, buildScaleToZero, nameOf as nameOfWorkload } from "./build";
import type { FlowIsolationFacts } from "./facts";
import { isToBeScaled, measured, nameOf, type Flow } from "./flow";

/** Scales workloads of runaways to zero, and gives back what others have lost. Pure. */
export function buildScaling(facts: FlowIsolationFacts, flows: readonly Flow[]): Intent[] {
  const held = flows.filter(isToBeScaled);
  const names = new Set(held.map(({ account }) => account.name));
  const isFree = ({ serviceAccountName }: WorkloadView): boolean => !names.has(serviceAccountName);
  return [
    ...held.flatMap(scaledToZero),
    ...buildScalingBack(facts.scaledDown.filter(isFree), "its ServiceAccount is not held still any more"),
    ...buildScalingBack(
      facts.scaledDown.filter(one => one.skip && !isFree(one)),
      "it has the skip annotation",
    ),
  ];
}

/** Gives workloads back what they have lost: a change of the operator's own, which no skip annotation must make last. Pure. */
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
        `${nameOfWorkload(workload)} is scaled from ${workload.replicas} replicas to zero: ${nameOf(flow)} is a runaway, ${measured(flow)}`,
      ),
    );
}

/** One that has the note already was scaled to zero before; if it has replicas all the same, somebody wants them. */
function isScalable({ kind, replicas, scaledDown }: WorkloadView): boolean {
  return kind !== "DaemonSet" && replicas > 0 && scaledDown === undefined;
}
