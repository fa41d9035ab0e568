import type {
  BindingStatus,
  ControllerResilience,
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

/** When an object is explained. */
interface View {
  readonly nowMs: number;
  /** The operator acts: what it does next has a time. */
  readonly acts: boolean;
}

/** What the status of an object says, worst first within each list. Pure. */
export function evidenceOf({ spec, status = {} }: ControllerResilience, view: View): Evidence[] {
  return [
    ...(status.targets ?? []).map(target => ofTarget(target, view)),
    ...(status.stalls ?? []).map(stall => ofStall(stall, view)),
    ...(status.flows ?? []).map(flow => ofFlow(flow, spec.flowIsolation?.requestRate.threshold, view)),
    ...(status.bindings ?? []).map(binding => ofBinding(binding, view)),
    ...(status.daemonSets ?? []).map(daemonSet => ofDaemonSet(daemonSet, view)),
  ];
}

/** Joins what is known, such as `Deployment/web: 1 of 3 pods rejected`. */
function joined(id: string, parts: readonly (string | undefined)[]): string {
  return `${id}: ${parts.filter(part => part !== undefined && part !== "").join("; ")}`;
}

/** Returns `since 5m ago (...)` for a time that is known. */
function at(word: string, time: string | undefined, { nowMs }: View): string | undefined {
  return time === undefined ? undefined : `${word} ${when(time, nowMs)}`;
}

function isAhead(time: string | undefined, { nowMs }: View): boolean {
  return (timeOf(time) ?? -Infinity) >= nowMs;
}

function ofTarget({ kind, name, pods, rejectedPods, lastUnauthorizedTime }: TargetStatus, view: View): Evidence {
  const id = idOf(kind, name);
  // Status follows the log coarsely, so a later 401 is likely.
  const last = at("last 401 at most", lastUnauthorizedTime, view);
  return { about: [id], text: joined(id, [`${rejectedPods} of ${count(pods, "pod")} rejected`, last]) };
}

function ofStall({ workload, evidence, since, pod, lease, object, denied }: StallStatus, view: View): Evidence {
  const which = [object, lease && `Lease ${lease}`, pod && `pod ${pod}`, denied && `denied: ${denied}`];
  return {
    about: [workload, ...(pod === undefined ? [] : [idOf("Pod", pod)])],
    text: joined(workload, [at(`no activity by ${evidence} since`, since, view), ...which]),
  };
}

const FLOW_ENDS: Readonly<Record<string, string>> = {
  Throttled: "released",
  Probation: "Normal again, if it stays below its threshold,",
  GivenUp: "Normal again, if it stays below its threshold,",
};

function ofFlow(flow: FlowStatus, threshold: number | undefined, view: View): Evidence {
  const { serviceAccount, state = "unknown", requestsPerSecond, since, until, flowSchema } = flow;
  const id = idOf("ServiceAccount", serviceAccount);
  const limit = threshold === undefined ? "" : `, threshold ${threshold}`;
  const end = view.acts ? FLOW_ENDS[state] : undefined;
  return {
    about: [id],
    text: joined(id, [
      state,
      requestsPerSecond === undefined ? "rate unknown" : `${requestsPerSecond} requests/s${limit}`,
      at("since", since, view),
      end && at(end, until, view),
      flowSchema && `FlowSchema ${flowSchema}`,
    ]),
  };
}

/** An enforcer deletes bindings whether an operator acts or not. */
function ofBinding(binding: BindingStatus, view: View): Evidence {
  const { kind, name, namespace, state, expiryTime, renewTime, lastRenewalTime } = binding;
  const isRenewed = view.acts && (state === "Current" || state === "ExpiringSoon") && isAhead(renewTime, view);
  return {
    about: [idOf(kind, name, namespace)],
    text: joined(`${kind}/${name}`, [
      state,
      at(isAhead(expiryTime, view) ? "expires" : "expired", expiryTime, view),
      isRenewed ? at("is renewed", renewTime, view) : undefined,
      at("was renewed", lastRenewalTime, view),
    ]),
  };
}

function ofDaemonSet({ name, outcome, appliedTime }: DaemonSetStatus, view: View): Evidence {
  const id = idOf("DaemonSet", name);
  return { about: [id], text: joined(id, [outcome, at("changed", appliedTime, view)]) };
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
 * Returns what has happened, newest last: what Events say, and the restarts in status from before the oldest of them, since Kubernetes
 * deletes Events after an hour by default. Moments without a readable time are left out. Pure.
 */
export function timelineOf({ status = {} }: ControllerResilience, events: readonly EventFacts[]): Moment[] {
  const told = inOrder(momentsOf(events));
  const since = told[0] === undefined ? Infinity : Date.parse(told[0].time);
  const restarts = (status.restarts ?? []).map(({ time, pod, workload, cause, outcome }) => ({
    ...{ time, about: [workload, idOf("Pod", pod)], what: "Restart" },
    text: safeText(`pod ${pod} of ${workload}; cause ${cause}; outcome ${outcome}`),
  }));
  return [...inOrder(restarts).filter(({ time }) => Date.parse(time) < since), ...told];
}

function inOrder(moments: readonly Moment[]): Moment[] {
  return moments
    .filter(({ time }) => timeOf(time) !== undefined)
    .toSorted((a, b) => Date.parse(a.time) - Date.parse(b.time));
}

/** What Events say, oldest first. Those that say the same of the same object are one, at the time of the last. */
export function momentsOf(events: readonly EventFacts[]): Moment[] {
  const counts = new Map<string, number>();
  const last = new Map<string, EventFacts>();
  for (const event of events) {
    const id = [event.kind, event.name, event.reason, event.note].join(" ");
    counts.set(id, (counts.get(id) ?? 0) + event.count);
    last.delete(id);
    last.set(id, event);
  }
  return [...last].map(([id, { time, kind, name, reason, note }]) => {
    const count = counts.get(id) ?? 1;
    return { time, about: [idOf(kind, name)], what: count > 1 ? `${reason} x${count}` : reason, text: note };
  });
}
