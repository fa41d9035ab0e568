import { describe, expect, it } from "vitest";
import { LeaderWarmup } from "./leader-warmup";

describe("the roll call of a new leader", () => {
  it("is complete nowhere until it is known who has to answer", () => {
    const warmup = new LeaderWarmup(() => undefined);
    expect(warmup.isCompleteIn("team")).toBe(false);
    warmup.answered("team/a");
    expect(warmup.isCompleteIn("team")).toBe(false);
    warmup.call([]);
    expect(warmup.isCompleteIn("team")).toBe(true);
  });

  it("is complete in a namespace when all its objects have answered, whatever the others do", () => {
    const warmup = new LeaderWarmup(() => undefined);
    warmup.call(["team/a", "team/b", "shop/a"]);
    warmup.answered("team/a");
    expect(warmup.isCompleteIn("team")).toBe(false);
    warmup.answered("team/b");
    expect([warmup.isCompleteIn("team"), warmup.isCompleteIn("shop")]).toEqual([true, false]);
  });

  it("is not called again by the later lists of a term, but in each term", () => {
    const warmup = new LeaderWarmup(() => undefined);
    warmup.call(["team/a"]);
    warmup.answered("team/a");
    warmup.call(["team/a", "team/new"]);
    expect(warmup.isCompleteIn("team")).toBe(true);
    warmup.begin();
    expect(warmup.isCompleteIn("team")).toBe(false);
    warmup.call(["team/a", "team/new"]);
    warmup.answered("team/a");
    expect(warmup.isCompleteIn("team")).toBe(false);
  });

  it("asks those that are missing where somebody waits for them, a few at a time", () => {
    const asked: string[] = [];
    const warmup = new LeaderWarmup(key => void asked.push(key));
    const keys = Array.from({ length: 12 }, (_, i) => `team/${i}`);
    warmup.call([...keys, "shop/a"]);
    warmup.askMissingIn("team");
    expect(asked.splice(0)).toEqual(keys.slice(0, 10));
    for (const key of keys.slice(0, 11)) warmup.answered(key);
    warmup.askMissingIn("team");
    expect(asked.splice(0)).toEqual(["team/11"]);
    warmup.answered("team/11");
    warmup.askMissingIn("team");
    expect(asked).toEqual([]);
  });
});
