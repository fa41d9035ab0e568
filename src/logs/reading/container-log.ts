import type { Clock } from "../../core/clock";
import type { LogReader } from "../../core/readers";
import { inSlices, type Steps } from "../../core/slices";
import type { ContainerView, PodView } from "../../core/views";
import { MAX_RECORD_BYTES } from "../classifier/index";
import { headBefore } from "../classifier/records";
import { firstCursor, followLife, jumping, nextRequest, takeChunk, type Cursor, type Taken } from "./cursor";
import { NO_TRACE, withGap, withLine, withUnauthorized, type UnauthorizedTrace } from "../persistence";
import { timestampAt, toMs } from "./timestamp";

/** Reads of one container in one pass. Together some 9 MiB at most. */
const READS_PER_PASS = 4;

/** Further behind than this after a whole pass, a log is written faster than it can be read. */
const BEHIND_MS = 120_000;

const NEWLINE = 0x0a;

/** Finds the records that are 401s of the container's own requests, and tells the offset of each one's beginning; in steps, since a log may be nothing but 401s. */
export type FindUnauthorized = (text: Buffer, onRecord: (start: number) => void) => Steps;

/** What reading needs from the outside. */
export interface LogSource {
  readonly clock: Clock;
  readonly logs: LogReader;
}

/** One container's log: how far it has been read, and what was found. */
export class ContainerLog {
  #cursor: Cursor | undefined;
  #trace: UnauthorizedTrace = NO_TRACE;
  /** The last record, which the next read may go on with. It is looked at both times: an occasion does not mind. */
  #unfinished: Buffer = Buffer.alloc(0);
  #gaps = 0;

  /** What was found so far. */
  get trace(): UnauthorizedTrace {
    return this.#trace;
  }

  /** How often lines were lost, because the log was written faster than it can be read or was gone. */
  get gaps(): number {
    return this.#gaps;
  }

  /**
   * Reads what is new. A read that fails changes nothing, but what was read before it in the same pass counts.
   *
   * @param windowMs how far back to begin
   * @throws ForbiddenError, TransientError: as LogReader
   */
  async read(from: LogSource, pod: PodView, container: ContainerView, search: LogSearch): Promise<void> {
    this.#cursor ??= firstCursor(container, from.clock.now().getTime() - search.windowMs);
    const followed = followLife(this.#cursor, container);
    this.#cursor = followed.cursor;
    if (followed.gap) this.#lose();
    for (let reads = 0; reads < READS_PER_PASS; reads++) {
      const cursor = this.#cursor;
      const isMore = await from.logs.read(nextRequest(cursor, container, pod), async chunk => {
        const taken = await inSlices(from.clock, takeChunk(cursor, container, chunk));
        const by = { nowMs: from.clock.now().getTime(), find: search.find };
        await inSlices(from.clock, this.#fold(taken, cursor.life, by));
        return taken.more;
      });
      if (!isMore) return;
    }
    if (this.#isBehind(from.clock.now().getTime())) this.#cursor = jumping(this.#cursor);
  }

  *#fold(taken: Taken, life: number, by: { readonly nowMs: number; readonly find: FindUnauthorized }): Steps {
    if (taken.gap) this.#lose();
    this.#cursor = taken.cursor;
    if (taken.fresh.length > 0) yield* this.#foldLines(taken, life, by);
    if (taken.cursor.life !== life) this.#unfinished = Buffer.alloc(0);
  }

  /** What is known changes at the end, all at once: whoever asks in between is told what was known before. */
  *#foldLines(taken: Taken, life: number, by: { readonly nowMs: number; readonly find: FindUnauthorized }): Steps {
    // A line from the future, of a node whose clock is ahead, counts as logged now.
    const timeAt = (text: Buffer, at: number): number | undefined => {
      const ns = timestampAt(text, at);
      return ns === undefined ? undefined : Math.min(toMs(ns), by.nowMs);
    };
    const firstMs = timeAt(taken.fresh, 0);
    let trace = this.#trace;
    if (firstMs !== undefined && taken.gap) trace = withGap(trace, firstMs);
    if (firstMs !== undefined) trace = withLine(trace, firstMs, life);
    const text = this.#unfinished.length === 0 ? taken.fresh : Buffer.concat([this.#unfinished, taken.fresh]);
    yield* by.find(text, start => {
      const atMs = timeAt(text, start);
      if (atMs !== undefined) trace = withUnauthorized(trace, atMs, life);
    });
    const lastMs = timeAt(text, lastLine(text));
    this.#trace = lastMs === undefined ? trace : withLine(trace, lastMs, life);
    this.#unfinished = lastRecord(text);
  }

  #lose(): void {
    this.#gaps++;
    this.#unfinished = Buffer.alloc(0);
  }

  #isBehind(nowMs: number): boolean {
    const lastNs = this.#cursor?.lastNs;
    return lastNs !== undefined && nowMs - toMs(lastNs) > BEHIND_MS;
  }
}

/** What to look for, and how far back. */
export interface LogSearch {
  readonly windowMs: number;
  readonly find: FindUnauthorized;
}

function lastLine(text: Buffer): number {
  return text.length < 2 ? 0 : text.lastIndexOf(NEWLINE, text.length - 2) + 1;
}

function lastRecord(text: Buffer): Buffer {
  const record = text.subarray(headBefore(text, lastLine(text), 0));
  // A copy, so that the rest of the chunk can be freed. A record that long is complete by definition.
  return record.length > MAX_RECORD_BYTES ? Buffer.alloc(0) : Buffer.from(record);
}
