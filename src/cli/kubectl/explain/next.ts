import { ConditionType } from "../../../api/conditions";
import type { ControllerResilience, StatusCondition, TargetStatus } from "../../../api/controller-resilience";
import { MANAGER } from "../../../api/names";
import { timeOf } from "../../../core/json";
import { HOOK_ANNOTATIONS } from "../../../core/views";
import { commandFor } from "../change/change";
import { OPERATOR_NAMESPACE } from "../reader";
import { idOf } from "./evidence";

/** A condition, with the help text of its reason. */
export interface ExplainedCondition
  extends Pick<StatusCondition, "type" | "status" | "reason" | "message" | "lastTransitionTime"> {
  readonly help?: string;
}

/** Something that the operator does next. */
export interface NextStep {
  /** RFC 3339; absent if no time is known. */
  readonly time?: string;
  /** The objects concerned, as in Evidence; empty: the whole object. */
  readonly about: readonly string[];
  readonly text: string;
}

/**
 * What happens next by the status of an object, soonest first. A restart that waits is in the condition's message, which the operator's own checks
 * have written. Pure. @param leads an operator leads
 */
export function nextOf(object: ControllerResilience, nowMs: number, leads: boolean): NextStep[] {
  const nothing = whyNothing(object.spec, leads);
  if (nothing === undefined) return soonestFirst([...flowsNext(object), ...bindingsNext(object, nowMs)]);
  return [{ about: [], text: nothing }, ...soonestFirst(expiries(object, nowMs))];
}

function whyNothing({ suspend, mode }: ControllerResilience["spec"], leads: boolean): string | undefined {
  const resumed = suspend ? " and a person resumes the object" : "";
  if (!leads) return `The operator does nothing until a replica leads${resumed}.`;
  if (suspend) return "Nothing, until a person resumes the object.";
  return mode === "Observe" ? "Mode Observe: the operator reports what it would do, and changes nothing." : undefined;
}

/** An enforcer deletes bindings whether an operator acts or not. */
function expiries({ spec, status }: ControllerResilience, nowMs: number): NextStep[] {
  if (spec.bindingRenewal === undefined) return [];
  return (status?.bindings ?? []).flatMap(({ kind, name, namespace, expiryTime }) => {
    if (expiryTime === undefined || (timeOf(expiryTime) ?? 0) < nowMs) return [];
    return [{ time: expiryTime, about: [idOf(kind, name, namespace)], text: `${kind} ${name} expires` }];
  });
}

function soonestFirst(steps: readonly NextStep[]): NextStep[] {
  return steps.toSorted((a, b) => (timeOf(a.time) ?? Infinity) - (timeOf(b.time) ?? Infinity) || 0);
}

function flowsNext({ spec, status }: ControllerResilience): NextStep[] {
  if (spec.flowIsolation === undefined) return [];
  return (status?.flows ?? []).flatMap(({ serviceAccount, state, until }) => {
    const text = state === undefined ? undefined : FLOW_ENDS[state];
    if (until === undefined || text === undefined) return [];
    return [
      {
        time: until,
        about: [idOf("ServiceAccount", serviceAccount)],
        text: `ServiceAccount ${serviceAccount} ${text}`,
      },
    ];
  });
}

const FLOW_ENDS: Readonly<Record<string, string>> = {
  Throttled: "is released",
  Probation: "is Normal again if it stays below its threshold",
  GivenUp: "is Normal again if it stays below its threshold",
};

function bindingsNext({ spec, status }: ControllerResilience, nowMs: number): NextStep[] {
  if (spec.bindingRenewal === undefined) return [];
  return (status?.bindings ?? []).flatMap(({ kind, name, namespace, state, renewTime, expiryTime }) => {
    const about = [idOf(kind, name, namespace)];
    const isKept = state === "Current" || state === "ExpiringSoon";
    const time = isKept ? renewTime : expiryTime;
    if (time === undefined || (timeOf(time) ?? 0) < nowMs) return [];
    return [
      { time, about, text: isKept ? `${kind} ${name} is renewed` : `${kind} ${name} expires and is not renewed` },
    ];
  });
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
    ...toRestart(object).map(target => restartByHand(target, object)),
    ...hooksToRemove(object),
    ...throttled.map(({ serviceAccount }) => ({
      text: `fix the client of ServiceAccount ${serviceAccount}; to end its throttle early:`,
      command: commandFor(`release ${serviceAccount}`, namespace),
    })),
    ...(isStalled ? [{ text: "act: the message of Stalled says how" }] : []),
    ...(conditions.length === 0 ? [{ text: "check that the operator runs: it has reported nothing yet" }] : []),
  ];
}

/** With the update strategy OnDelete, which a Deployment cannot have, a rollout replaces no pod. */
function restartByHand({ kind, name }: TargetStatus, { spec, metadata }: ControllerResilience): Action {
  const byHand =
    kind === "Deployment" ? "by hand" : "by hand (with updateStrategy OnDelete, delete its pods one by one)";
  const instead =
    spec.mode === "Observe" ? "let the operator do it with mode Enforce" : "wait for the operator, as the message says";
  return {
    text: `restart ${kind} ${name} ${byHand}, or ${instead}:`,
    command: `kubectl rollout restart ${kind.toLowerCase()}/${name} -n ${metadata.namespace}`,
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

/** Returns the workloads of an object for which a restart by hand is offered: the operator only observes their rejected pods, or waits. */
function toRestart({ status }: ControllerResilience): TargetStatus[] {
  const tokens = status?.conditions?.find(({ type }) => type === ConditionType.TokensAccepted);
  if (tokens?.reason !== "WouldRestart" && tokens?.reason !== "RestartDeferred") return [];
  return (status?.targets ?? []).filter(({ rejectedPods }) => rejectedPods > 0).slice(0, MOST_RESTARTS);
}
