import type { Readable, Writable } from "node:stream";
import { oneLine } from "../../core/one-line";

/** A stream that may be a terminal. */
export type Terminal<S> = S & { readonly isTTY?: boolean; readonly columns?: number };

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

/** An error with a sentence for the user. */
export class CliError extends Error {}

/** Widest output without a terminal, or on one of unknown width. */
export const DEFAULT_COLUMNS = 80;

/** Returns the columns of a terminal; 80 for a file or a pipe. */
export function columnsOf({ columns }: Terminal<Writable>): number {
  return Math.max(DEFAULT_COLUMNS, columns ?? DEFAULT_COLUMNS);
}

/** Styles, whose codes src/cli/terminal-text.ts keeps. */
const CODES = { red: 31, yellow: 33, green: 32, cyan: 36, bold: 1, dim: 2 } as const;
export type Paint = (style: keyof typeof CODES, text: string) => string;

/** Returns a function that colours text, if standard output is a terminal and NO_COLOR is not set. */
export function paintFor({ stdout, env }: Pick<Io, "stdout" | "env">): Paint {
  const isPlain = stdout.isTTY !== true || (env["NO_COLOR"] ?? "") !== "" || env["TERM"] === "dumb";
  return isPlain ? (_, text) => text : (style, text) => `\x1b[${CODES[style]}m${oneLine(text)}\x1b[0m`;
}
