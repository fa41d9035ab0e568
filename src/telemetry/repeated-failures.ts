import type { Clock } from "../core/clock";
import type { Log } from "../core/ports";

/** Failures of one kind are one line in this time, in milliseconds. */
const INTERVAL_MS = 60_000;

/** Kinds that are counted at a time. Failures beyond that are logged in full. */
const MAX_KINDS = 100;

type Level = "warn" | "error";

/** What was left out since the last line of one kind. */
interface Kind {
  repeated: number;
  /** Logs the latest failure. */
  latest: (repeated: number) => void;
}

/**
 * Returns a log in which repeated failures of one kind are one line per minute, with the number of lines left out in `repeated`. These
 * lines are still there at level debug. One kind is one level, one message and one cause: the `error` without the call before its first
 * colon. Lines without an `error` are unchanged.
 */
export function countRepeatedFailures(log: Log, clock: Clock): Log {
  const kinds = new Map<string, Kind>();

  function end(id: string, kind: Kind): void {
    const { repeated } = kind;
    if (repeated === 0) {
      kinds.delete(id);
      return;
    }
    kind.repeated = 0;
    kind.latest(repeated);
    clock.after(INTERVAL_MS, () => end(id, kind));
  }

  function failed(inner: Log, level: Level, fields: object, message: string): void {
    const id = kindOf(level, fields, message);
    const known = id === undefined ? undefined : kinds.get(id);
    if (known === undefined) {
      inner[level](fields, message);
      if (id === undefined || kinds.size >= MAX_KINDS) return;
      const kind: Kind = { repeated: 0, latest: () => undefined };
      kinds.set(id, kind);
      clock.after(INTERVAL_MS, () => end(id, kind));
      return;
    }
    known.repeated++;
    known.latest = repeated => inner[level]({ ...fields, repeated }, message);
    inner.debug(fields, message);
  }

  const wrap = (create: () => Log): Log => {
    // Every pass has a child, and most passes log nothing.
    let created: Log | undefined;
    const inner = (): Log => (created ??= create());
    return {
      debug: (fields, message) => inner().debug(fields, message),
      info: (fields, message) => inner().info(fields, message),
      warn: (fields, message) => failed(inner(), "warn", fields, message),
      error: (fields, message) => failed(inner(), "error", fields, message),
      child: fields => wrap(() => inner().child(fields)),
    };
  };
  return wrap(() => log);
}

function kindOf(level: Level, fields: object, message: string): string | undefined {
  const error = "error" in fields ? fields.error : undefined;
  if (typeof error !== "string") return undefined;
  return `${level} ${message} ${error.slice(error.indexOf(": ") + 1)}`;
}
