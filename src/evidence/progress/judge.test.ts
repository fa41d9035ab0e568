import { describe, expect, it } from "vitest";
import { ask, Widgets } from "../../cluster/testing/widgets";
import { judgeKind } from "./judge";

const MINUTE = 60_000;
const FOR = 15 * MINUTE;

const judge = async (w: Widgets, ableForMs = Infinity, isHandled = false) => {
  const reading = await w.readings.kind(ask());
  const now = {
    reading,
    nowMs: w.clock.monotonicMs(),
    forMs: FOR,
    ableForMs,
    isHandled,
    workedMs: -Infinity,
    wasAccused: () => false,
  };
  return { stuck: judgeKind(now).stuck };
};

describe("judgeKind", () => {
  it("accuses a controller that has worked and leaves an object alone for the time", async () => {
    const w = new Widgets();
    await w.minutes(2);
    w.handle("green");
    await w.minutes(20);
    w.edit("blue");
    await w.minutes(1);
    await w.minutes(14);
    expect((await judge(w)).stuck).toBeUndefined();
    await w.minutes(1);
    expect(await judge(w)).toMatchObject({ stuck: { object: { name: "blue" }, hasOthers: false } });
    expect(await judge(w, FOR - 1)).toEqual({ stuck: undefined });
  });

  it.each([
    ["that is idle", (w: Widgets) => w.minutes(60)],
    ["that never moved anything", (w: Widgets) => (w.edit("blue"), w.minutes(60))],
    [
      "that has not moved anything for an hour",
      async (w: Widgets) => (w.handle("blue"), await w.minutes(61), w.edit("blue"), w.minutes(60)),
    ],
    [
      "whose object was never handled",
      async (w: Widgets) => (
        w.handle("green"),
        w.widgets.set("new", { ...w.widgets.get("blue")!, generation: 2 }),
        w.minutes(60)
      ),
    ],
    [
      "that has written to the object, such as an error",
      async (w: Widgets) => (w.edit("blue"), await w.minutes(1), w.change("blue", { written: 9 }), w.minutes(60)),
    ],
    [
      "that has written such an error before a reading shows the change",
      (w: Widgets) => (w.edit("blue"), w.change("blue", { edited: 5, written: 5 }), w.minutes(60)),
    ],
    [
      "that has handled what became due later",
      async (w: Widgets) => (w.edit("blue"), await w.minutes(5), w.edit("green"), w.handle("green"), w.minutes(60)),
    ],
    [
      "that needs ten minutes for each object",
      async (w: Widgets) => {
        for (const name of ["blue", "green", "red", "blue"]) {
          w.edit(name);
          await w.minutes(10);
          expect((await judge(w)).stuck).toBeUndefined();
          w.handle(name);
        }
        return w.minutes(20);
      },
    ],
  ])("accuses no controller %s", async (_, happens) => {
    const w = new Widgets();
    await w.minutes(2);
    await happens(w);
    expect((await judge(w)).stuck).toBeUndefined();
  });

  it("accuses a controller that wrote to the object shortly before the change", async () => {
    const w = new Widgets();
    await w.minutes(2);
    w.edit("blue");
    w.change("blue", { written: 5, edited: 6 });
    await w.minutes(60);
    expect(await judge(w)).toMatchObject({ stuck: { object: { name: "blue" } } });
  });

  it("accuses a controller of a quiet kind, if the status of an object was written since it started", async () => {
    const w = new Widgets();
    await w.minutes(120);
    w.edit("blue");
    await w.minutes(16);
    expect((await judge(w)).stuck).toBeUndefined();
    expect(await judge(w, Infinity, true)).toMatchObject({ stuck: { object: { name: "blue" } } });
    w.handle("blue");
    w.widgets.set("new", { ...w.widgets.get("green")!, generation: 2 });
    await w.minutes(60);
    // An object that was never handled may be none of this controller.
    expect((await judge(w, Infinity, true)).stuck).toBeUndefined();
  });

  it("does not take back what was found by an earlier process until something moves", async () => {
    const w = new Widgets();
    w.edit("blue");
    await w.minutes(2);
    const again = async () =>
      judgeKind({
        ...{ reading: await w.readings.kind(ask()), nowMs: w.clock.monotonicMs(), forMs: FOR, ableForMs: Infinity },
        ...{ isHandled: false, workedMs: -Infinity, wasAccused: () => true },
      });
    expect(await again()).toMatchObject({ stuck: { object: { name: "blue" } } });
    w.edit("green");
    await w.minutes(1);
    w.handle("blue");
    await w.minutes(1);
    expect(await again()).toEqual({});
    await w.minutes(15);
    expect(await again()).toMatchObject({ stuck: { object: { name: "green" } } });
    w.change("green", { written: 9 });
    await w.minutes(16);
    expect(await again()).toEqual({});
  });
});
