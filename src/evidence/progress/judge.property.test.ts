import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TransientError } from "../../core/errors";
import { ask, Widgets } from "../../cluster/testing/widgets";
import { judgeKind } from "./judge";

const MINUTE = 60_000;
const FOR = 15 * MINUTE;

/** What happens in a minute. */
const EVENTS = ["edit", "handle", "touch", "fail", "slow", "pause", "resume"] as const;

const stories = fc.array(
  fc.record({
    waits: fc.constantFrom(0, 1, 3, 16, 20, 61),
    event: fc.constantFrom(...EVENTS),
    name: fc.constantFrom("blue", "green", "red"),
  }),
  { minLength: 1, maxLength: 12 },
);

const HAPPENINGS: Readonly<Record<(typeof EVENTS)[number], (w: Widgets, name: string) => void>> = {
  edit: (w, name) => w.edit(name),
  handle: (w, name) => w.handle(name),
  touch: (w, name) => w.change(name, { written: (w.widgets.get(name)?.written ?? 0) + 1 }),
  fail: w => (w.failure = () => new TransientError("list widgets: timed out")),
  slow: w => (w.slowMs = 6_000),
  pause: (w, name) => w.change(name, { annotations: { "crossplane.io/paused": "true" } }),
  resume: (w, name) => w.change(name, { annotations: {} }),
};

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
  it("accuses nobody but for work that is due, after a move, and without a failed or slow reading in that time", async () => {
    let found = 0;
    await fc.assert(
      fc.asyncProperty(stories, async story => {
        const [w, last] = [new Widgets(), { moved: -Infinity, failed: -Infinity, resumed: new Map<string, number>() }];
        let minute = 0;
        const pass = async (): Promise<void> => {
          await w.minutes(1);
          minute++;
          const { stuck } = await judge(w);
          if (stuck === undefined) return;
          found++;
          const { generation, observed, annotations } = w.widgets.get(stuck.object.name)!;
          expect(generation).toBeGreaterThan(observed);
          expect(annotations).toEqual({});
          // A minute passes between an event and the reading that shows it.
          expect(minute - last.moved).toBeGreaterThanOrEqual(15);
          expect(minute - last.failed).toBeGreaterThanOrEqual(15);
          expect(minute - (last.resumed.get(stuck.object.name) ?? -Infinity)).toBeGreaterThanOrEqual(15);
          expect(last.moved).toBeGreaterThan(-Infinity);
        };
        for (let n = 0; n < 2; n++) await pass();
        for (const { event, name, waits } of story) {
          const wasPaused = w.widgets.get(name)!.annotations["crossplane.io/paused"] !== undefined;
          HAPPENINGS[event](w, name);
          if (event === "handle" || event === "touch") last.moved = minute;
          if (event === "resume" && wasPaused) last.resumed.set(name, minute);
          if (event === "fail" || event === "slow") last.failed = minute;
          await pass();
          [w.failure, w.slowMs] = [undefined, 0];
          for (let n = 0; n < waits; n++) await pass();
        }
      }),
      { numRuns: 100 },
    );
    expect(found).toBeGreaterThan(100);
  });

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
  });
});
