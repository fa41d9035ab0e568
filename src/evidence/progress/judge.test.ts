import { describe, expect, it } from "vitest";
import { ask, Widgets } from "../../cluster/testing/widgets";
import { judgeKind } from "./judge";

const MINUTE = 60_000;
const FOR = 15 * MINUTE;

const judge = async (w: Widgets, ableForMs = Infinity, isHandled = false) => {
  const reading = await w.readings.kind(ask());
  const now = { reading, nowMs: w.clock.monotonicMs(), forMs: FOR, ableForMs, isHandled, workedMs: -Infinity };
  return { stuck: judgeKind({ ...now, wasAccused: () => false }).stuck };
};

/** A Widget like another one comes, which was never handled. */
const create = (w: Widgets, like: string) => w.widgets.set("new", { ...w.widgets.get(like)!, generation: 2 });

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
    expect(await judge(w)).toMatchObject({ stuck: { name: "blue" } });
    expect(await judge(w, FOR - 1)).toEqual({ stuck: undefined });
  });

  /** The Widget `blue` is edited, some minutes ago. */
  const edited = async (w: Widgets, minutes: number) => (w.edit("blue"), w.minutes(minutes));
  const write = (w: Widgets, over: object) => (w.change("blue", over), w);
  const failedAtOnce = { edited: 5, written: 5 };
  const slow = async (w: Widgets) => {
    for (const name of ["blue", "green", "red", "blue"]) {
      w.edit(name);
      await w.minutes(10);
      expect((await judge(w)).stuck).toBeUndefined();
      w.handle(name);
    }
  };

  it.each<[string, (w: Widgets) => unknown]>([
    ["that is idle", () => undefined],
    ["that never moved anything", w => w.edit("blue")],
    ["that has not moved anything for an hour", async w => (w.handle("blue"), await w.minutes(61), edited(w, 0))],
    ["whose object was never handled", w => (w.handle("green"), create(w, "blue"))],
    ["that has written an error to the object", async w => (await edited(w, 1), write(w, { written: 9 }))],
    ["that has written one before a reading shows the change", w => (w.edit("blue"), write(w, failedAtOnce))],
    ["that has handled what became due later", async w => (await edited(w, 5), w.edit("green"), w.handle("green"), w)],
    ["that needs ten minutes for each object", slow],
  ])("accuses no controller %s", async (_, happens) => {
    const w = new Widgets();
    await w.minutes(2);
    await happens(w);
    await w.minutes(60);
    expect((await judge(w)).stuck).toBeUndefined();
  });

  it("accuses a controller that wrote to the object shortly before the change", async () => {
    const w = new Widgets();
    await w.minutes(2);
    w.edit("blue");
    w.change("blue", { written: 5, edited: 6 });
    await w.minutes(60);
    expect(await judge(w)).toMatchObject({ stuck: { name: "blue" } });
  });

  it("accuses a controller of a quiet kind, if the status of an object was written since it started", async () => {
    const w = new Widgets();
    await w.minutes(120);
    w.edit("blue");
    await w.minutes(16);
    expect((await judge(w)).stuck).toBeUndefined();
    expect(await judge(w, Infinity, true)).toMatchObject({ stuck: { name: "blue" } });
    w.handle("blue");
    create(w, "green");
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
    expect(await again()).toMatchObject({ stuck: { name: "blue" } });
    w.edit("green");
    await w.minutes(1);
    w.handle("blue");
    await w.minutes(1);
    expect(await again()).toEqual({});
    await w.minutes(15);
    expect(await again()).toMatchObject({ stuck: { name: "green" } });
    w.change("green", { written: 9 });
    await w.minutes(16);
    expect(await again()).toEqual({});
  });
});
