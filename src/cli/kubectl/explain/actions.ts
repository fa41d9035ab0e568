import type { ControllerResilience, TargetStatus } from "../../../api/controller-resilience";
import { MANAGER } from "../../../api/names";
import { HOOK_ANNOTATIONS } from "../../../core/recreating-hooks";
import { commandFor } from "../change/change";
import { OPERATOR_NAMESPACE } from "../operator";
import { type OnDelete, onDeleteKey, toRestart } from "./on-delete";
import type { ExplainedCondition } from "./views";

/** Something that a person can do. */
export interface Action {
  readonly text: string;
  /** A command line to copy. */
  readonly command?: string;
}

/** Workloads of which the hook is named. */
const MOST_HOOKS = 3;

/** What the actions also depend on. */
interface Known {
  /** The operator's, as namespace and name. Absent: the default. */
  readonly lease?: string | undefined;
  readonly onDelete?: OnDelete | undefined;
}

/** What a person can do, most urgent first: commands of this plugin. Pure. */
export function actionsFor(
  object: ControllerResilience,
  conditions: readonly ExplainedCondition[],
  { lease = `${OPERATOR_NAMESPACE}/${MANAGER}`, onDelete = new Map() }: Known = {},
): Action[] {
  const { spec, status } = object;
  const isTripped = conditions.some(({ reason }) => reason === "BreakerTripped");
  const isStalled = conditions.some(({ type }) => type === "Stalled");
  const throttled = (status?.flows ?? []).filter(({ state }) => state === "Throttled");
  const { name, namespace } = object.metadata;
  return [
    ...(spec.suspend ? [{ text: "resume it:", command: commandFor(`resume ${name}`, namespace) }] : []),
    ...(isTripped ? [resetBreaker(lease)] : []),
    ...toRestart(object).map(target => restartByHand(target, object.metadata.namespace, onDelete)),
    ...hooksToRemove(object),
    ...throttled.map(({ serviceAccount }) => ({
      text: `fix the client of ServiceAccount ${serviceAccount}; to end its throttle early:`,
      command: commandFor(`release ${serviceAccount}`, namespace),
    })),
    ...(isStalled ? [{ text: "act: the message of Stalled says how" }] : []),
    ...(conditions.length === 0 ? [{ text: "check that the operator runs: it has reported nothing yet" }] : []),
  ];
}

/** With the update strategy OnDelete a restart of the workload replaces no pod. */
function restartByHand(target: TargetStatus, namespace: string, onDelete: OnDelete): Action {
  const { kind, name } = target;
  const byHand = onDelete.get(onDeleteKey(namespace, target));
  if (byHand === undefined) {
    return {
      text: `restart ${kind} ${name} by hand, or let the operator do it with mode Enforce:`,
      command: `kubectl rollout restart ${kind.toLowerCase()}/${name} -n ${namespace}`,
    };
  }
  return {
    text: `delete the pods of ${kind} ${name} by hand, one by one, because its updateStrategy ${byHand.isKnown ? "is" : "may be"} OnDelete (kubectl delete pod POD -n ${namespace}); or let the operator do it with mode Enforce. Its pods:`,
    command: `kubectl get pods -n ${namespace}${byHand.selector}`,
  };
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
  return recreated.slice(0, MOST_HOOKS);
}

function resetBreaker(lease: string): Action {
  const [namespace = ""] = lease.split("/");
  const flag = namespace === OPERATOR_NAMESPACE ? "" : ` --operator-namespace ${namespace}`;
  return {
    text: "find the cause of the 401 responses, then reset the breaker:",
    command: commandFor(`breaker reset${flag}`),
  };
}
