import { beforeEach, describe, expect, it } from "vitest";
import type { Refusal } from "../../core/readers";
import type { ServerCounts } from "./metrics";
import { type CountsReading, RefusalMemory } from "./refusals";

const ALL: readonly Refusal[] = ["401", "403", "429"];
const MEGABYTE = 1_000_000;

let memory: RefusalMemory;
let nowMs: number;

beforeEach(() => {
  memory = new RefusalMemory();
  nowMs = 5_000;
});

type Server = Partial<ServerCounts> & { readonly counts?: Partial<Record<Refusal, number>> };

function server({ counts = { "401": 7, "403": 70, "429": 0 }, ...rest }: Server = {}): ServerCounts {
  const refused = new Map(Object.entries(counts) as [Refusal, number][]);
  const fixed = { address: "10.0.0.1:6443", startSeconds: 1, atMs: 0, requests: new Map() };
  return { ...fixed, bytes: MEGABYTE, refused, ...rest };
}

/** Ten seconds later, reads these servers within a second. */
function read(counts: readonly ServerCounts[], scope: CountsReading["scope"] = "each"): void {
  nowMs += 10_000;
  memory.note({ counts, scope, startedMs: nowMs - 1_000, endedMs: nowMs });
}

const until = (...refusals: readonly Refusal[]): number =>
  memory.refusedUntilMs(refusals.length > 0 ? refusals : ALL, nowMs);

describe("requests may have been refused", () => {
  it.each(ALL)("until the end of the reading that shows more answers with %s, by any server", refusal => {
    const other = { address: "10.0.0.2:6443", startSeconds: 2 };
    read([server(), server(other)]);
    const firstMs = nowMs;
    read([server(), server({ ...other, counts: { "401": 7, "403": 70, "429": 0, [refusal]: 71 } })]);
    expect(until(refusal)).toBe(nowMs);
    expect(until(...ALL.filter(one => one !== refusal))).toBe(firstMs);
  });

  it.each<[string, readonly ServerCounts[]]>([
    ["a server restarts", [server({ startSeconds: 9 })]],
    ["a server joins", [server(), server({ address: "10.0.0.2:6443", startSeconds: 2 })]],
    ["a server is replaced by another with the same counts", [server({ address: "10.0.0.2:6443" })]],
    ["a counter falls", [server({ counts: { "401": 6, "403": 70, "429": 0 } })]],
  ])("when %s, and not since", (_, counts) => {
    read([server()]);
    read(counts);
    const changedMs = nowMs;
    expect(until("401")).toBe(changedMs);
    read(counts);
    expect(until()).toBe(changedMs);
  });

  it.each([{}, { "401": NaN, "403": 1, "429": 1 }])("always, while a server does not count them: %o", counts => {
    for (let i = 0; i < 5; i++) read([server({ counts })]);
    expect(until()).toBe(nowMs);
  });

  it("now, once the last reading of all servers is old; one that finds the same counts shows that none was", () => {
    read([server()]);
    const firstMs = nowMs;
    for (let i = 0; i < 3; i++) read([server()], "some");
    expect(until()).toBe(firstMs);
    read([], "some");
    expect(until()).toBe(Infinity);
    read([server()]);
    expect(until()).toBe(firstMs);
  });

  it("until one server has answered six new connections in a row at the only address", () => {
    const one = server({ address: "" });
    for (let i = 0; i < 5; i++) read([one], "one");
    expect(until()).toBe(Infinity);
    read([server({ address: "", startSeconds: 2 })], "some");
    for (let i = 0; i < 5; i++) read([one], "one");
    expect(until()).toBe(Infinity);
    read([one], "one");
    expect(until()).toBe(nowMs);
  });

  it("always, where pages are so large that a refusal would be known too late", () => {
    const large = server({ bytes: 11 * MEGABYTE });
    read([large]);
    expect([until(), memory.waitMs]).toEqual([Infinity, 300_000]);
  });
});

describe("the next reading follows", () => {
  it("after ten seconds, or as late as keeps it below half a percent of a core of the server", () => {
    expect(memory.waitMs).toBe(10_000);
    read([server({ bytes: 1.6 * MEGABYTE }), server({ bytes: MEGABYTE })]);
    expect(memory.waitMs).toBe(10_000);
    read([server({ bytes: MEGABYTE }), server({ bytes: 5 * MEGABYTE })]);
    expect(memory.waitMs).toBe(30_000);
    nowMs += 70_000;
    expect(until()).not.toBe(Infinity);
  });

  it("after five minutes where nothing can be learned, after some attempts", () => {
    read([server()]);
    for (let i = 0; i < 5; i++) read([], "some");
    expect(memory.waitMs).toBe(10_000);
    read([], "some");
    expect(memory.waitMs).toBe(300_000);
    read([server()]);
    expect(memory.waitMs).toBe(10_000);
  });
});
