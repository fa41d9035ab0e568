import { BREAKER_ANNOTATION, MANAGER } from "../../api/names";
import { objectOf, textOf, textsOf, type JsonObject, timeOf } from "../../core/json";
import { safeText } from "./lines";

/** Namespace of the operator in docs/install.md. */
export const OPERATOR_NAMESPACE = "controller-resilience-system";

/** The operator as its Lease shows it. */
export interface OperatorState {
  /** Namespace and name of the Lease. */
  readonly lease: string;
  /** RFC 3339; absent if no operator has led. */
  readonly renewTime?: string;
  /** An operator holds the Lease and renews it. */
  readonly leads: boolean;
  /** Why the restart breaker is tripped; absent if it is not. */
  readonly breaker?: string;
}

/** A Lease that was not renewed for longer is stale, as README.md says. */
const STALE_MS = 15_000;

/** Reads the state of the operator from its Lease; null is a Lease that does not exist. Pure. */
export function operatorState(lease: JsonObject | null, namespace: string, nowMs: number): OperatorState {
  const { spec, metadata } = lease ?? {};
  const { renewTime, holderIdentity } = objectOf(spec);
  const renewedMs = timeOf(renewTime);
  const breaker = textsOf(objectOf(metadata)["annotations"])[BREAKER_ANNOTATION];
  const isHeld = (textOf(holderIdentity) ?? "") !== "";
  return {
    lease: `${namespace}/${MANAGER}`,
    ...(renewedMs === undefined ? {} : { renewTime: new Date(renewedMs).toISOString() }),
    leads: isHeld && renewedMs !== undefined && nowMs - renewedMs <= STALE_MS,
    ...(breaker === undefined ? {} : { breaker: safeText(breaker) || "no reason given" }),
  };
}
