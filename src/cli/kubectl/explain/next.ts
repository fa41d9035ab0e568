import type { ControllerResilience } from "../../../api/controller-resilience";
import { timeOf } from "../../../core/json";
import { budgetsOf } from "./budgets";
import { idOf } from "./evidence";

/** Something that the operator does next. */
export interface NextStep {
  /** RFC 3339; absent if no time is known. */
  readonly time?: string;
  /** The objects concerned, as in Evidence; empty: the whole object. */
  readonly about: readonly string[];
  readonly text: string;
}

/** What happens next by the status of an object, soonest first. Pure. @param leads an operator leads */
export function nextOf(object: ControllerResilience, nowMs: number, leads: boolean): NextStep[] {
  const { spec } = object;
  if (!leads) return withoutOperator(object, nowMs);
  if (spec.suspend) return [{ about: [], text: "Nothing, until a person resumes the object." }];
  const steps = [...restartsNext(object, nowMs), ...flowsNext(object), ...bindingsNext(object, nowMs)];
  if (spec.mode === "Observe")
    steps.push({ about: [], text: "Mode Observe: the operator reports what it would do, and changes nothing." });
  return soonestFirst(steps);
}

/** An enforcer deletes bindings whether an operator leads or not. Every other time is one that the operator would keep. */
function withoutOperator({ spec, status }: ControllerResilience, nowMs: number): NextStep[] {
  const resumed = spec.suspend ? " and a person resumes the object" : "";
  const expiries = (status?.bindings ?? []).flatMap(({ kind, name, namespace, expiryTime }) => {
    if (expiryTime === undefined || (timeOf(expiryTime) ?? 0) < nowMs) return [];
    return [{ time: expiryTime, about: [idOf(kind, name, namespace)], text: `${kind} ${name} expires` }];
  });
  return [
    { about: [], text: `The operator does nothing until a replica leads${resumed}.` },
    ...soonestFirst(spec.bindingRenewal === undefined ? [] : expiries),
  ];
}

function soonestFirst(steps: readonly NextStep[]): NextStep[] {
  return steps.toSorted((a, b) => (timeOf(a.time) ?? Infinity) - (timeOf(b.time) ?? Infinity) || 0);
}

function restartsNext(object: ControllerResilience, nowMs: number): NextStep[] {
  return budgetsOf(object, nowMs).flatMap(({ workload, cause, notBefore, limit }) =>
    notBefore === undefined
      ? []
      : [{ time: notBefore, about: [workload], text: `earliest next restart of ${workload} for ${cause} (${limit})` }],
  );
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
