import type { ControllerResilience } from "../../../api/controller-resilience";
import { BREAKER_ANNOTATION, MANAGER } from "../../../api/names";
import { OPERATOR_NAMESPACE } from "../operator";
import type { ExplainedCondition } from "./views";

/** Something that a person can do. */
export interface Action {
  readonly text: string;
  /** A command line to copy. */
  readonly command?: string;
}

/** What a person can do, most urgent first: the commands of docs/. Pure. @param lease the operator's, as namespace and name */
export function actionsFor(
  object: ControllerResilience,
  conditions: readonly ExplainedCondition[],
  lease = `${OPERATOR_NAMESPACE}/${MANAGER}`,
): Action[] {
  const { spec, status } = object;
  const isTripped = conditions.some(({ reason }) => reason === "BreakerTripped");
  const isStalled = conditions.some(({ type }) => type === "Stalled");
  const throttled = (status?.flows ?? []).filter(({ state }) => state === "Throttled");
  return [
    ...(spec.suspend ? [{ text: "resume it (with GitOps, in Git):", command: patch(object, { suspend: false }) }] : []),
    ...(isTripped ? [resetBreaker(lease)] : []),
    ...(throttled.length > 0 ? [release(object, throttled)] : []),
    ...(isStalled ? [{ text: "act: the message of Stalled says how" }] : []),
    ...(conditions.length === 0 ? [{ text: "check that the operator runs: it has reported nothing yet" }] : []),
  ];
}

function resetBreaker(lease: string): Action {
  const [namespace = "", name = ""] = lease.split("/");
  return {
    text: "find the cause of the 401 responses, then reset the breaker:",
    command: `kubectl annotate lease -n ${namespace} ${name} ${BREAKER_ANNOTATION}-`,
  };
}

function release(object: ControllerResilience, flows: readonly { readonly serviceAccount: string }[]): Action {
  const names = flows.map(({ serviceAccount }) => serviceAccount).join(", ");
  return {
    text: `fix the client of ServiceAccount ${names}. To release every flow of the object now (with GitOps, in Git too), report only:`,
    command: patch(object, { flowIsolation: { requestRate: { onRunaway: "Report" } } }),
  };
}

function patch({ metadata }: ControllerResilience, spec: object): string {
  return `kubectl patch cres ${metadata.name} -n ${metadata.namespace} --type merge -p '${JSON.stringify({ spec })}'`;
}
