import type { ControllerResilience } from "../../../api/controller-resilience";
import { CALL } from "../command";
import type { ExplainedCondition } from "./explain";

/** What a person can do, most urgent first. Pure. */
export function actionsFor(object: ControllerResilience, conditions: readonly ExplainedCondition[]): string[] {
  const { metadata, spec, status } = object;
  const where = `${metadata.name} -n ${metadata.namespace}`;
  const reasons = conditions.map(({ reason }) => reason);
  const throttled = (status?.flows ?? []).filter(({ state }) => state === "Throttled");
  const isStalled = conditions.some(({ type }) => type === "Stalled");
  return [
    ...(spec.suspend ? [`resume it: ${CALL} resume ${where}`] : []),
    ...(reasons.includes("BreakerTripped")
      ? [`find the cause of the 401 responses, then reset the breaker: ${CALL} breaker reset`]
      : []),
    ...throttled.map(
      ({ serviceAccount }) => `fix the client, then: ${CALL} release ${serviceAccount} -n ${metadata.namespace}`,
    ),
    ...(isStalled ? ["a person must act; the message of Stalled says how"] : []),
    ...(conditions.length === 0 ? ["check that the operator runs: it has reported nothing yet"] : []),
  ];
}
