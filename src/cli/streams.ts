import { once } from "node:events";
import { StringDecoder } from "node:string_decoder";
import { isObject } from "../core/json";

// Standard input and output of commands that read logs of any size.

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
    if (typeof question !== "string") await write(process.stdout, `${JSON.stringify(answer(question))}\n`);
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

/** Exits without a message when the reader of standard output closes it (`| head`). */
export function endQuietlyOnClosedPipe(exitCode = 0): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(exitCode);
    throw error;
  });
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
