import { ForbiddenError, TransientError, UnauthorizedError, WaitError } from "../../core/errors";
import { type JsonObject, numberOf, objectOf, parseObject, textOf } from "../../core/json";
import { errorOfRefusal, ExpiredError } from "../http/status-errors";

const LINE_FEED = 0x0a;

/**
 * Splits a stream of bytes into lines. It splits bytes, so that a character in two chunks stays whole, and joins the parts of a
 * line only once, so that long lines take linear time.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of the last, incomplete line. */
  get pending(): number {
    return this.#size;
  }

  /** Returns the lines that this chunk completes, without empty ones. @throws MalformedError for a line that is too long */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      this.#append(chunk.subarray(start, end));
      if (this.#size > 0) lines.push(this.#join());
      start = end + 1;
    }
    this.#append(chunk.subarray(start));
    return lines;
  }

  #append(part: Buffer): void {
    if (part.length === 0) return;
    this.#size += part.length;
    if (this.#size > this.#maxBytes)
      throw new MalformedError(`expected lines of at most ${this.#maxBytes} bytes, got a longer one`);
    this.#parts.push(part);
  }

  #join(): string {
    const line = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts, this.#size);
    this.#parts = [];
    this.#size = 0;
    return line?.toString("utf8") ?? "";
  }
}

/** One line of a watch. */
export interface WatchEvent {
  readonly type: "put" | "delete" | "bookmark";
  readonly object: JsonObject;
  readonly resourceVersion: string;
}

const TYPES: ReadonlyMap<unknown, WatchEvent["type"]> = new Map([
  ["ADDED", "put"],
  ["MODIFIED", "put"],
  ["DELETED", "delete"],
  ["BOOKMARK", "bookmark"],
]);

/**
 * Parses one line of a watch.
 *
 * @throws ExpiredError or WaitError for an ERROR event with such a status, else MalformedError; no message quotes the line
 */
export function parseWatchEvent(line: string): WatchEvent {
  const event = parseObject(line);
  if (event === undefined)
    throw new MalformedError("expected a JSON object in each line of the watch, got another text");
  const object = objectOf(event["object"]);
  if (event["type"] === "ERROR") throw errorOfEvent(object);
  const type = TYPES.get(event["type"]);
  const resourceVersion = textOf(objectOf(object["metadata"])["resourceVersion"]);
  if (type !== undefined && resourceVersion !== undefined) return { type, object, resourceVersion };
  const expected = "ADDED, MODIFIED, DELETED, BOOKMARK or ERROR, with a resourceVersion";
  throw new MalformedError(`expected an event ${expected}, in the watch, got another one`);
}

/** 410 and 429 keep their meaning; after any other error the stream is not trustworthy. */
function errorOfEvent(status: JsonObject): Error {
  const error = errorOfRefusal({ code: numberOf(status["code"]) ?? 500, status }, "watch");
  if (error instanceof ExpiredError || error instanceof WaitError) return error;
  return new MalformedError(error.message, { cause: error });
}

/** Why a watch, or the list before it, ended: a label of the metric. */
export type WatchEndReason =
  /** Closed by the server, usually at its timeout. */
  | "closed"
  /** 410. */
  | "expired"
  | "unauthorized"
  | "forbidden"
  /** 429, or another status with Retry-After. */
  | "throttled"
  /** Silent for longer than the interval of bookmarks, or from before a restore of etcd. */
  | "stalled"
  /** Sent something other than a watch event. */
  | "malformed"
  /** Reset, refused, truncated, 5xx and all other failures. */
  | "broken";

export class MalformedError extends TransientError {}

export class StalledError extends TransientError {}

/** Returns why a round ended; undefined stands for no error. */
export function reasonOf(error: unknown): WatchEndReason {
  if (error === undefined) return "closed";
  if (error instanceof ExpiredError) return "expired";
  if (error instanceof UnauthorizedError) return "unauthorized";
  if (error instanceof ForbiddenError) return "forbidden";
  if (error instanceof WaitError) return "throttled";
  if (error instanceof StalledError) return "stalled";
  return error instanceof MalformedError ? "malformed" : "broken";
}
