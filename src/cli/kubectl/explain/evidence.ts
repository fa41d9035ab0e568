import type {
  BindingStatus,
  ControllerResilience,
  ControllerResilienceStatus,
  DaemonSetStatus,
  FlowStatus,
  StallStatus,
  TargetStatus,
} from "../../../api/controller-resilience";
import { count } from "../../../core/count";
import { timeOf } from "../../../core/json";
import { when } from "../lines";

/** Something that the status of an object says about other objects. */
export interface Evidence {
  /** The objects, such as `Deployment/web`; {@link idOf} makes them. */
  readonly about: readonly string[];
  readonly text: string;
}

/** Identifies an object among those that one ControllerResilience names. */
export function idOf(kind: string, name: string, namespace?: string): string {
  return kind === "RoleBinding" ? `${kind}/${namespace ?? ""}/${name}` : `${kind}/${name}`;
}

/** What the status of an object says, worst first within each list. Pure. */
export function evidenceOf(object: ControllerResilience, nowMs: number): Evidence[] {
  const status: ControllerResilienceStatus = object.status ?? {};
  const flow = object.spec.flowIsolation;
  return [
    ...(status.targets ?? []).map(target => ofTarget(target, nowMs)),
    ...(status.stalls ?? []).map(stall => ofStall(stall, nowMs)),
    ...(status.flows ?? []).map(one => ofFlow(one, flow?.requestRate.threshold, nowMs)),
    ...(status.bindings ?? []).map(binding => ofBinding(binding, nowMs)),
    ...(status.daemonSets ?? []).map(daemonSet => ofDaemonSet(daemonSet, nowMs)),
  ];
}

function ofTarget({ kind, name, pods, rejectedPods, lastUnauthorizedTime }: TargetStatus, nowMs: number): Evidence {
  const last = lastUnauthorizedTime === undefined ? "" : `; last 401 ${when(lastUnauthorizedTime, nowMs)}`;
  return {
    about: [idOf(kind, name)],
    text: `${kind}/${name}: ${rejectedPods} of ${count(pods, "pod")} rejected${last}`,
  };
}

function ofStall({ workload, evidence, since, pod, lease, denied }: StallStatus, nowMs: number): Evidence {
  const which = [lease && `Lease ${lease}`, pod && `pod ${pod}`, denied && `denied: ${denied}`].filter(Boolean);
  const detail = which.length === 0 ? "" : `; ${which.join("; ")}`;
  return {
    about: [workload, ...(pod === undefined ? [] : [idOf("Pod", pod)])],
    text: `${workload}: no activity by ${evidence} since ${when(since, nowMs)}${detail}`,
  };
}

function ofFlow(flow: FlowStatus, threshold: number | undefined, nowMs: number): Evidence {
  const { serviceAccount, state, requestsPerSecond, since, until, flowSchema } = flow;
  const parts = [
    `ServiceAccount/${serviceAccount}: ${state ?? "unknown"}`,
    requestsPerSecond === undefined
      ? "rate unknown"
      : `${requestsPerSecond} requests/s${threshold === undefined ? "" : `, threshold ${threshold}`}`,
    ...(since === undefined ? [] : [`since ${when(since, nowMs)}`]),
    ...(until === undefined ? [] : [`until ${when(until, nowMs)}`]),
    ...(flowSchema === undefined ? [] : [`FlowSchema ${flowSchema}`]),
  ];
  return { about: [idOf("ServiceAccount", serviceAccount)], text: parts.join("; ") };
}

function ofBinding(
  { kind, name, namespace, state, expiryTime, lastRenewalTime }: BindingStatus,
  nowMs: number,
): Evidence {
  const verb = (timeOf(expiryTime) ?? Infinity) < nowMs ? "expired" : "expires";
  const expiry = expiryTime === undefined ? "" : `; ${verb} ${when(expiryTime, nowMs)}`;
  const renewal = lastRenewalTime === undefined ? "" : `; renewed ${when(lastRenewalTime, nowMs)}`;
  return { about: [idOf(kind, name, namespace)], text: `${kind}/${name}: ${state}${expiry}${renewal}` };
}

function ofDaemonSet({ name, outcome, hindrance, appliedTime }: DaemonSetStatus, nowMs: number): Evidence {
  const applied = appliedTime === undefined ? "" : `; changed ${when(appliedTime, nowMs)}`;
  const hindered = hindrance === undefined ? "" : `; ${hindrance.message}`;
  return { about: [idOf("DaemonSet", name)], text: `DaemonSet/${name}: ${outcome}${applied}${hindered}` };
}
