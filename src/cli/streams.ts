import { once } from "node:events";
import { createReadStream } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { isObject } from "../core/json";

// Standard input and output of commands that read logs of any size.

/** An error with a sentence for the user, or one per line. */
export class CliError extends Error {}

/** Ends a program in which no other one handles a {@link CliError}. */
export async function endOnError(error: unknown): Promise<void> {
  if (!(error instanceof CliError)) throw error;
  await write(process.stderr, `${error.message}\n`);
  process.exitCode = 1;
}

/**
 * Reads a log from a file or from standard input, without a byte-order mark.
 *
 * @throws CliError for a file that cannot be read, and for anything but UTF-8, in which nothing would be found
 */
export async function* readLog(file: string | undefined): AsyncGenerator<Buffer> {
  let isFirst = true;
  try {
    for await (const chunk of file === undefined ? process.stdin : createReadStream(file)) {
      yield isFirst ? withoutMark(chunk as Buffer) : (chunk as Buffer);
      isFirst = false;
    }
  } catch (error) {
    const isRefused = file !== undefined && error instanceof Error && "syscall" in error;
    throw isRefused ? new CliError(`failed to read ${file}: ${error.message}`) : error;
  }
}

/** How formats begin that are no text in UTF-8. A byte 0 is in binary data, and in UTF-16 without a mark. */
const FORMATS: readonly (readonly [string, (start: Buffer) => boolean])[] = [
  ["gzip; decompress it first", start => start.readUInt16BE() === 0x1f8b],
  ["UTF-16; convert it first", start => [0xfeff, 0xfffe].includes(start.readUInt16BE())],
  ["binary data", start => start.subarray(0, 4096).includes(0)],
];

function withoutMark(start: Buffer): Buffer {
  const format = start.length < 2 ? undefined : FORMATS.find(([, begins]) => begins(start));
  if (format !== undefined) throw new CliError(`expected a log in UTF-8, got ${format[0]}`);
  return start.toString("latin1", 0, 3) === "\xef\xbb\xbf" ? start.subarray(3) : start;
}

/**
 * Yields the lines of a stream without their line breaks. Only "\n" ends a line: readline also splits at U+2028, which
 * JSON strings may contain.
 */
export async function* linesOf(input: AsyncIterable<Buffer | string>): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  let open: string[] = [];
  for await (const chunk of input) {
    const pieces = (typeof chunk === "string" ? chunk : decoder.write(chunk)).split("\n");
    open.push(pieces[0] ?? "");
    for (const piece of pieces.slice(1)) {
      yield open.join("");
      open = [piece];
    }
  }
  const last = open.join("") + decoder.end();
  if (last !== "") yield last;
}

/** Writes to a stream, and waits while its buffer is full. */
export async function write(output: NodeJS.WritableStream, text: string): Promise<void> {
  if (!output.write(text)) await once(output, "drain");
}

/** Answers lines of JSON on standard output, in order. A line that is no question is named on standard error. */
export async function answerLines<Question extends object>(
  input: AsyncIterable<Buffer | string>,
  questions: { parse: (text: string) => Question | string; answer: (question: Question) => object; expected: string },
): Promise<void> {
  const { parse, answer, expected } = questions;
  let number = 0;
  for await (const text of linesOf(input)) {
    number++;
    if (text.trim() === "") continue;
    const question = parse(text);
    if (typeof question !== "string") await write(process.stdout, `${safeJson(answer(question))}\n`);
    else {
      await write(process.stderr, `line ${number}: ${question}; expected ${expected}\n`);
      process.exitCode = 1;
    }
  }
}

/** Parses a line of JSON: an object with an id. Returns what is wrong with it as text. */
export function parseLine(text: string): (Record<string, unknown> & { readonly id: unknown }) | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `not JSON (${error instanceof Error ? error.message : String(error)})`;
  }
  if (!isObject(value)) return "not an object";
  return value["id"] === undefined ? 'has no "id"' : { ...value, id: value["id"] };
}

/** Ends the process when standard output takes no more: without a message when its reader closes it (`| head`). */
export function endOnFailedOutput(closedCode = 0): void {
  process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    if (code === "EPIPE") process.exit(closedCode);
    process.stderr.write(`failed to write to standard output: ${message}\n`);
    process.exit(1);
  });
}

/** Returns one line of JSON, with escapes for characters that a terminal may obey. */
function safeJson(value: object): string {
  const escape = (found: string): string => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replaceAll(UNSAFE_IN_LINES, found => found.split("").map(escape).join(""));
}

/** As UNSAFE of src/core/text.ts, without what makes lines and columns. */
const UNSAFE_IN_LINES = /\x1b\[(?:[012]|3[1236])m|[\p{Cf}\p{Zl}\p{Zp}]|(?![\t\n])\p{Cc}/gu;

/**
 * Returns lines of text, with a space for characters that a terminal may obey.
 *
 * @param keepStyles keeps the colours that this program itself writes
 */
export function terminalText(text: string, { keepStyles = false } = {}): string {
  return text.replaceAll(UNSAFE_IN_LINES, found => (keepStyles && found.startsWith("\x1b[") ? found : " "));
}
