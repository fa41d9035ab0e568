import type { ControllerResilience } from "../../api/controller-resilience";
import type { Intent } from "../../core/intent";
import type { Readers } from "../../core/readers";
import { readScaledDown } from "./observe";
import { buildScalingBack } from "./scale";
import { buildSurplus } from "./surplus";

/**
 * What is to be taken away because the object goes, or its block has gone: its FlowSchemas, which lifts a throttle, then the levels that
 * nobody refers to any more. Workloads get their replicas back.
 *
 * @throws whatever a reader throws
 */
export async function cleanUpFlows(object: ControllerResilience, from: Readers): Promise<Intent[]> {
  const scaledDown = await readScaledDown(object, from);
  const schemas = (await from.clusterObjects("FlowSchema")) ?? [];
  const levels = (await from.clusterObjects("PriorityLevelConfiguration")) ?? [];
  return [
    ...buildScalingBack(scaledDown, "nothing looks after its requests any more"),
    ...buildSurplus(object, { schemas, levels }, () => false),
  ];
}
