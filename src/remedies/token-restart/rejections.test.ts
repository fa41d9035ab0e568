import { describe, expect, it } from "vitest";
import type { Onset } from "./cause";
import { rejectionsOf } from "./rejections";

const MINUTE = 60_000;
const NOW = 1_000 * MINUTE;

function onset(workload: string, sinceAgo: number, changes: Partial<Onset> = {}): Onset {
  const times = { sinceMs: NOW - sinceAgo * MINUTE, seenMs: NOW };
  return { workload, namespace: "team", serviceAccount: workload, isPersistent: true, ...times, ...changes };
}

describe("the rejections that a claim carries", () => {
  it("are none without onsets", () => {
    expect(rejectionsOf([], 7, NOW)).toEqual({ workloads: 0, watched: 7 });
  });

  it("count each workload with persistent ones in the last five minutes once", () => {
    const onsets = [
      onset("a", 60),
      onset("a", 2, { isPersistent: false }),
      onset("a", 30, { namespace: "shop" }),
      onset("b", 30, { isPersistent: false }),
      onset("c", 30, { seenMs: NOW - 6 * MINUTE }),
    ];
    expect(rejectionsOf(onsets, 7, NOW)).toMatchObject({ workloads: 2 });
  });

  it.each<[string, Onset[], number | undefined]>([
    ["two ServiceAccounts within five minutes", [onset("b", 6), onset("a", 10), onset("c", 90)], 10],
    ["two ServiceAccounts apart", [onset("a", 10), onset("b", 4)], undefined],
    ["one ServiceAccount", [onset("a", 4, { serviceAccount: "x" }), onset("b", 4, { serviceAccount: "x" })], undefined],
    ["namesakes", [onset("a", 4), onset("a", 4, { namespace: "shop" })], 4],
    ["a suspected rejection", [onset("a", 4), onset("b", 4, { isPersistent: false })], undefined],
    ["one with an unknown start", [onset("a", 4), onset("b", 4, { isStartUnknown: true })], undefined],
    ["an ended one", [onset("a", 9), onset("b", 9, { seenMs: NOW - 30 * MINUTE })], 9],
  ])("began together, for %s", (_, onsets, ago) => {
    const { togetherSinceMs } = rejectionsOf(onsets, 7, NOW);
    expect(togetherSinceMs).toBe(ago === undefined ? undefined : NOW - ago * MINUTE);
  });
});
