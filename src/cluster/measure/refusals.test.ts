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

type Server = Partial<Omit<ServerCounts, "counts">> & { readonly counts?: Partial<Record<Refusal, number>> };

function server({ counts = { "401": 7, "403": 70, "429": 0 }, ...rest }: Server = {}): ServerCounts {
  const fixed = { address: "10.0.0.1:6443", startSeconds: 1, atMs: 0, bytes: MEGABYTE };
  return { ...fixed, counts: new Map(Object.entries(counts)), ...rest };
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

describe("the 401s of all API servers together", () => {
  const EPOCH_MS = 1_000_000_000;
  const other = (count: number, startSeconds = 2) =>
    server({ address: "10.0.0.2:6443", startSeconds, counts: { "401": count } });
  /** From when to when they are known, and the times of some, in seconds; undefined: nothing is proven. */
  const proven = () => {
    const { refused, ...known } = memory.unauthorized(nowMs, EPOCH_MS) ?? {};
    const times = [known as { fromMs: number; toMs: number }, ...(refused ?? [])];
    return refused && times.map(({ fromMs, toMs }) => `${(fromMs - EPOCH_MS) / 1000}-${(toMs - EPOCH_MS) / 1000}`);
  };
  const COVERS_NOTHING = (): string[] => [`${nowMs / 1000}-${nowMs / 1000}`];

  it("are known from the first reading on: what a server that restarts or joins has counted may be from any time", () => {
    read([server(), other(0)]);
    expect(proven()).toEqual(["15-15"]);
    for (const last of [other(1), other(1), other(9, 3), other(9, 3), other(10, 3)]) read([server(), last]);
    expect(proven()).toEqual(["15-65", "15-25", "55-65"]);
    read([server(), other(10, 3), server({ address: "10.0.0.3:6443", counts: { "401": 99 } })]);
    expect(proven()).toEqual(["15-75", "15-25", "55-65"]);
  });

  it("are known of a time in which a server was not read for minutes", () => {
    read([server(), other(0)]);
    for (let i = 0; i < 12; i++) read([server()], "some");
    expect(proven()).toEqual(["15-15"]);
    read([server(), other(1)]);
    expect(proven()).toEqual(["15-145", "15-145"]);
  });

  it("are those of the last 16 minutes", () => {
    for (let i = 0; i < 100; i++) read([server(), other(i < 10 ? i : 10)]);
    expect(proven()).toEqual(["45-1005", "45-55", "55-65", "65-75", "75-85", "85-95", "95-105", "105-115"]);
  });

  it("hold for five minutes after the last reading, and then a first attempt of six", () => {
    read([server(), other(0)]);
    nowMs += 299_000;
    expect(proven()).toEqual(["15-15"]);
    nowMs += 1_000;
    expect(proven()).toBeUndefined();
    for (let i = 0; i < 5; i++) {
      read([], "some");
      expect(proven()).toEqual(COVERS_NOTHING());
    }
    read([], "some");
    expect(proven()).toBeUndefined();
    // Not the attempts of an earlier incident.
    nowMs += 600_000;
    read([], "some");
    expect(proven()).toEqual(COVERS_NOTHING());
  });

  it("are not known where there is one address, behind which there may be others", () => {
    for (let i = 0; i < 7; i++) read([server({ address: "" })], "one");
    expect(proven()).toBeUndefined();
  });
});
