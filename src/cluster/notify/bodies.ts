import type { Notification } from "../../core/notifications";

/** The formats that a receiver may want. There is no template language: it would be one more way to leak or to break a body. */
export const NOTIFY_FORMATS = ["cloudevents", "slack", "alertmanager"] as const;

/** One of the formats. */
export type NotifyFormat = (typeof NOTIFY_FORMATS)[number];

/** A request body and its type. */
export interface Body {
  readonly contentType: string;
  readonly text: string;
}

/** Alertmanager ends an alert without an end after five minutes, and each incident is sent only once. */
const ALERT_LASTS_MS = 86_400_000;

/** Returns the body of one notification. `cluster` tells the clusters of one receiver apart. Pure. */
export function bodyOf(format: NotifyFormat, notification: Notification, cluster: string): Body {
  switch (format) {
    case "cloudevents":
      return json(cloudEvent(notification, cluster), "application/cloudevents+json; charset=utf-8");
    case "slack":
      return json({ text: slackText(notification, cluster) });
    case "alertmanager":
      return json([alert(notification, cluster)]);
  }
}

/** CloudEvents 1.0 in structured mode. */
function cloudEvent(notification: Notification, cluster: string): object {
  const { id, state, topic, subject, condition, reason, message, since, time } = notification;
  const { apiVersion, kind, namespace, name, uid } = subject;
  const place = namespace === undefined ? [] : ["namespaces", namespace];
  return {
    specversion: "1.0",
    id,
    source: ["", "clusters", cluster, ...place, kind.toLowerCase(), name].map(encodeURIComponent).join("/"),
    type: `io.controller-resilience.incident.${state.toLowerCase()}`,
    subject: topic,
    time,
    datacontenttype: "application/json",
    data: { state, cluster, object: { apiVersion, kind, namespace, name, uid }, condition, reason, message, since },
  };
}

function slackText({ state, topic, subject, message }: Notification, cluster: string): string {
  const { kind, namespace, name } = subject;
  const id = [cluster, namespace, name].filter(Boolean).join("/");
  // Slack's own escapes; without them a message could mention a whole channel.
  const [what, why] = [`${state === "Open" ? topic : `Resolved: ${topic}`}: ${kind} ${id}`, message].map(text =>
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
  );
  return `*${what ?? ""}*\n${why ?? ""}`;
}

/** An alert of Alertmanager's API v2. Its labels are the same when it opens and when it is resolved. */
function alert({ state, topic, subject, condition, reason, message, since, time }: Notification, cluster: string) {
  const { kind, namespace = "", name } = subject;
  const endMs = Date.parse(time) + (state === "Open" ? ALERT_LASTS_MS : 0);
  return {
    labels: { alertname: `ControllerResilience${topic}`, cluster, kind, namespace, name, condition },
    annotations: { summary: `${kind} ${namespace}/${name}: ${reason}`, description: message },
    startsAt: since,
    endsAt: new Date(endMs).toISOString(),
  };
}

function json(value: unknown, contentType = "application/json"): Body {
  return { contentType, text: JSON.stringify(value) };
}
