import { once } from "node:events";
import { createReadStream } from "node:fs";
import { pipeline, Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { TextDecoder } from "node:util";
import { createGunzip } from "node:zlib";
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
 * Reads a log from a file or from standard input: UTF-8 without a byte-order mark. Decompresses gzip, and converts UTF-16.
 *
 * @throws CliError for a file that cannot be read, and for what is no text, in which nothing would be found
 */
export async function* readLog(file: string | undefined): AsyncGenerator<Buffer> {
  try {
    yield* decoded(file === undefined ? process.stdin : createReadStream(file));
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    if (code.startsWith("Z_")) throw new CliError(`failed to decompress ${file ?? "standard input"}: ${message}`);
    const isRefused = file !== undefined && error instanceof Error && "syscall" in error;
    throw isRefused ? new CliError(`failed to read ${file}: ${message}`) : error;
  }
}

const UTF_16: Readonly<Record<string, string>> = { fffe: "utf-16le", feff: "utf-16be" };

/** The first bytes tell what the others are. */
async function* decoded(input: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  const chunks = input[Symbol.asyncIterator]();
  const { value: start, done } = (await chunks.next()) as IteratorResult<Buffer, undefined>;
  if (done === true) return;
  const mark = start.toString("hex", 0, 2);
  const whole = startingWith(start, chunks);
  if (mark === "1f8b") yield* decoded(pipeline(Readable.from(whole), createGunzip(), () => undefined));
  else if (UTF_16[mark] !== undefined) yield* converted(whole, new TextDecoder(UTF_16[mark]));
  // A byte 0 is in binary data, and in UTF-16 without a mark.
  else if (start.subarray(0, 4096).includes(0)) throw new CliError("expected a log in UTF-8, got binary data");
  else yield* startingWith(mark === "efbb" ? start.subarray(3) : start, chunks);
}

async function* startingWith(start: Buffer, chunks: AsyncIterator<unknown>): AsyncGenerator<Buffer> {
  yield start;
  for (;;) {
    const next = await chunks.next();
    if (next.done === true) return;
    yield next.value as Buffer;
  }
}

async function* converted(chunks: AsyncIterable<Buffer>, decoder: TextDecoder): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) yield Buffer.from(decoder.decode(chunk, { stream: true }));
  yield Buffer.from(decoder.decode());
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
      await write(process.stderr, terminalText(`line ${number}: ${question}; expected ${expected}\n`));
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
