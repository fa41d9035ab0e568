import { type DestinationStream, pino, stdTimeFunctions } from "pino";
import type { Clock } from "../core/time";
import type { Log } from "../core/ports";

export type LogLevel = "debug" | "info" | "warn" | "error";

export interface LoggerOptions {
  readonly level: LogLevel;
  /** Absent: standard output. */
  readonly destination?: DestinationStream;
}

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

/** Creates a logger that writes one JSON object per line: level name, RFC 3339 time, `msg` and the fields. */
export function createLogger(options: LoggerOptions): Log {
  const settings = {
    level: options.level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    redact: { paths: REDACTED, censor: "[redacted]" },
    formatters: { level: (label: string) => ({ level: label }), log: withoutTokens },
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
}

/** Deeper than any intentional field. */
const MAX_DEPTH = 6;

/** Removes tokens from all texts, however deep, and cuts long ones. */
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

/** Failures of one kind are one line in this time, in milliseconds. */
const INTERVAL_MS = 60_000;

/** Kinds that are counted at a time; beyond that the oldest is forgotten, and is a line again. */
const MAX_KINDS = 100;

type Level = "warn" | "error";

/**
 * Returns a log in which repeated failures of one kind are one line per minute, with the number of lines left out before it in `repeated`.
 * These lines are still there at level debug. One kind is one level, one message and one cause: the `error` without the call before its
 * first colon. Lines without an `error` are unchanged.
 */
export function countRepeatedFailures(log: Log, clock: Pick<Clock, "monotonicMs">): Log {
  /** When each kind was last a line, and how many were left out since. */
  const kinds = new Map<string, { readonly loggedMs: number; repeated: number }>();

  function failed(inner: Log, level: Level, fields: object, message: string): void {
    const id = kindOf(level, fields, message);
    const known = id === undefined ? undefined : kinds.get(id);
    const nowMs = clock.monotonicMs();
    if (known !== undefined && nowMs - known.loggedMs < INTERVAL_MS) {
      known.repeated++;
      inner.debug(fields, message);
      return;
    }
    const repeated = known?.repeated ?? 0;
    inner[level](repeated > 0 ? { ...fields, repeated } : fields, message);
    if (id === undefined) return;
    const [oldest = id] = kinds.size >= MAX_KINDS ? kinds.keys() : [];
    kinds.delete(oldest);
    kinds.delete(id);
    kinds.set(id, { loggedMs: nowMs, repeated: 0 });
  }

  const wrap = (inner: Log): Log => ({
    debug: (fields, message) => inner.debug(fields, message),
    info: (fields, message) => inner.info(fields, message),
    warn: (fields, message) => failed(inner, "warn", fields, message),
    error: (fields, message) => failed(inner, "error", fields, message),
    child: fields => wrap(inner.child(fields)),
  });
  return wrap(log);
}

function kindOf(level: Level, fields: object, message: string): string | undefined {
  const error = "error" in fields ? fields.error : undefined;
  if (typeof error !== "string") return undefined;
  return `${level} ${message} ${error.slice(error.indexOf(": ") + 1)}`;
}
