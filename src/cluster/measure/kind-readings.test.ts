import { beforeEach, describe, expect, it } from "vitest";
import { ForbiddenError, TransientError, WaitError } from "../../core/errors";
import { ask, Widgets } from "../testing/widgets";

let w: Widgets;

beforeEach(() => {
  w = new Widgets();
});

describe("KindReadings", () => {
  it("lists whole objects once, then metadata every minute, and reads only what has changed", async () => {
    expect(await w.readings.kind(ask())).toMatchObject({ due: [] });
    await w.minutes(3);
    expect(w.requests).toEqual([
      "/apis/example.com/v1",
      "/apis/example.com/v1/widgets",
      ...Array<string>(3).fill("/apis/example.com/v1/widgets as metadata"),
    ]);
    w.edit("blue");
    await w.minutes(1);
    expect(w.requests.slice(5)).toEqual([
      "/apis/example.com/v1/widgets as metadata",
      "/apis/example.com/v1/namespaces/shop/widgets/blue",
    ]);
  });

  it("knows since when an object is due, that it was handled before, and when the kind moved", async () => {
    await w.minutes(2);
    w.handle("green");
    const moved = await w.minutes(1);
    w.edit("blue");
    const reading = await w.minutes(5);
    const [blue] = reading.due;
    expect(blue).toMatchObject({ name: "blue", generation: 2, observed: 1, wasDone: true, movedMs: -Infinity });
    expect(blue!.dueMs).toBeLessThanOrEqual(w.clock.monotonicMs() - 240_000);
    expect(reading.movedMs).toBe(moved.movedMs);
    expect(blue!.dueMs).toBeGreaterThan(reading.movedMs);
    w.handle("blue");
    expect(await w.minutes(1)).toMatchObject({ due: [], passedMs: blue!.dueMs });
  });

  it("does not take an object for handled that was due from the start", async () => {
    w.edit("blue");
    const { due } = await w.minutes(2);
    expect(due).toMatchObject([{ name: "blue", wasDone: false }]);
  });

  it("passes over what became due before something that was handled", async () => {
    await w.minutes(1);
    w.edit("blue");
    const [blue] = (await w.minutes(1)).due;
    w.edit("green");
    await w.minutes(1);
    w.handle("green");
    expect((await w.minutes(1)).passedMs).toBeGreaterThan(blue!.dueMs);
  });

  it("expects nothing of objects that are paused, deleted or not selected, and a last finalizer is a move", async () => {
    await w.minutes(1);
    w.change("blue", { annotations: { paused: "true" } });
    w.change("green", { deletedAt: "2025-01-01T12:00:00Z" });
    w.change("red", { labels: { class: "other" } });
    for (const name of w.widgets.keys()) w.edit(name);
    expect(await w.minutes(2)).toMatchObject({ due: [], movedMs: -Infinity });
    w.handle("red");
    expect(await w.minutes(1)).toMatchObject({ movedMs: -Infinity });
    w.widgets.delete("green");
    expect((await w.minutes(1)).movedMs).toBeGreaterThan(-Infinity);
  });

  it("begins anew with an object that was paused while it was due", async () => {
    await w.minutes(1);
    w.edit("blue");
    await w.minutes(3);
    w.change("blue", { annotations: { paused: "true" } });
    await w.minutes(3);
    const resumedMs = w.clock.monotonicMs();
    w.change("blue", { annotations: {} });
    expect((await w.minutes(1)).due[0]?.dueMs).toBeGreaterThan(resumedMs);
  });

  it("starts the time again after a failed, a slow and a missing reading, and says why nothing is known", async () => {
    const { steadyMs } = await w.minutes(2);
    expect((await w.minutes(1)).steadyMs).toBe(steadyMs);
    w.failure = () => new TransientError("list widgets: timed out");
    expect((await w.minutes(1)).unknown).toEqual({ forbidden: false, message: "list widgets: timed out" });
    w.failure = undefined;
    const again = await w.minutes(1);
    expect(again.steadyMs).toBeGreaterThan(steadyMs);
    expect(again).not.toHaveProperty("unknown");
    w.slowMs = 6_000;
    const slow = await w.minutes(1);
    expect(slow.steadyMs).toBeGreaterThan(again.steadyMs);
    w.slowMs = 0;
    w.clock.freeze(200_000);
    expect((await w.minutes(1)).steadyMs).toBeGreaterThan(slow.steadyMs);
  });

  it.each([
    [() => (w.failure = () => new ForbiddenError("list widgets")), { forbidden: true, message: "list widgets" }],
    [
      () => (w.plural = "widgetry"),
      {
        forbidden: false,
        message:
          "kind Widget of example.com/v1: expected the resource widgets, for which the author's rights are checked, got widgetry",
      },
    ],
  ])("says why it cannot read a kind", async (set, unknown) => {
    set();
    expect(await w.minutes(1)).toMatchObject({ due: [], unknown });
  });

  it("waits for a kind that does not exist yet", async () => {
    const reading = await w.minutes(1, ask({ apiVersion: "example.com/v2" }));
    expect(reading.unknown?.message).toBe("kind Widget of example.com/v2 does not exist (yet)");
    expect(w.requests.filter(path => path.includes("widgets"))).toEqual([]);
  });

  it("reads few whole objects in a minute, and lists all where more have changed", async () => {
    for (let n = 0; n < 200; n++) w.widgets.set(`w${n}`, { ...w.widgets.get("blue")! });
    await w.minutes(7);
    for (const name of w.widgets.keys()) w.handle(name);
    w.requests = [];
    await w.minutes(1);
    expect(w.requests).toEqual(["/apis/example.com/v1/widgets as metadata", ...looks(20)]);
    w.requests = [];
    await w.minutes(1);
    expect(w.requests).toEqual(["/apis/example.com/v1/widgets"]);
    for (const name of w.widgets.keys()) w.handle(name);
    w.requests = [];
    await w.minutes(4);
    expect(w.requests.filter(path => path.endsWith("as metadata"))).toHaveLength(4);
    expect(w.requests.length).toBeLessThanOrEqual(5 + 80);
    await w.minutes(2);
    for (const name of w.widgets.keys()) w.edit(name);
    expect((await w.minutes(6)).due).toHaveLength(203);
    for (const name of w.widgets.keys()) w.handle(name);
    // What has changed since is unknown until it is read.
    expect((await w.minutes(1)).due).toEqual([]);
  });

  function looks(count: number): unknown[] {
    return Array<unknown>(count).fill(expect.stringContaining("/namespaces/shop/widgets/"));
  }

  it("remembers each definition apart, and shares the list", async () => {
    await w.minutes(1);
    w.edit("blue");
    const never = ask({ id: "never", workOf: () => "done" });
    for (let minute = 0; minute < 3; minute++) {
      await w.readings.kind(never);
      await w.minutes(1);
    }
    expect((await w.readings.kind(ask())).due).toMatchObject([{ name: "blue", wasDone: true }]);
    expect(await w.readings.kind(never)).toMatchObject({ due: [], movedMs: -Infinity });
    expect(w.requests.filter(path => path.includes("/v1/widgets"))).toHaveLength(5);
    for (let n = 0; n < 14; n++) expect(await w.readings.kind(ask({ id: `${n}` }))).not.toHaveProperty("unknown");
    expect((await w.readings.kind(ask({ id: "more" }))).unknown?.message).toBe(
      "kind Widget has too many different definitions of due",
    );
  });

  it("names an object for which the question has no answer, if it has none for any", async () => {
    expect(await w.minutes(1, ask({ workOf: () => "unknown" }))).toMatchObject({ due: [], unanswered: "shop/blue" });
  });

  it("waits for the API server of one kind without a delay of the others", async () => {
    w.failure = path => (path.includes("other.example.com") ? new WaitError("busy", 600_000) : undefined);
    for (let minute = 0; minute < 6; minute++) {
      await w.readings.kind(ask({ apiVersion: "other.example.com/v1", id: "other" }));
      await w.minutes(1);
    }
    expect(w.clock.monotonicMs() - ((await w.readings.kind(ask())).readMs ?? 0)).toBeLessThan(120_000);
  });

  it("asks no more often than the API server allows, and ends when nobody asks any more", async () => {
    w.failure = () => new WaitError("list widgets: refused for now (429)", 600_000);
    await w.minutes(5);
    expect(w.requests).toHaveLength(1);
    await w.clock.run(400_000);
    expect(w.clock.pendingTimers).toBe(0);
  });
});
