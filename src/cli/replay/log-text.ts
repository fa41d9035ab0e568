import { runToEnd } from "../../core/slices";
import { headBefore } from "../../logs/classifier/records";
import { timestampAt, toMs } from "../../logs/reading/timestamp";
import { Replay, type Detector } from "./detector";

const NEWLINE = 0x0a;

/** Longer than any record. A longer line is taken in parts, so that memory stays bounded. */
const LONG_ENOUGH = 4 * 1024 * 1024;

/** Lines without a timestamp to report. */
const MOST_UNSTAMPED = 20;

/** Replays a log with timestamps that arrives in chunks, cut anywhere. */
export class LogText {
  readonly replay: Replay;
  readonly #detector: Detector;
  #held: Buffer = Buffer.alloc(0);
  #lines = 0;
  #firstMs: number | undefined;
  #lastMs: number | undefined;
  /** Numbers of the first lines with a 401 and no timestamp. */
  readonly unstamped: number[] = [];
  #actedOnLine: number | undefined;

  constructor(detector: Detector) {
    this.#detector = detector;
    this.replay = new Replay(detector.rule);
  }

  /** When 401s are persistent. */
  get rule(): Detector["rule"] {
    return this.#detector.rule;
  }

  /** Lines so far. */
  get lines(): number {
    return this.#lines;
  }

  /** Number of the line on which tokenRestart would have acted. */
  get actedOnLine(): number | undefined {
    return this.#actedOnLine;
  }

  /** Times of the first and the last line with a timestamp. */
  get spanMs(): { readonly first: number; readonly last: number } | undefined {
    if (this.#firstMs === undefined || this.#lastMs === undefined) return undefined;
    return { first: this.#firstMs, last: this.#lastMs };
  }

  /** Adds the next chunk. */
  push(chunk: Buffer): void {
    const text = Buffer.concat([this.#held, chunk]);
    // The last record may continue in the next chunk, and its last line may be cut.
    const newline = text.lastIndexOf(NEWLINE);
    const end = newline < 1 ? 0 : headBefore(text, newline - 1, 0);
    const cut = end === 0 && text.length > LONG_ENOUGH ? (newline < 0 ? text.length : newline + 1) : end;
    this.#take(text.subarray(0, cut));
    this.#held = text.subarray(cut);
  }

  /** Ends the log: takes the rest. */
  end(): void {
    this.#take(this.#held);
    this.#held = Buffer.alloc(0);
  }

  #take(text: Buffer): void {
    if (text.length === 0) return;
    this.#noteTime(text, 0);
    let counted = 0;
    let number = this.#lines + 1;
    const steps = this.#detector.finder.find(text, start => {
      if (start < counted) counted = 0;
      number = counted === 0 ? this.#lines + 1 : number;
      number += countLines(text, counted, start);
      counted = start;
      this.#unauthorized(text, start, number);
    });
    runToEnd(steps);
    this.#noteTime(text, lastLine(text));
    this.#lines += countLines(text, 0, text.length) + (text.at(-1) === NEWLINE ? 0 : 1);
  }

  #unauthorized(text: Buffer, start: number, line: number): void {
    const ns = timestampAt(text, start);
    if (ns === undefined) {
      if (this.unstamped.length < MOST_UNSTAMPED) this.unstamped.push(line);
      return;
    }
    this.replay.unauthorized(toMs(ns), 1);
    if (this.replay.action !== undefined) this.#actedOnLine ??= line;
  }

  #noteTime(text: Buffer, at: number): void {
    const ns = timestampAt(text, at);
    if (ns === undefined) return;
    this.#firstMs ??= toMs(ns);
    this.#lastMs = toMs(ns);
    this.replay.line(toMs(ns), 1);
  }
}

function countLines(text: Buffer, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf(NEWLINE, from); at >= 0 && at < to; at = text.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

function lastLine(text: Buffer): number {
  return text.length < 2 ? 0 : text.lastIndexOf(NEWLINE, text.length - 2) + 1;
}
