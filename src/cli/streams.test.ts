import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linesOf, readLog, write } from "./streams";

async function lines(chunks: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<string[]> {
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

it.each<[string, (log: string) => Buffer, string | RegExp]>([
  ["a byte-order mark", log => Buffer.from(`\ufeff${log}`), "a log\n"],
  ["gzip", gzipSync, "a log\n"],
  ["gzip that is cut", log => gzipSync(log).subarray(0, 20), /^failed to decompress .*: unexpected end of file$/],
  ["UTF-16", log => Buffer.from(`\ufeff${log}`, "utf16le"), "a log\n"],
  ["gzip of big-endian UTF-16", log => gzipSync(Buffer.from(`\ufeff${log}`, "utf16le").swap16()), "a log\n"],
  ["UTF-16 without a mark", log => Buffer.from(log, "utf16le"), /got binary data$/],
])("a log in %s is read right, or refused", async (_, encode, expected) => {
  const file = join(mkdtempSync(join(tmpdir(), "streams-")), "web.log");
  writeFileSync(file, encode("a log\n"));
  const reading = lines(readLog(file)).then(found => `${found.join("")}\n`);
  if (typeof expected === "string") expect(await reading).toBe(expected);
  else await expect(reading).rejects.toThrow(expected);
  rmSync(join(file, ".."), { recursive: true });
});
