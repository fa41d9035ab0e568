import type { Clock } from "../../core/time";
import type { LogReader } from "../../core/readers";
import { inSlices, type Steps } from "../../core/slices";
import type { ContainerView, PodView } from "../../core/views";
import type { PodName } from "../classifier/other-pod";
import { headBefore, MAX_RECORD_BYTES } from "../classifier/scan-log";
import { firstCursor, followLife, jumping, nextRequest, takeChunk, type Cursor, type Taken } from "./cursor";
import { lastLine, timestampAt, toMs } from "./lines";
import { PERSISTENT } from "../persistence";
import { Traces } from "../traces";

/** Most reads of one container in one pass, about 9 MiB together. */
const READS_PER_PASS = 4;

/** A reader that is further behind after a whole pass jumps to the end of the log. */
const BEHIND_MS = 120_000;

/** The first read goes back to a whole minute, so that all readers of a log without lines ask for the same, which is one request. */
const FROM_MS = 60_000;

/**
 * Finds the records that are 401s of the container's own requests, and calls `onRecord` with the offset of each. With the
 * pod of the log it skips records that carry another pod's metadata. Other records that it reports have a topic.
 */
export type FindUnauthorized = (text: Buffer, onRecord: OnFound, pod?: PodName) => Steps;

/** Receives the offset of a record, and what it is about unless it is a 401. */
export type OnFound = (start: number, topic?: string) => void;

/** The ports that reading needs. */
export interface LogSource {
  readonly clock: Clock;
  readonly logs: LogReader;
}

/** One container's log: the position in it, and what was found. */
export class ContainerLog {
  /** The 401s found so far, and what else was found, by topic. */
  traces = Traces.NONE;
  /** Requests of all reads. */
  requests = 0;
  /**
   * Time of the first line of the first read: the kubelet may have moved earlier ones to another file. -Infinity: there was none; undefined: it was not
   * read yet.
   */
  fromMs: number | undefined;
  /** When a part of the log was last skipped: it is written faster than it can be read, or the clock of its node was set back; undefined if never. */
  skippedAtMs: number | undefined;
  #cursor: Cursor | undefined;
  /** The last record, which the next read may continue: each byte as a character, which for many logs takes less memory than Buffers. */
  #unfinished = "";
  /** The traces without that record: what it says may be taken back when it goes on. */
  #settled = Traces.NONE;

  /**
   * Reads the new lines. A failed request changes nothing; the earlier ones of the same call count.
   *
   * @throws ForbiddenError, TransientError: as LogReader
   */
  async read(source: LogSource, pod: PodView, container: ContainerView, find: FindUnauthorized): Promise<void> {
    const sinceMs = source.clock.now().getTime() - PERSISTENT.windowMs;
    this.#cursor ??= firstCursor(container, Math.floor(sinceMs / FROM_MS) * FROM_MS);
    const followed = followLife(this.#cursor, container);
    this.#cursor = followed.cursor;
    if (followed.gap) this.#dropUnfinished();
    for (let reads = 0; reads < READS_PER_PASS; reads++) {
      const cursor = this.#cursor;
      this.requests++;
      const request = nextRequest(cursor, container, pod, source.clock.now().getTime());
      const isMore = await source.logs.read(request, async chunk => {
        const nowMs = source.clock.now().getTime();
        const taken = await inSlices(source.clock, takeChunk(cursor, container, { chunk, nowMs }));
        const options = { nowMs, find, pod };
        await inSlices(source.clock, this.#fold(taken, cursor.life, options));
        return taken.more;
      });
      if (!isMore) return;
    }
    const nowMs = source.clock.now().getTime();
    const { lastNs } = this.#cursor;
    if (lastNs === undefined || nowMs - toMs(lastNs) <= BEHIND_MS) return;
    this.#cursor = jumping(this.#cursor);
    this.skippedAtMs = nowMs;
  }

  *#fold(taken: Taken, life: number, options: FoldOptions): Steps {
    if (taken.gap) {
      this.#dropUnfinished();
      this.skippedAtMs = options.nowMs;
    }
    this.#cursor = taken.cursor;
    if (taken.fresh.length > 0) yield* this.#foldLines(taken, life, options);
    else if (!taken.more) this.fromMs ??= -Infinity;
    if (taken.cursor.life !== life) this.#dropUnfinished();
  }

  /** Updates the traces only at the end, so that they are consistent between the steps. */
  *#foldLines(taken: Taken, life: number, options: FoldOptions): Steps {
    // If the node's clock is ahead, a line from the future counts as logged now.
    const timeAt = (text: Buffer, at: number): number | undefined => {
      const ns = timestampAt(text, at);
      return ns === undefined ? undefined : Math.min(toMs(ns), options.nowMs);
    };
    const text = Buffer.concat([Buffer.from(this.#unfinished, "latin1"), taken.fresh]);
    const rest = lastRecord(text);
    const [firstMs, lastMs] = [timeAt(text, 0), timeAt(text, lastLine(text))];
    let settled = this.#settled;
    this.fromMs ??= firstMs;
    if (firstMs !== undefined && taken.gap) settled = settled.withGap(firstMs);
    if (firstMs !== undefined) settled = settled.withLine(firstMs, life);
    const last: ((traces: Traces) => Traces)[] = [];
    const onRecord: OnFound = (start, topic) => {
      const atMs = timeAt(text, start);
      if (atMs === undefined) return;
      if (start >= text.length - rest.length) last.push(traces => traces.withRecord(atMs, life, topic));
      else settled = settled.withRecord(atMs, life, topic);
    };
    yield* options.find(text, onRecord, options.pod);
    const traces = last.reduce((before, add) => add(before), settled);
    this.traces = lastMs === undefined ? traces : traces.withLine(lastMs, life);
    this.#settled = rest.length === 0 ? this.traces : settled;
    this.#unfinished = rest;
  }

  #dropUnfinished(): void {
    this.#unfinished = "";
    this.#settled = this.traces;
  }
}

interface FoldOptions {
  readonly nowMs: number;
  readonly find: FindUnauthorized;
  readonly pod: PodName;
}

/** Returns the last record, each byte as a character. A longer one than the longest is complete by definition. */
export function lastRecord(text: Buffer): string {
  const start = headBefore(text, lastLine(text), 0);
  return text.length - start > MAX_RECORD_BYTES ? "" : text.toString("latin1", start);
}
