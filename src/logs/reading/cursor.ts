import type { LogChunk, LogRequest } from "../../core/readers";
import type { Steps } from "../../core/slices";
import type { ContainerView, PodView } from "../../core/views";
import {
  NEWLINE,
  startOfLine,
  isAhead,
  isSetBackAfter,
  lastSetBack,
  timestampAt,
  toMs,
  type Nanoseconds,
} from "./lines";

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

/**
 * Lines to request from the end of a log. Otherwise the kubelet reads the log from its start to find `sinceTime`, which for 10 MB costs twelve
 * times as much (docs/measurements.md).
 */
export const TAIL_LINES = 500;

/** If a read had fewer new lines, the next one has most likely fewer than {@link TAIL_LINES}. */
const FEW_LINES = TAIL_LINES / 2;

/** How far to read back from a time ahead of the operator's clock: longer than the interval of reads. That clock, or the node's, was set back since. */
const SET_BACK_MS = 300_000;

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
  /** Lines to request from the end of the log; 0: all since the last one. */
  readonly tailLines: number;
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
  return { life, sinceMs, lastCount: 0, limitBytes: MIN_READ_BYTES, tailLines: 0, jump: false };
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

/** Returns the next request, at `nowMs`. */
export function nextRequest(
  cursor: Cursor,
  container: ContainerView,
  pod: Pick<PodView, "namespace" | "name" | "nodeName">,
  nowMs: number,
): LogRequest {
  const previous = container.restartCount > cursor.life;
  const tailLines = cursor.jump ? JUMP_LINES : previous ? 0 : cursor.tailLines;
  const sinceMs = sinceOf(cursor);
  return {
    namespace: pod.namespace,
    pod: pod.name,
    ...(pod.nodeName !== undefined && { node: pod.nodeName }),
    container: container.name,
    previous,
    sinceMs: isAhead(sinceMs, nowMs) ? nowMs - SET_BACK_MS : sinceMs,
    limitBytes: cursor.limitBytes,
    ...(tailLines > 0 ? { tailLines } : {}),
  };
}

function sinceOf(cursor: Cursor): number {
  return cursor.lastNs === undefined ? cursor.sinceMs : toMs(cursor.lastNs);
}

/** Takes the answer to `nextRequest` at `nowMs`; a null chunk means that the log does not exist (yet, or any longer). */
export function* takeChunk(
  cursor: Cursor,
  container: ContainerView,
  { chunk, nowMs }: { readonly chunk: LogChunk | null; readonly nowMs: number },
): Steps<Taken> {
  const ended = container.restartCount > cursor.life;
  const text = chunk === null ? NOTHING : wholeLines(chunk, ended);
  const answer = { text, isCut: chunk?.truncated === true, nowMs };
  const { lastNs } = cursor;
  if (lastNs !== undefined && isAhead(toMs(lastNs), nowMs) && isSetBackAfter(lastNs, text)) {
    const present = text.subarray(yield* lastSetBack(text));
    return { ...(yield* takeLines(withoutLast(cursor), container, { ...answer, text: present })), gap: true };
  }
  if (!ended && lacksLines(answer, cursor)) return again({ ...cursor, tailLines: 0 });
  return yield* takeLines(cursor, container, answer);
}

/** The complete lines of an answer. */
interface Answer {
  readonly text: Buffer;
  /** Later lines are missing. */
  readonly isCut: boolean;
  readonly nowMs: number;
}

function* takeLines(cursor: Cursor, { restartCount }: ContainerView, answer: Answer): Steps<Taken> {
  const { text, isCut } = answer;
  const fresh = yield* freshOf(answer, cursor);
  if (isCut && fresh.length === 0) return withoutProgress(cursor);
  const gap = cursor.jump && isAllNew(fresh, text);
  const taken = { ...(yield* afterLines(cursor, fresh)), jump: false, ...nextSize(cursor, fresh, isCut) };
  if (isCut || restartCount <= cursor.life) return { cursor: taken, fresh, more: isCut, gap };
  return { cursor: newLife(restartCount, sinceOf(taken)), fresh, more: true, gap };
}

/**
 * Returns the lines that were not taken before. Of those before the last place where the clock was set back this is unknown, so they do not
 * count; if the answer was cut, such a place may follow lines of the future.
 */
function* freshOf({ text, isCut, nowMs }: Answer, cursor: Cursor): Steps<Buffer> {
  const fresh = text.subarray(yield* firstNew(text, cursor));
  if (cursor.lastNs === undefined) return fresh;
  const begin = yield* lastSetBack(fresh);
  const present = fresh.subarray(begin);
  if (begin > 0) return present.subarray(yield* firstNew(present, cursor));
  const isUnclear = isCut && !isAhead(sinceOf(cursor), nowMs) && isAhead(toMs(timestampAt(fresh, 0) ?? 0n), nowMs);
  return isUnclear ? NOTHING : fresh;
}

/** The same position in the life, with no line taken. */
function withoutLast({ life, sinceMs, limitBytes, jump }: Cursor): Cursor {
  return { ...newLife(life, sinceMs), limitBytes, jump };
}

function isAllNew(fresh: Buffer, text: Buffer): boolean {
  return fresh.length > 0 && fresh.length === text.length;
}

/** Reads again with another cursor. */
function again(cursor: Cursor): Taken {
  return { cursor, fresh: NOTHING, more: true, gap: false };
}

/** How much to request after a read with these lines. */
function nextSize(cursor: Cursor, fresh: Buffer, isCut: boolean): Pick<Cursor, "limitBytes" | "tailLines"> {
  if (isCut) return { limitBytes: grown(cursor), tailLines: 0 };
  const isFew = countLines(fresh, FEW_LINES) < FEW_LINES;
  return { limitBytes: MIN_READ_BYTES, tailLines: isFew ? TAIL_LINES : 0 };
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
  if (cursor.limitBytes < MAX_READ_BYTES) return again({ ...cursor, limitBytes: grown(cursor) });
  const nextSecondMs = (Math.floor(sinceOf(cursor) / 1000) + 1) * 1000;
  return {
    cursor: { ...newLife(cursor.life, nextSecondMs), jump: cursor.jump },
    fresh: NOTHING,
    more: true,
    gap: true,
  };
}

/**
 * Reports whether the end of a log, as requested, may lack new lines. It has all of them if it begins with a line that was taken before; if
 * it is empty, there are none.
 */
function lacksLines({ text, isCut }: Answer, { lastNs, tailLines, jump }: Cursor): boolean {
  if (tailLines === 0 || jump || text.length === 0) return false;
  const firstNs = timestampAt(text, 0);
  if (firstNs === undefined || lastNs === undefined || firstNs > lastNs) return true;
  // Of several lines with the last timestamp, the first may be missing, unless the whole answer has fewer lines than requested.
  return firstNs === lastNs && (isCut || countLines(text, tailLines) === tailLines);
}

/** Returns the number of lines, or `most` if there are more. */
function countLines(text: Buffer, most: number): number {
  let count = 0;
  for (let at = 0; at < text.length && count < most; at = endOfLine(text, at)) count++;
  return count;
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
    const start = startOfLine(lines, end);
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
