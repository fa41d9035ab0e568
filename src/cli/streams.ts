// Standard input and output of commands that read logs of any size.
import { once } from "node:events";
import { StringDecoder } from "node:string_decoder";

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

/** Exits without a message when the reader of standard output closes it (`| head`). */
export function endQuietlyOnClosedPipe(exitCode = 0): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(exitCode);
    throw error;
  });
}
