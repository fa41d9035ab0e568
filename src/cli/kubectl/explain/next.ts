import { ConditionType, SUMMARIES } from "../../../api/conditions";
import type { ControllerResilience, StatusCondition, TargetStatus } from "../../../api/controller-resilience";
import { MANAGER } from "../../../api/names";
import { type Mode, modeOf, whyObserved } from "../../../core/remedy";
import { HOOK_ANNOTATIONS } from "../../../core/views";
import { commandFor } from "../change/change";
import { OPERATOR_NAMESPACE, type OperatorState } from "../reader";

/** A condition, with the help text of its reason. */
export interface ExplainedCondition
  extends Pick<StatusCondition, "type" | "status" | "reason" | "message" | "lastTransitionTime"> {
  readonly help?: string;
}

/** Why the operator does nothing for an object; undefined if it acts. Pure. @param leads an operator leads */
export function whyNothing(object: ControllerResilience, leads: boolean): string | undefined {
  const { suspend } = object.spec;
  const resumed = suspend ? " and a person resumes the object" : "";
  if (!leads) return `The operator does nothing until a replica leads${resumed}.`;
  if (suspend) return "Nothing, until a person resumes the object.";
  const mode = modeOf(object);
  return mode === "Enforce" ? undefined : `The operator only reports what it would do: ${whyObserved(mode)}.`;
}

/** Something that a person can do. */
export interface Action {
  readonly text: string;
  /** A command line to copy. */
  readonly command?: string;
}

/** Workloads of which the hook is named. */
const MOST_HOOKS = 3;

/** What a person can do, most urgent first: commands of this plugin. Pure. */
export function actionsFor(
  object: ControllerResilience,
  conditions: readonly ExplainedCondition[],
  { leads, lease }: Pick<OperatorState, "leads" | "lease"> = UNKNOWN_OPERATOR,
): Action[] {
  const { spec, status } = object;
  const isTripped = conditions.some(({ reason }) => reason === "BreakerTripped");
  const stalled = conditions.find(({ type }) => type === ConditionType.Stalled);
  const throttled = (status?.flows ?? []).filter(({ state }) => state === "Throttled");
  const { name, namespace } = object.metadata;
  return [
    ...(leads ? [] : [findLeader(lease)]),
    ...(spec.suspend ? [{ text: "resume it:", command: commandFor(`resume ${name}`, namespace) }] : []),
    ...(isTripped ? [resetBreaker(lease)] : []),
    ...toRestart(object).map(target => restartByHand(target, object)),
    ...hooksToRemove(object),
    ...throttled.map(({ serviceAccount }) => ({
      text: `fix the client of ServiceAccount ${serviceAccount}; to end its throttle early:`,
      command: commandFor(`release ${serviceAccount}`, namespace),
    })),
    ...(stalled === undefined ? [] : [{ text: `act: the message of ${repeatedBy(stalled, conditions)} says how` }]),
    ...(conditions.length === 0 ? [{ text: "check that the operator runs: it has reported nothing yet" }] : []),
  ];
}

/** Returns the type of the condition that says what Stalled repeats. */
function repeatedBy({ reason, type }: ExplainedCondition, all: readonly ExplainedCondition[]): string {
  return all.find(one => one.reason === reason && !SUMMARIES.includes(one.type))?.type ?? type;
}

/** The Lease could not be read. */
const UNKNOWN_OPERATOR = { leads: true, lease: `${OPERATOR_NAMESPACE}/${MANAGER}` };

function findLeader(lease: string): Action {
  return {
    text: "find out why no replica of the operator leads:",
    command: `kubectl get pods -n ${lease.split("/")[0] ?? ""}`,
  };
}

/** How the operator would do it instead. */
const INSTEAD: Readonly<Record<Mode, string>> = {
  Enforce: " if it cannot wait",
  Observe: ", or let the operator do it with mode Enforce",
  OperatorObserves: ", or let the operator do it with --mode=Enforce",
  NamespaceSkipped: "",
};

/** With the update strategy OnDelete, which a Deployment cannot have, a rollout replaces no pod. */
function restartByHand({ kind, name }: TargetStatus, object: ControllerResilience): Action {
  const onDelete = kind === "Deployment" ? "" : " (with updateStrategy OnDelete, delete its pods one by one)";
  return {
    text: `restart ${kind} ${name} by hand${onDelete}${INSTEAD[modeOf(object)]}:`,
    command: `kubectl rollout restart ${kind.toLowerCase()}/${name} -n ${object.metadata.namespace}`,
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

/** Workloads of one object for which a restart is offered. */
const MOST_RESTARTS = 3;

/** Reasons of a restart that would help, and that the operator does not make now. */
const WAITING: readonly string[] = ["WouldRestart", "RestartDeferred", "RestartBlocked"];

/** Returns the workloads of an object for which a restart by hand is offered: unless restarts have not helped. */
function toRestart({ status, spec }: ControllerResilience): TargetStatus[] {
  const tokens = status?.conditions?.find(({ type }) => type === ConditionType.TokensAccepted);
  if (spec.suspend || !WAITING.includes(tokens?.reason ?? "")) return [];
  return (status?.targets ?? []).filter(one => one.rejectedPods > 0).slice(0, MOST_RESTARTS);
}
