import { type DestinationStream, pino, stdTimeFunctions } from "pino";
import type { JsonObject } from "../core/json";
import type { Log } from "../core/ports";

export type LogLevel = "debug" | "info" | "warn" | "error";

/** Fields that may contain a secret that is logged by mistake: a second line of defense. */
const SECRET_FIELDS = [
  "token",
  "password",
  "secret",
  "authorization",
  "Authorization",
  "cookie",
  "clientKeyData",
  "data",
];

/** Redacted on three levels, such as `headers.Authorization` and `request.headers.Authorization`. */
const REDACTED = SECRET_FIELDS.flatMap(field => [field, `*.${field}`, `*.*.${field}`]);

/** A bearer token or a JSON Web Token in a text. */
const TOKEN = /\b(?:Bearer\s+[\w.~+/=-]{8,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)/g;

/** Longest text field, so that no error message floods the log. */
const MAX_TEXT = 4_096;

/**
 * Creates a logger that writes one JSON object per line: level name, RFC 3339 time, `msg` and the fields.
 *
 * @param options.destination absent: standard output
 */
export function createLogger({ level, destination }: { level: LogLevel; destination?: DestinationStream }): Log {
  const settings = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    redact: { paths: REDACTED, censor: "[redacted]" },
    // Without tokens in any text, however deep, and with long texts cut.
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: object) => scrubbed(fields) as JsonObject,
    },
  };
  return destination === undefined ? pino(settings) : pino(settings, destination);
}

/** Deeper than any intentional field. */
const MAX_DEPTH = 6;

function scrubbed(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return value.slice(0, MAX_TEXT).replace(TOKEN, "[redacted]");
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return "[too deep]";
  if (Array.isArray(value)) return value.map(item => scrubbed(item, depth + 1));
  if (value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, scrubbed(item, depth + 1)]));
}
