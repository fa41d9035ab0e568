import type { ControllerResilience } from "../../../api/controller-resilience";
import { MANAGER } from "../../../api/names";
import { HOOK_ANNOTATIONS } from "../../../core/recreating-hooks";
import { commandFor } from "../change/change";
import { OPERATOR_NAMESPACE } from "../operator";
import type { ExplainedCondition } from "./views";

/** Something that a person can do. */
export interface Action {
  readonly text: string;
  /** A command line to copy. */
  readonly command?: string;
}

/** Workloads of which a restart by hand is offered. */
const MOST_RESTARTS = 3;

/** What a person can do, most urgent first: commands of this plugin. Pure. @param lease the operator's, as namespace and name */
export function actionsFor(
  object: ControllerResilience,
  conditions: readonly ExplainedCondition[],
  lease = `${OPERATOR_NAMESPACE}/${MANAGER}`,
): Action[] {
  const { spec, status } = object;
  const isTripped = conditions.some(({ reason }) => reason === "BreakerTripped");
  const isStalled = conditions.some(({ type }) => type === "Stalled");
  const throttled = (status?.flows ?? []).filter(({ state }) => state === "Throttled");
  const { name, namespace } = object.metadata;
  return [
    ...(spec.suspend ? [{ text: "resume it:", command: commandFor(`resume ${name}`, namespace) }] : []),
    ...(isTripped ? [resetBreaker(lease)] : []),
    ...(conditions.some(({ reason }) => reason === "WouldRestart") ? restartByHand(object) : []),
    ...hooksToRemove(object),
    ...throttled.map(({ serviceAccount }) => ({
      text: `fix the client of ServiceAccount ${serviceAccount}; to end its throttle early:`,
      command: commandFor(`release ${serviceAccount}`, namespace),
    })),
    ...(isStalled ? [{ text: "act: the message of Stalled says how" }] : []),
    ...(conditions.length === 0 ? [{ text: "check that the operator runs: it has reported nothing yet" }] : []),
  ];
}

/** The operator only observes these. Pods of other kinds of owners have no such command. */
function restartByHand({ metadata, status }: ControllerResilience): Action[] {
  const rejected = (status?.targets ?? []).filter(
    ({ kind, rejectedPods }) => rejectedPods > 0 && ["Deployment", "StatefulSet", "DaemonSet"].includes(kind),
  );
  return rejected.slice(0, MOST_RESTARTS).map(({ kind, name }) => ({
    text: `restart ${kind} ${name} by hand, or let the operator do it with mode Enforce:`,
    command: `kubectl rollout restart ${kind.toLowerCase()}/${name} -n ${metadata.namespace}`,
  }));
}

const HOOKS: Readonly<Record<string, string>> = {
  HelmHook: `${HOOK_ANNOTATIONS.Helm} from it in its chart`,
  ArgoCDHook: `${HOOK_ANNOTATIONS["Argo CD"]} from it in Git`,
};

/** A restart heals the pods, until the hook recreates their ServiceAccount again. */
function hooksToRemove({ status }: ControllerResilience): Action[] {
  const recreated = (status?.targets ?? []).flatMap(({ kind, name, rejectedPods, recreatedBy = "" }) => {
    const what = HOOKS[recreatedBy];
    if (what === undefined || rejectedPods === 0) return [];
    return [{ text: `end the cause: a hook recreates the ServiceAccount of ${kind} ${name}; remove ${what}` }];
  });
  return recreated.slice(0, MOST_RESTARTS);
}

function resetBreaker(lease: string): Action {
  const [namespace = ""] = lease.split("/");
  const flag = namespace === OPERATOR_NAMESPACE ? "" : ` --operator-namespace ${namespace}`;
  return {
    text: "find the cause of the 401 responses, then reset the breaker:",
    command: commandFor(`breaker reset${flag}`),
  };
}
