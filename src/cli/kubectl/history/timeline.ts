import type { ControllerResilience } from "../../../api/controller-resilience";
import { timeOf } from "../../../core/json";
import type { EventFacts } from "../explain/views";
import type { Paint } from "../io";
import { absolute, relative, safeText, wrapText } from "../lines";

/** Something that happened. */
export interface Moment {
  /** RFC 3339. */
  readonly time: string;
  readonly namespace: string;
  /** The ControllerResilience, or what the Event regards, as `Pod/web-1`. */
  readonly object: string;
  readonly what: string;
  readonly text: string;
  readonly source: "Status" | "Event";
}

/** Returns what status and Events say has happened, newest last. Moments without a readable time are left out. Pure. */
export function timelineOf(objects: readonly ControllerResilience[], events: readonly EventFacts[]): Moment[] {
  return [...objects.flatMap(ofStatus), ...events.map(ofEvent)]
    .filter(({ time }) => timeOf(time) !== undefined)
    .toSorted((a, b) => Date.parse(a.time) - Date.parse(b.time));
}

function ofStatus({ metadata, status = {} }: ControllerResilience): Moment[] {
  const { restarts, bindings, flows, daemonSets, stalls } = status;
  const common = { namespace: metadata.namespace, object: `cres/${metadata.name}`, source: "Status" } as const;
  const at = (time: string | undefined, what: string, text: string): Moment[] =>
    time === undefined ? [] : [{ ...common, time, what, text: safeText(text) }];
  return [
    ...(restarts ?? []).flatMap(({ time, pod, workload, cause, outcome }) =>
      at(time, "Restart", `pod ${pod} of ${workload}; cause ${cause}; outcome ${outcome}`),
    ),
    ...(bindings ?? []).flatMap(({ lastRenewalTime, kind, name, expiryTime }) =>
      at(lastRenewalTime, "Renewal", `${kind} ${name}${expiryTime === undefined ? "" : `, now until ${expiryTime}`}`),
    ),
    ...(flows ?? []).flatMap(({ since, state, serviceAccount }) =>
      state === undefined || state === "Normal" ? [] : at(since, state, `ServiceAccount ${serviceAccount}`),
    ),
    ...(daemonSets ?? []).flatMap(({ appliedTime, name, outcome }) =>
      at(appliedTime, "TemplateChange", `DaemonSet ${name}; now ${outcome}`),
    ),
    ...(stalls ?? []).flatMap(({ since, workload, evidence }) =>
      at(since, "Stall", `${workload}; evidence ${evidence}`),
    ),
  ];
}

function ofEvent({ namespace, time, kind, name, reason, note, count }: EventFacts): Moment {
  const object = `${kind === "ControllerResilience" ? "cres" : kind}/${name}`;
  return {
    time,
    namespace,
    object,
    what: reason,
    text: count > 1 ? `${note} (${count} times)` : note,
    source: "Event",
  };
}

/** Formats a timeline for a person. Pure. */
export function formatTimeline(
  moments: readonly Moment[],
  { paint, columns, nowMs }: { paint: Paint; columns: number; nowMs: number },
): string {
  const lines = moments.flatMap(({ time, namespace, object, what, text }) => {
    const ms = Date.parse(time);
    const head = `${absolute(ms)}  ${relative(ms, nowMs).padEnd(12)}  ${paint("bold", what)}`;
    return [head, ...wrapText(`${namespace}/${object}`, "  ", columns), ...wrapText(text, "    ", columns)];
  });
  return `${lines.join("\n")}\n`;
}
