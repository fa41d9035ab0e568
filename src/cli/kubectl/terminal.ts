import type { Readable, Writable } from "node:stream";
import { stringify } from "yaml";
import { formatDuration } from "../../core/time";
import { oneLine } from "../../core/text";
import { timeOf } from "../../core/json";
import { write, terminalText } from "../streams";

/** A stream that may be a terminal. */
type Terminal<S> = S & { readonly isTTY?: boolean; readonly columns?: number };

/** Standard input and output, and the environment. */
export interface Io {
  readonly stdin: Terminal<Readable>;
  readonly stdout: Terminal<Writable>;
  readonly stderr: Terminal<Writable>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Exit codes, so that a pipeline can act on them. */
export const Exit = {
  /** Nothing was found, or what was asked for is done. */
  ok: 0,
  /** The command could not do its work: the sentence on standard error says why. */
  error: 1,
  /** The command did its work and found something that needs attention. */
  findings: 2,
} as const;
export type ExitCode = (typeof Exit)[keyof typeof Exit];

/** What a shell reports for a program that SIGPIPE has ended, as kubectl is when `head` closes the pipe. */
export const CLOSED_PIPE = 141;

/** Widest output without a terminal, or on one of unknown width. */
const DEFAULT_COLUMNS = 80;

/** Styles, whose codes {@link terminalText} keeps. */
const CODES = { red: 31, yellow: 33, green: 32, cyan: 36, bold: 1, dim: 2 } as const;
export type Paint = (style: keyof typeof CODES, text: string) => string;

/** Returns a function that colours text, if standard output is a terminal and NO_COLOR is not set. */
export function paintFor({ stdout, env }: Pick<Io, "stdout" | "env">): Paint {
  const isPlain = stdout.isTTY !== true || (env["NO_COLOR"] ?? "") !== "" || env["TERM"] === "dumb";
  return isPlain ? (_, text) => text : (style, text) => `\x1b[${CODES[style]}m${oneLine(text)}\x1b[0m`;
}

/** Values of `-o`. Without it a command prints text for people. */
export type Format = "json" | "yaml" | "html";

/** How text for people looks. */
export type Look = Pick<Output, "paint" | "columns">;

/** Writes what a command has found to standard output, without characters of a cluster's texts that a terminal may obey. */
export class Output {
  readonly paint: Paint;
  readonly columns: number;
  readonly #io: Io;
  readonly #format: Format | undefined;

  constructor(io: Io, format?: Format) {
    this.#io = io;
    this.#format = format;
    this.paint = paintFor(io);
    // At least as for a file or a pipe.
    this.columns = Math.max(DEFAULT_COLUMNS, io.stdout.columns ?? DEFAULT_COLUMNS);
  }

  async text(text: string): Promise<void> {
    const safe = terminalText(text, { keepStyles: this.paint("bold", "") !== "" });
    await write(this.#io.stdout, safe.endsWith("\n") ? safe : `${safe}\n`);
  }

  /** Writes a result as `-o` asks: as data, or for people. */
  async result(value: unknown, format: () => string): Promise<void> {
    if (this.#format === "json") await this.text(JSON.stringify(value, null, 2));
    // Long messages stay on one line, so that they can be searched.
    else if (this.#format === "yaml") await this.text(stringify(value, { lineWidth: 0 }));
    else await this.text(format());
  }
}

/** Formats rows as kubectl does: columns without borders, two spaces apart. The first row is the head. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map(row => row[i]?.length ?? 0)) + 2);
  const lines = rows.map(row => row.map((text, i) => text.padEnd(widths[i] ?? 0)).join(""));
  return lines.map(line => `${line.trimEnd()}\n`).join("");
}

/** Wraps text at spaces; further lines are indented to the end of the prefix. A word longer than a line stays whole. */
export function wrapText(text: string, prefix: string, columns: number): string[] {
  const [first = "", ...words] = oneLine(text).split(/\s+/).filter(Boolean);
  const lines: string[] = [];
  let line = prefix + first;
  for (const word of words) {
    if (line.length + 1 + word.length <= columns) line += ` ${word}`;
    else {
      lines.push(line);
      line = " ".repeat(prefix.length) + word;
    }
  }
  return [...lines, line.trimEnd()];
}

/** Formats a time as `5m ago (2026-01-31 12:00:00Z)`, `now (...)` or `in 5m (...)`, in UTC and whole seconds. */
export function when(time: string | undefined, nowMs: number): string {
  const ms = timeOf(time);
  if (ms === undefined) return "at an unreadable time";
  const distance = formatDuration(Math.abs(ms - nowMs));
  const relative = distance === "0s" ? "now" : ms < nowMs ? `${distance} ago` : `in ${distance}`;
  return `${relative} (${new Date(ms)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, "Z")})`;
}

/** Most characters of a text that another person may have written. */
const LONGEST = 300;

/** Returns a text on one line, without characters that a terminal may obey, cut to a length that one can read. */
export function safeText(text: string, longest = LONGEST): string {
  return oneLine(text).slice(0, longest);
}
