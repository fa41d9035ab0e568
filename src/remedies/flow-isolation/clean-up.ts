import type { ControllerResilience } from "../../api/controller-resilience";
import { ForbiddenError } from "../../core/errors";
import type { Intent } from "../../core/intent";
import type { Readers } from "../../core/readers";
import { readScaledDown } from "./observe";
import { buildScalingBack } from "./scale";
import { buildSurplus, type Existing } from "./surplus";

/**
 * What is to be taken away because the object goes, or its block has gone: its FlowSchemas, which lifts a throttle, then the levels that
 * nobody refers to any more. Workloads get their replicas back.
 *
 * @throws whatever a reader throws, but for the missing right to look where nothing was ever made
 */
export async function cleanUpFlows(object: ControllerResilience, from: Readers): Promise<Intent[]> {
  const scaledDown = await readScaledDown(object, from);
  const isKnown = scaledDown.length > 0 || (object.status?.flows ?? []).length > 0;
  return [
    ...buildScalingBack(scaledDown, "nothing looks after its requests any more"),
    ...buildSurplus(object, await readExisting(from, isKnown), () => false),
  ];
}

/** Where nothing is known to have been made, an operator without the right to look has nothing to look for. */
async function readExisting(from: Readers, isKnown: boolean): Promise<Existing> {
  try {
    const schemas = (await from.clusterObjects("FlowSchema")) ?? [];
    const levels = (await from.clusterObjects("PriorityLevelConfiguration")) ?? [];
    return { schemas, levels };
  } catch (error) {
    if (isKnown || !(error instanceof ForbiddenError)) throw error;
    return { schemas: [], levels: [] };
  }
}
