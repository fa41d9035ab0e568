import { type DestinationStream, pino, stdTimeFunctions } from "pino";
import type { Log } from "../core/ports";

/** How much is logged. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** How the logger behaves. */
export interface LoggerOptions {
  readonly level: LogLevel;
  /** Where JSON lines go; standard output when absent. */
  readonly destination?: DestinationStream;
  /** For people at a terminal, by pino-pretty, if that is installed. Ignored with a destination. */
  readonly pretty?: boolean;
}

/** Fields that could hold a secret if somebody logged one by mistake. A second line of defence: the first is not to log them. */
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

/** Redacted at the top and one and two levels below, such as `headers.Authorization` and `request.headers.Authorization`. */
const REDACTED = SECRET_FIELDS.flatMap(field => [field, `*.${field}`, `*.*.${field}`]);

/** A bearer token or a JSON Web Token within a text. */
const TOKEN = /\b(?:Bearer\s+[\w.~+/=-]{8,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)/g;

/** Longest text field that is logged, so that no error message can flood the log. */
const MAX_TEXT = 4_096;

/** A logger that writes one JSON object per line: level in words, time in RFC 3339, `msg`, and the fields. */
export function createLogger(options: LoggerOptions): Log {
  const settings = {
    level: options.level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    redact: { paths: REDACTED, censor: "[redacted]" },
    formatters: { level: (label: string) => ({ level: label }), log: withoutTokens },
  };
  if (options.destination !== undefined) return pino(settings, options.destination);
  if (options.pretty !== true) return pino(settings);
  // pino-pretty runs in a worker, which takes no functions.
  const { formatters, ...plain } = settings;
  return pino({ ...plain, formatters: { log: formatters.log }, transport: { target: "pino-pretty" } });
}

/** Deeper than anything that is logged on purpose. */
const MAX_DEPTH = 6;

/** All texts, however deep they stand, are searched for tokens and cut. */
function withoutTokens(fields: Record<string, unknown>): Record<string, unknown> {
  return scrubbed(fields, 0) as Record<string, unknown>;
}

function scrubbed(value: unknown, depth: number): unknown {
  if (typeof value === "string") return value.slice(0, MAX_TEXT).replace(TOKEN, "[redacted]");
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return "[too deep]";
  if (Array.isArray(value)) return value.map(item => scrubbed(item, depth + 1));
  if (value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, scrubbed(item, depth + 1)]));
}
