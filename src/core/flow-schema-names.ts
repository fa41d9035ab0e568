import { FLOW_PREFIX } from "../api/names";
import { ownedName, type Owner } from "./owned";

// Each object has its own FlowSchemas, so two objects never write the same one.

/** Name of the FlowSchema of a ServiceAccount's requests. */
export function flowSchemaName({ metadata }: Owner, account: string): string {
  return ownedName(FLOW_PREFIX, [metadata.namespace, account], [metadata.uid, account]);
}

/** Name of the FlowSchema of its requests for Leases, which matches before the other. */
export function leaseFlowSchemaName({ metadata }: Owner, account: string): string {
  const { namespace, uid } = metadata;
  return ownedName(`${FLOW_PREFIX}leases-`, [namespace, account], [uid, account, "leases"]);
}
