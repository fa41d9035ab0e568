import type {
  BindingStatus,
  ControllerResilience,
  ControllerResilienceStatus,
  DaemonSetStatus,
  FlowStatus,
  StallStatus,
  TargetStatus,
} from "../../../api/controller-resilience";
import { count } from "../../../core/text";
import { timeOf } from "../../../core/json";
import { safeText, when } from "../terminal";
import type { EventFacts } from "../reader";

/** Something that the status of an object says about other objects. */
interface Evidence {
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

function ofDaemonSet({ name, outcome, appliedTime }: DaemonSetStatus, nowMs: number): Evidence {
  const applied = appliedTime === undefined ? "" : `; changed ${when(appliedTime, nowMs)}`;
  return { about: [idOf("DaemonSet", name)], text: `DaemonSet/${name}: ${outcome}${applied}` };
}

/** Something that happened. */
export interface Moment {
  /** RFC 3339. */
  readonly time: string;
  /** What it concerns; {@link idOf} makes them. */
  readonly about: readonly string[];
  readonly what: string;
  readonly text: string;
}

/**
 * Returns what has happened, newest last: what Events say, and from before the oldest of them what status says, since Kubernetes
 * deletes Events after an hour by default. Moments without a readable time are left out. Pure.
 */
export function timelineOf(object: ControllerResilience, events: readonly EventFacts[]): Moment[] {
  const told = inOrder(events.map(momentOf));
  const since = told[0] === undefined ? Infinity : Date.parse(told[0].time);
  return [...inOrder(ofStatus(object)).filter(({ time }) => Date.parse(time) < since), ...told];
}

function inOrder(moments: readonly Moment[]): Moment[] {
  return moments
    .filter(({ time }) => timeOf(time) !== undefined)
    .toSorted((a, b) => Date.parse(a.time) - Date.parse(b.time));
}

function ofStatus({ status = {} }: ControllerResilience): Moment[] {
  const { restarts, bindings, flows, daemonSets, stalls } = status;
  const at = (time: string | undefined, about: readonly string[], what: string, text: string): Moment[] =>
    time === undefined ? [] : [{ time, about, what, text: safeText(text) }];
  return [
    ...(restarts ?? []).flatMap(({ time, pod, workload, cause, outcome }) =>
      at(
        time,
        [workload, idOf("Pod", pod)],
        "Restart",
        `pod ${pod} of ${workload}; cause ${cause}; outcome ${outcome}`,
      ),
    ),
    ...(bindings ?? []).flatMap(({ lastRenewalTime, kind, name, namespace, expiryTime }) =>
      at(
        lastRenewalTime,
        [idOf(kind, name, namespace)],
        "Renewal",
        `${kind} ${name}${expiryTime === undefined ? "" : `, now until ${expiryTime}`}`,
      ),
    ),
    ...(flows ?? []).flatMap(({ since, state, serviceAccount }) =>
      state === undefined || state === "Normal"
        ? []
        : at(since, [idOf("ServiceAccount", serviceAccount)], state, `ServiceAccount ${serviceAccount}`),
    ),
    ...(daemonSets ?? []).flatMap(({ appliedTime, name, outcome }) =>
      at(appliedTime, [idOf("DaemonSet", name)], "TemplateChange", `DaemonSet ${name}; now ${outcome}`),
    ),
    ...(stalls ?? []).flatMap(({ since, workload, evidence }) =>
      at(since, [workload], "Stall", `${workload}; evidence ${evidence}`),
    ),
  ];
}

/** What an Event says. */
export function momentOf({ time, kind, name, reason, note, count }: EventFacts): Moment {
  return { time, about: [idOf(kind, name)], what: count > 1 ? `${reason} x${count}` : reason, text: note };
}
