import { PassThrough, Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { confirm } from "./kubectl/terminal";
import { linesOf, write } from "./streams";

async function lines(chunks: readonly Buffer[]): Promise<string[]> {
  const found: string[] = [];
  for await (const line of linesOf(Readable.from(chunks))) found.push(line);
  return found;
}

describe("lines of a stream", () => {
  it("are the same wherever it is cut, even inside a character", async () => {
    const text = fc
      .array(fc.constantFrom("a", "é", "\u2028", "\n", "😀", "\r"), { maxLength: 40 })
      .map(p => p.join(""));
    await fc.assert(
      fc.asyncProperty(text, fc.nat(120), async (log, cut) => {
        const bytes = Buffer.from(log);
        const expected = log.split("\n");
        if (expected.at(-1) === "") expected.pop();
        expect(await lines([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(expected);
      }),
    );
  });

  it("are none without input", async () => {
    expect(await lines([])).toEqual([]);
  });
});

it("writing waits while the reader is behind", async () => {
  const output = new PassThrough({ highWaterMark: 1 });
  let written = false;
  const writing = write(output, "too much").then(() => (written = true));
  await Promise.resolve();
  expect(written).toBe(false);
  output.resume();
  await writing;
  expect(written).toBe(true);
});

it.each([
  ["Ctrl-C", "\x03", false],
  ["Ctrl-D", "\x04", false],
  ["y", "y\n", true],
  ["Enter", "\n", false],
])("a question takes %s for an answer", async (_, keys, expected) => {
  const terminal = (): PassThrough & { isTTY: true } => Object.assign(new PassThrough(), { isTTY: true as const });
  const [stdin, stderr] = [terminal(), terminal()];
  const answer = confirm("It restarts.", {}, { stdin, stdout: new PassThrough(), stderr, env: {} });
  stdin.write(keys);
  expect(await answer).toBe(expected);
});
