import { describe, expect, it } from "vitest";
import { LeaderWarmup } from "./leader-warmup";

function makeWarmup() {
  const requested: string[] = [];
  return { requested, warmup: new LeaderWarmup(key => void requested.push(key)) };
}

describe("the warm-up of a new leader", () => {
  it("is complete when all objects of the first list are loaded, and requests those that are missing, ten at a time", () => {
    const { requested, warmup } = makeWarmup();
    warmup.loaded("team/a");
    expect([warmup.isComplete(), requested]).toEqual([false, []]);
    const keys = Array.from({ length: 12 }, (_, i) => `team-${i}/a`);
    warmup.expect(keys);
    expect([warmup.isComplete(), requested.splice(0)]).toEqual([false, keys.slice(0, 10)]);
    for (const key of keys.slice(0, 11)) warmup.loaded(key);
    expect([warmup.isComplete(), requested.splice(0)]).toEqual([false, ["team-11/a"]]);
    warmup.loaded("team-11/a");
    expect([warmup.isComplete(), requested]).toEqual([true, []]);
  });

  it("ignores later lists of a term, and starts again in each term", () => {
    const { warmup } = makeWarmup();
    warmup.expect([]);
    warmup.expect(["team/new"]);
    expect(warmup.isComplete()).toBe(true);
    warmup.startTerm();
    expect(warmup.isComplete()).toBe(false);
    warmup.expect(["team/new"]);
    expect(warmup.isComplete()).toBe(false);
  });
});
