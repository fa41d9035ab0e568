import type { ControllerResilience } from "../../api/controller-resilience";
import { ForbiddenError } from "../../core/errors";
import type { Intent } from "../../core/intent";
import type { Readers } from "../../core/readers";
import { buildSurplus, type Existing } from "./surplus";

/**
 * Undoes everything when the object or its block is removed: deletes its FlowSchemas, which lifts a throttle, then the levels without a
 * FlowSchema.
 *
 * @throws the readers' errors, except a missing right where nothing was ever made
 */
export async function cleanUpFlows(object: ControllerResilience, from: Readers): Promise<Intent[]> {
  const isKnown = (object.status?.flows ?? []).length > 0;
  return buildSurplus(object, await readExisting(from, isKnown), () => false);
}

/** Without the right to list, nothing can have been made unless status says otherwise. */
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
