import { Cause } from "../../api/conditions";
import type { RestartStatus } from "../../api/controller-resilience";
import { incidentOf } from "./budget";

/**
 * Reports whether a restart rests on logs or Leases alone, without proof for the single pod. The canary and the breaker hold only for these.
 */
export function isUnproven({ cause }: Pick<RestartStatus, "cause">): boolean {
  return cause === Cause.LeaseNotRenewed || incidentOf({ cause }) === "unproven";
}
