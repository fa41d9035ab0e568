import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { LineSplitter, MalformedError } from "./stream";

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [0, ...[...at].map(place => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end));
}

describe("LineSplitter", () => {
  it("returns the same lines wherever the stream is cut, also within characters", () => {
    const line = fc.string({ unit: "grapheme", maxLength: 30 }).map(text => text.replaceAll("\n", " "));
    fc.assert(
      fc.property(fc.array(line), line, fc.array(fc.nat()), (lines, rest, at) => {
        const splitter = new LineSplitter(10_000);
        const stream = Buffer.from(lines.map(text => `${text}\n`).join("") + rest);
        const found = cut(stream, at).flatMap(chunk => splitter.push(chunk));
        expect(found).toEqual(lines.filter(text => text !== ""));
        expect(splitter.pending).toBe(Buffer.byteLength(rest));
      }),
    );
  });

  it("rejects a line above the limit, however it is chunked", () => {
    expect(new LineSplitter(3).push(Buffer.from("123\n"))).toEqual(["123"]);
    expect(() => new LineSplitter(3).push(Buffer.from("1234\n"))).toThrow(MalformedError);
    const splitter = new LineSplitter(3);
    splitter.push(Buffer.from("12"));
    expect(() => splitter.push(Buffer.from("34"))).toThrow(MalformedError);
  });

  it("copies a long line once, not once per chunk", () => {
    const splitter = new LineSplitter(64 * 1024 * 1024);
    const chunk = Buffer.alloc(1_000, "x");
    const copies = vi.spyOn(Buffer, "concat");
    for (let i = 0; i < 1_000; i++) splitter.push(chunk);
    expect(splitter.push(Buffer.from("\n"))[0]).toHaveLength(1_000_000);
    expect(copies).toHaveBeenCalledTimes(1);
    copies.mockRestore();
  });
});
