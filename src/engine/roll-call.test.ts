import { describe, expect, it } from "vitest";
import { RollCall } from "./roll-call";

describe("the roll call of a new leader", () => {
  it("is complete nowhere until it is known who has to answer", () => {
    const rollCall = new RollCall(() => undefined);
    expect(rollCall.isCompleteIn("team")).toBe(false);
    rollCall.answered("team/a");
    expect(rollCall.isCompleteIn("team")).toBe(false);
    rollCall.call([]);
    expect(rollCall.isCompleteIn("team")).toBe(true);
  });

  it("is complete in a namespace when all its objects have answered, whatever the others do", () => {
    const rollCall = new RollCall(() => undefined);
    rollCall.call(["team/a", "team/b", "shop/a"]);
    rollCall.answered("team/a");
    expect(rollCall.isCompleteIn("team")).toBe(false);
    rollCall.answered("team/b");
    expect([rollCall.isCompleteIn("team"), rollCall.isCompleteIn("shop")]).toEqual([true, false]);
  });

  it("is not called again by the later lists of a term, but in each term", () => {
    const rollCall = new RollCall(() => undefined);
    rollCall.call(["team/a"]);
    rollCall.answered("team/a");
    rollCall.call(["team/a", "team/new"]);
    expect(rollCall.isCompleteIn("team")).toBe(true);
    rollCall.begin();
    expect(rollCall.isCompleteIn("team")).toBe(false);
    rollCall.call(["team/a", "team/new"]);
    rollCall.answered("team/a");
    expect(rollCall.isCompleteIn("team")).toBe(false);
  });

  it("asks those that are missing where somebody waits for them, a few at a time", () => {
    const asked: string[] = [];
    const rollCall = new RollCall(key => void asked.push(key));
    const keys = Array.from({ length: 12 }, (_, i) => `team/${i}`);
    rollCall.call([...keys, "shop/a"]);
    rollCall.askMissingIn("team");
    expect(asked.splice(0)).toEqual(keys.slice(0, 10));
    for (const key of keys.slice(0, 11)) rollCall.answered(key);
    rollCall.askMissingIn("team");
    expect(asked.splice(0)).toEqual(["team/11"]);
    rollCall.answered("team/11");
    rollCall.askMissingIn("team");
    expect(asked).toEqual([]);
  });
});
