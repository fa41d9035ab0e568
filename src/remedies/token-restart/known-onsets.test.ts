import { describe, expect, it } from "vitest";
import type { Onset } from "./cause";
import { KnownOnsets } from "./known-onsets";

const HOUR_MS = 3_600_000;

function onset(workload: string, sinceMs: number, seenMs = sinceMs): Onset {
  return { workload, namespace: "shop", serviceAccount: workload, sinceMs, seenMs, isPersistent: true };
}

describe("KnownOnsets", () => {
  it("returns the onsets of every object", () => {
    const known = new KnownOnsets();
    known.remember("shop/a", [onset("a", 1)], 1);
    expect(known.remember("shop/b", [onset("b", 2)], 2)).toEqual([onset("a", 1), onset("b", 2)]);
  });

  it("keeps the start of a rejection after its first 401s have left the log", () => {
    const known = new KnownOnsets();
    known.remember("shop/a", [onset("a", 1)], 1);
    expect(known.remember("shop/a", [onset("a", 60_000)], 60_000)).toEqual([onset("a", 1, 60_000)]);
  });

  it("drops a rejection whose cause is proven now", () => {
    const known = new KnownOnsets();
    known.remember("shop/a", [onset("a", 1), onset("b", 1)], 1);
    expect(known.remember("shop/a", [], 2, ({ workload }) => workload === "a")).toEqual([onset("b", 1)]);
  });

  it("keeps no entry for objects without rejections or with old ones", () => {
    const known = new KnownOnsets();
    for (let i = 0; i < 2_000; i++) known.remember(`shop/${i}`, [], i);
    expect(known.size).toBe(0);
    known.remember("shop/a", [onset("a", 1)], 1);
    known.remember("shop/a", [], HOUR_MS);
    expect(known.size).toBe(1);
    known.remember("shop/another", [], HOUR_MS + 1);
    expect(known.size).toBe(0);
  });

  it("forgets the onsets of one object only", () => {
    const known = new KnownOnsets();
    known.remember("shop/a", [onset("a", 1)], 1);
    known.remember("shop/b", [onset("b", 2)], 2);
    known.forget("shop/a");
    expect(known.remember("shop/c", [], 3)).toEqual([onset("b", 2)]);
  });
});
