import { describe, expect, it } from "vitest";
import { LeaderWarmup } from "./leader-warmup";

describe("the warm-up of a new leader", () => {
  it("is complete in no namespace before the first list", () => {
    const warmup = new LeaderWarmup(() => undefined);
    expect(warmup.isCompleteIn("team")).toBe(false);
    warmup.loaded("team/a");
    expect(warmup.isCompleteIn("team")).toBe(false);
    warmup.expect([]);
    expect(warmup.isCompleteIn("team")).toBe(true);
  });

  it("is complete in a namespace when all its objects are loaded, independent of other namespaces", () => {
    const warmup = new LeaderWarmup(() => undefined);
    warmup.expect(["team/a", "team/b", "shop/a"]);
    warmup.loaded("team/a");
    expect(warmup.isCompleteIn("team")).toBe(false);
    warmup.loaded("team/b");
    expect([warmup.isCompleteIn("team"), warmup.isCompleteIn("shop")]).toEqual([true, false]);
  });

  it("ignores later lists of a term, and starts again in each term", () => {
    const warmup = new LeaderWarmup(() => undefined);
    warmup.expect(["team/a"]);
    warmup.loaded("team/a");
    warmup.expect(["team/a", "team/new"]);
    expect(warmup.isCompleteIn("team")).toBe(true);
    warmup.startTerm();
    expect(warmup.isCompleteIn("team")).toBe(false);
    warmup.expect(["team/a", "team/new"]);
    warmup.loaded("team/a");
    expect(warmup.isCompleteIn("team")).toBe(false);
  });

  it("requests the missing objects of a namespace, ten at a time", () => {
    const requested: string[] = [];
    const warmup = new LeaderWarmup(key => void requested.push(key));
    const keys = Array.from({ length: 12 }, (_, i) => `team/${i}`);
    warmup.expect([...keys, "shop/a"]);
    warmup.requestMissing("team");
    expect(requested.splice(0)).toEqual(keys.slice(0, 10));
    for (const key of keys.slice(0, 11)) warmup.loaded(key);
    warmup.requestMissing("team");
    expect(requested.splice(0)).toEqual(["team/11"]);
    warmup.loaded("team/11");
    warmup.requestMissing("team");
    expect(requested).toEqual([]);
  });

  it("is complete when the objects of all namespaces are loaded, and requests those of any namespace", () => {
    const requested: string[] = [];
    const warmup = new LeaderWarmup(key => void requested.push(key));
    expect(warmup.isComplete()).toBe(false);
    warmup.expect(["team/a", "shop/a"]);
    warmup.loaded("team/a");
    warmup.requestMissing();
    expect([warmup.isComplete(), requested]).toEqual([false, ["shop/a"]]);
    warmup.loaded("shop/a");
    expect(warmup.isComplete()).toBe(true);
  });
});
