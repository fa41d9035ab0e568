import { describe, expect, it } from "vitest";
import { RollCall } from "./roll-call";

describe("the roll call of a new leader", () => {
  it("is complete nowhere until it is known who has to answer", () => {
    const rollCall = new RollCall();
    expect(rollCall.isCompleteIn("team")).toBe(false);
    rollCall.answered("team/a");
    expect(rollCall.isCompleteIn("team")).toBe(false);
    rollCall.call([]);
    expect(rollCall.isCompleteIn("team")).toBe(true);
  });

  it("is complete in a namespace when all its objects have answered, whatever the others do", () => {
    const rollCall = new RollCall();
    rollCall.call(["team/a", "team/b", "shop/a"]);
    rollCall.answered("team/a");
    expect(rollCall.isCompleteIn("team")).toBe(false);
    rollCall.answered("team/b");
    expect([rollCall.isCompleteIn("team"), rollCall.isCompleteIn("shop")]).toEqual([true, false]);
  });

  it("is not called again by the later lists of a term, but in each term", () => {
    const rollCall = new RollCall();
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
});
