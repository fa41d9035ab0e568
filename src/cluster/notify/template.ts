import { TerminalError } from "../../core/errors";
import type { Notification } from "../../core/notifications";

const FILE = "the file template in the folder of --notify-dir";

/** `{{ field }}`, or `{{ state | trigger | resolve }}`: the first word while the incident is open, the second one at its end. */
const PLACE = /\{\{\s*(\w+)\s*(?:\|([^|{}]*)\|([^|{}]*))?\}\}/g;

/** A text of JSON as it is written. The group is set if it is a key. */
const TEXT = /"(?:[^"\\]|\\.)*"(?=(\s*:)?)/g;

/** What one unit of a text's value is written as. */
const UNIT = /\\u[0-9a-f]{4}|\\.|[^]/gi;

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
    throw new TerminalError(`${FILE}: expected JSON`);
  }
  refuseMalformed(template);
  return fill(body, fieldsOf(notification, cluster));
}

/** Braces that no place uses would be sent as they are. */
function refuseMalformed(template: string): void {
  for (const { 0: written, 1: key, index } of template.matchAll(TEXT)) {
    const value = JSON.parse(written) as string;
    const rest = key === undefined ? value.replaceAll(PLACE, place => " ".repeat(place.length)) : value;
    const at = rest.search(/\{\{|\}\}/);
    if (at === -1) continue;
    const inText = (written.slice(1).match(UNIT) ?? []).slice(0, at).join("");
    const before = `${template.slice(0, index)}"${inText}`.split("\n");
    const position = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
    throw new TerminalError(
      `${FILE}: expected {{ FIELD }} or {{ state | OPEN | RESOLVED }} in texts, got another {{ or }} at ${position}`,
    );
  }
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
        `${FILE}: expected {{ state | OPEN | RESOLVED }}, or {{ FIELD }} with one of ${[...fields.keys()].join(", ")}`,
      );
    return (value === "Open" ? open : resolved)?.trim() ?? value;
  });
}
