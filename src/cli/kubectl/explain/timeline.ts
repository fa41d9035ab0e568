import type { ControllerResilience } from "../../../api/controller-resilience";
import { timeOf } from "../../../core/json";
import { safeText } from "../lines";
import { idOf } from "./evidence";
import type { EventFacts } from "./views";

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
