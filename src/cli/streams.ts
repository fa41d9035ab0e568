// Standard input and output for commands that read logs of any size.
import { once } from "node:events";
import { StringDecoder } from "node:string_decoder";

/**
 * The lines of a stream, without their line breaks.
 * Only "\n" ends a line: JSON strings may hold U+2028, at which readline would cut them.
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

/** Writes to a stream, and waits while it is full. */
export async function write(output: NodeJS.WritableStream, text: string): Promise<void> {
  if (!output.write(text)) await once(output, "drain");
}

/** Ends the process quietly when the reader of standard output has gone (`| head`). */
export function endQuietlyOnClosedPipe(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
}
