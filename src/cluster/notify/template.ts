import { TerminalError } from "../../core/errors";
import type { Notification } from "../../core/notifications";

/** `{{ field }}`, or `{{ state | trigger | resolve }}`: the first word while the incident is open, the second one at its end. */
const PLACE = /\{\{\s*(\w+)\s*(?:\|([^|{}]*)\|([^|{}]*))?\}\}/g;

/**
 * Fills a template: JSON, with `{{ field }}` in its texts. Values are put into texts after the template was parsed, so none of them can
 * break the body or add to it. Pure.
 *
 * @throws TerminalError without any text of the template, which may be secret
 */
export function fillTemplate(template: string, notification: Notification, cluster: string): unknown {
  let body: unknown;
  try {
    body = JSON.parse(template);
  } catch {
    throw new TerminalError("the file template in the folder of --notify-dir: expected JSON");
  }
  return fill(body, fieldsOf(notification, cluster));
}

function fieldsOf({ subject, ...notification }: Notification, cluster: string): ReadonlyMap<string, string> {
  const { id, state, topic, condition, reason, message, since, time } = notification;
  const { kind, namespace = "", name } = subject;
  const fields = { id, state, topic, cluster, kind, namespace, name, condition, reason, message, since, time };
  return new Map(Object.entries(fields));
}

function fill(part: unknown, fields: ReadonlyMap<string, string>): unknown {
  if (typeof part === "string") return fillText(part, fields);
  if (Array.isArray(part)) return part.map(one => fill(one, fields));
  if (typeof part !== "object" || part === null) return part;
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, fill(value, fields)]));
}

function fillText(text: string, fields: ReadonlyMap<string, string>): string {
  return text.replaceAll(PLACE, (_, name: string, open?: string, resolved?: string) => {
    const value = fields.get(name);
    if (value === undefined || (open !== undefined && name !== "state"))
      throw new TerminalError(
        `the file template in the folder of --notify-dir: expected {{ state | OPEN | RESOLVED }}, or {{ FIELD }} with one of ${[...fields.keys()].join(", ")}`,
      );
    return (value === "Open" ? open : resolved)?.trim() ?? value;
  });
}
