import type { EventRecord } from "../../core/ports";

/** The formats that a receiver may want. */
export const NOTIFY_FORMATS = ["cloudevents", "slack", "alertmanager"] as const;

/** One of the formats. */
export type NotifyFormat = (typeof NOTIFY_FORMATS)[number];

/** An Event to post. */
export interface Posted {
  /** The same for each attempt, so that receivers can drop duplicates. */
  readonly id: string;
  /** When it was recorded; RFC 3339. */
  readonly time: string;
  readonly event: EventRecord;
}

/** A request body and its type. */
export interface Body {
  readonly contentType: string;
  readonly text: string;
}

/** Alertmanager ends an alert without an end after five minutes, and a Warning is posted only once. */
const ALERT_LASTS_MS = 86_400_000;

/** Returns the body of one Event. `cluster` tells the clusters of one receiver apart. Pure. */
export function bodyOf(posted: Posted, format: NotifyFormat, cluster: string): Body {
  switch (format) {
    case "cloudevents":
      return json(cloudEvent(posted, cluster), "application/cloudevents+json; charset=utf-8");
    case "slack":
      return json({ text: slackText(posted, cluster) });
    case "alertmanager":
      return json([alert(posted, cluster)]);
  }
}

/** CloudEvents 1.0 in structured mode. */
function cloudEvent({ id, time, event }: Posted, cluster: string): object {
  const { regarding, related, type, reason, note, problem, isEnd = false } = event;
  const { kind, namespace, name } = regarding;
  const place = namespace === undefined ? [] : ["namespaces", namespace];
  return {
    specversion: "1.0",
    id,
    source: ["", "clusters", cluster, ...place, kind.toLowerCase(), name].map(encodeURIComponent).join("/"),
    type: `io.controller-resilience.event.${type.toLowerCase()}`,
    subject: reason,
    time,
    datacontenttype: "application/json",
    data: { cluster, type, reason, note, regarding, related, problem, isEnd },
  };
}

function slackText({ event: { regarding, reason, note, isEnd = false } }: Posted, cluster: string): string {
  const { kind, namespace, name } = regarding;
  const id = [cluster, namespace, name].filter(Boolean).join("/");
  // Slack's own escapes; without them a message could mention a whole channel.
  const [what, why] = [`${isEnd ? "Resolved: " : ""}${reason}: ${kind} ${id}`, note].map(text =>
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
  );
  return `*${what ?? ""}*\n${why ?? ""}`;
}

/** An alert of Alertmanager's API v2. A problem and its end have the same labels. */
function alert({ time, event: { regarding, reason, note, problem = reason, isEnd = false } }: Posted, cluster: string) {
  const { kind, namespace = "", name } = regarding;
  return {
    labels: { alertname: `ControllerResilience${problem}`, cluster, kind, namespace, name },
    annotations: { summary: `${kind} ${namespace}/${name}: ${reason}`, description: note },
    startsAt: time,
    endsAt: isEnd ? time : new Date(Date.parse(time) + ALERT_LASTS_MS).toISOString(),
  };
}

function json(value: unknown, contentType = "application/json"): Body {
  return { contentType, text: JSON.stringify(value) };
}
