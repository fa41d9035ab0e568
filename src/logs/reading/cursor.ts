import type { LogChunk, LogRequest } from "../../core/readers";
import type { Steps } from "../../core/slices";
import type { ContainerView } from "../../core/views";
import { timestampAt, toMs, type Nanoseconds } from "./timestamp";

// Keeps the position in a container's log, so that no line is lost and none is counted twice. Pure.
//
// The API server rounds `sinceTime` down to whole seconds, so it returns the lines of that second again. `limitBytes`
// counts from the oldest line, so the last line may be cut.

/** Bytes of the first read, enough for about 30 s of an ordinary log. */
export const MIN_READ_BYTES = 256 * 1024;

/** Most bytes of one read. */
export const MAX_READ_BYTES = 4 * 1024 * 1024;

/** After a read that was cut, the next one is larger by this factor. */
const GROWTH = 4;

/** Lines to read after a jump to the end of a log that is written faster than it can be read. */
export const JUMP_LINES = 2_000;

const NEWLINE = 0x0a;

/** The position in one container's log. Immutable. */
export interface Cursor {
  /** The container life that is being read (its restart count). */
  readonly life: number;
  /** Start of the first read of this life, in milliseconds. */
  readonly sinceMs: number;
  /** Timestamp of the last line taken, and the number of lines taken with exactly that timestamp. */
  readonly lastNs?: Nanoseconds;
  readonly lastCount: number;
  /** Bytes to request next. */
  readonly limitBytes: number;
  /** The next read jumps to the end of the log. */
  readonly jump: boolean;
}

/** The result of taking a chunk. */
export interface Taken {
  readonly cursor: Cursor;
  /** Complete lines that were not taken before. */
  readonly fresh: Buffer;
  /** There may be more to read immediately. */
  readonly more: boolean;
  /** Lines before `fresh` were lost. */
  readonly gap: boolean;
}

const NOTHING = Buffer.alloc(0);

/**
 * Returns the first cursor: at the start of the window, in the previous life if that ended inside the window. A container
 * that is not running has only the log of its last life.
 */
export function firstCursor(container: ContainerView, sinceMs: number): Cursor {
  const readsPrevious = container.running && container.restartCount > 0 && (container.lastFinishedAtMs ?? 0) >= sinceMs;
  return newLife(readsPrevious ? container.restartCount - 1 : container.restartCount, sinceMs);
}

function newLife(life: number, sinceMs: number): Cursor {
  return { life, sinceMs, lastCount: 0, limitBytes: MIN_READ_BYTES, jump: false };
}

/** Returns the cursor for the container's current state. Skips lives whose log is gone; that is a gap. */
export function followLife(
  cursor: Cursor,
  container: ContainerView,
): { readonly cursor: Cursor; readonly gap: boolean } {
  const oldestReadable = container.running ? container.restartCount - 1 : container.restartCount;
  if (cursor.life >= oldestReadable && cursor.life <= container.restartCount) return { cursor, gap: false };
  return { cursor: newLife(Math.max(0, oldestReadable), sinceOf(cursor)), gap: true };
}

/** Returns the next request. */
export function nextRequest(
  cursor: Cursor,
  container: ContainerView,
  pod: { readonly namespace: string; readonly name: string },
): LogRequest {
  return {
    namespace: pod.namespace,
    pod: pod.name,
    container: container.name,
    previous: container.restartCount > cursor.life,
    sinceMs: sinceOf(cursor),
    limitBytes: cursor.limitBytes,
    ...(cursor.jump ? { tailLines: JUMP_LINES } : {}),
  };
}

function sinceOf(cursor: Cursor): number {
  return cursor.lastNs === undefined ? cursor.sinceMs : toMs(cursor.lastNs);
}

/** Takes the answer to `nextRequest`; null means that the log does not exist (yet, or any longer). */
export function* takeChunk(cursor: Cursor, container: ContainerView, chunk: LogChunk | null): Steps<Taken> {
  const ended = container.restartCount > cursor.life;
  const text = chunk === null ? NOTHING : wholeLines(chunk, ended);
  const fresh = text.subarray(yield* firstNew(text, cursor));
  const isCut = chunk?.truncated === true;
  if (isCut && fresh.length === 0) return withoutProgress(cursor);
  const gap = cursor.jump && fresh.length > 0 && fresh.length === text.length;
  const taken = {
    ...(yield* afterLines(cursor, fresh)),
    jump: false,
    limitBytes: isCut ? grown(cursor) : MIN_READ_BYTES,
  };
  if (isCut || !ended) return { cursor: taken, fresh, more: isCut, gap };
  return { cursor: newLife(container.restartCount, sinceOf(taken)), fresh, more: true, gap };
}

/** Returns a cursor whose next read jumps to the end of the log, which is written faster than it can be read. */
export function jumping(cursor: Cursor): Cursor {
  return { ...cursor, jump: true, limitBytes: MAX_READ_BYTES };
}

function grown(cursor: Cursor): number {
  return Math.min(MAX_READ_BYTES, cursor.limitBytes * GROWTH);
}

/** Handles a read that returned only known lines because one second exceeds the limit: requests more, or skips that second. */
function withoutProgress(cursor: Cursor): Taken {
  if (cursor.limitBytes < MAX_READ_BYTES)
    return { cursor: { ...cursor, limitBytes: grown(cursor) }, fresh: NOTHING, more: true, gap: false };
  const nextSecondMs = (Math.floor(sinceOf(cursor) / 1000) + 1) * 1000;
  return {
    cursor: { ...newLife(cursor.life, nextSecondMs), jump: cursor.jump },
    fresh: NOTHING,
    more: true,
    gap: true,
  };
}

/** Removes an incomplete last line, which was cut or is still being written. The log of an ended life has none. */
function wholeLines(chunk: LogChunk, ended: boolean): Buffer {
  const bytes = Buffer.from(chunk.bytes.buffer, chunk.bytes.byteOffset, chunk.bytes.byteLength);
  if (ended && !chunk.truncated) return bytes;
  return bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1);
}

/** Returns the offset of the first line that was not taken before. */
function* firstNew(text: Buffer, cursor: Cursor): Steps<number> {
  if (cursor.lastNs === undefined) return 0;
  let known = cursor.lastCount;
  for (let at = 0; at < text.length; at = endOfLine(text, at)) {
    yield;
    const ns = timestampAt(text, at);
    if (ns === undefined || ns < cursor.lastNs) continue;
    if (ns > cursor.lastNs || known === 0) return at;
    known--;
  }
  return text.length;
}

/** Returns the cursor after the last of these lines. */
function* afterLines(cursor: Cursor, lines: Buffer): Steps<Cursor> {
  let lastNs: Nanoseconds | undefined;
  let count = 0;
  for (let end = lines.length; end > 0; yield) {
    const start = end < 2 ? 0 : lines.lastIndexOf(NEWLINE, end - 2) + 1;
    const ns = timestampAt(lines, start);
    if (lastNs !== undefined && ns !== undefined && ns !== lastNs) break;
    if (ns !== undefined) {
      lastNs = ns;
      count++;
    }
    end = start;
  }
  if (lastNs === undefined) return cursor;
  return { ...cursor, lastNs, lastCount: lastNs === cursor.lastNs ? cursor.lastCount + count : count };
}

function endOfLine(text: Buffer, at: number): number {
  const newline = text.indexOf(NEWLINE, at);
  return newline < 0 ? text.length : newline + 1;
}
