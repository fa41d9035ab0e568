import { TerminalError } from "../../core/errors";
import type { Notification } from "../../core/notifications";
import { fillTemplate } from "./template";

/** The formats that a receiver may want. */
export const NOTIFY_FORMATS = ["cloudevents", "slack", "alertmanager", "template"] as const;

/** One of the formats. */
export type NotifyFormat = (typeof NOTIFY_FORMATS)[number];

/** A request body and its type. */
export interface Body {
  readonly contentType: string;
  readonly text: string;
}

/** Alertmanager ends an alert without an end after five minutes, and each incident is sent only once. */
const ALERT_LASTS_MS = 86_400_000;

/** What a body depends on besides the notification. */
export interface BodyOptions {
  readonly format: NotifyFormat;
  /** Tells the clusters of one receiver apart. */
  readonly cluster: string;
  /** For the format `template`. */
  readonly template?: string | undefined;
}

/** Returns the body of one notification. Pure. @throws TerminalError for a template that is missing or not valid */
export function bodyOf(notification: Notification, { format, cluster, template }: BodyOptions): Body {
  switch (format) {
    case "cloudevents":
      return json(cloudEvent(notification, cluster), "application/cloudevents+json; charset=utf-8");
    case "slack":
      return json({ text: slackText(notification, cluster) });
    case "alertmanager":
      return json([alert(notification, cluster)]);
    case "template":
      if (template === undefined) throw new TerminalError("the folder of --notify-dir has no file template");
      return json(fillTemplate(template, notification, cluster));
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
