import { beforeEach, describe, expect, it } from "vitest";
import { ForbiddenError, TransientError, WaitError } from "../../core/errors";
import type { KindObject, KindQuestion } from "../../core/progress";
import { kindObject } from "../../evidence/progress/follow";
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
    expect(blue).toMatchObject({ name: "blue", generation: 2, observed: 1, wasDone: true, isLookedAt: false });
    expect(blue!.dueMs).toBeLessThanOrEqual(w.clock.monotonicMs() - 240_000);
    expect(reading.movedMs).toBe(moved.movedMs);
    expect(blue!.dueMs).toBeGreaterThan(reading.movedMs);
    w.handle("blue");
    expect(await w.minutes(1)).toMatchObject({ due: [], passedMs: blue!.dueMs });
  });

  it("takes an object that was due from the start for handled if its status is older than its spec", async () => {
    w.edit("blue");
    expect((await w.minutes(2)).due).toMatchObject([{ name: "blue", wasDone: false }]);
    w.change("blue", { written: 60, edited: 60 });
    expect((await w.minutes(1)).due).toMatchObject([{ name: "blue", wasDone: false }]);
    w.change("blue", { edited: 61 });
    expect((await w.minutes(1)).due).toMatchObject([{ name: "blue", wasDone: true }]);
  });

  it("takes an object that was handled and has changed again between two readings for due since then", async () => {
    await w.minutes(1);
    w.edit("blue");
    const [first] = (await w.minutes(3)).due;
    w.edit("blue");
    expect((await w.minutes(1)).due).toMatchObject([{ name: "blue", dueMs: first!.dueMs }]);
    w.handle("blue");
    w.edit("blue");
    w.change("blue", { edited: 3 });
    const [next] = (await w.minutes(2)).due;
    expect(next).toMatchObject({ name: "blue", wasDone: true, isLookedAt: false });
    expect(next!.dueMs).toBeGreaterThan(first!.dueMs);
    w.change("blue", { written: 9 });
    expect((await w.minutes(2)).due).toMatchObject([{ name: "blue", dueMs: next!.dueMs }]);
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
    w.change("blue", { annotations: { "crossplane.io/paused": "true" } });
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
    w.change("blue", { annotations: { "crossplane.io/paused": "true" } });
    await w.minutes(3);
    const resumedMs = w.clock.monotonicMs();
    w.change("blue", { annotations: {} });
    expect((await w.minutes(1)).due[0]?.dueMs).toBeGreaterThan(resumedMs);
  });

  it("starts the time again after a failed, a slow and a missing reading", async () => {
    const { steadyMs } = await w.minutes(2);
    expect((await w.minutes(1)).steadyMs).toBe(steadyMs);
    w.failure = () => new TransientError("list widgets: timed out");
    expect((await w.minutes(1)).steadyMs).toBe(Infinity);
    w.failure = undefined;
    const again = await w.minutes(1);
    expect(again.steadyMs).toBeGreaterThan(steadyMs);
    w.slowMs = 6_000;
    const slow = await w.minutes(1);
    expect(slow.steadyMs).toBeGreaterThan(again.steadyMs);
    w.slowMs = 0;
    w.clock.freeze(200_000);
    expect((await w.minutes(1)).steadyMs).toBeGreaterThan(slow.steadyMs);
  });

  it("keeps a reading until it is too old, and says then why nothing is known", async () => {
    w.change("blue", { observed: 0 });
    const { due } = await w.minutes(1);
    expect(due).toHaveLength(1);
    w.failure = () => new TransientError("list widgets: timed out");
    const later = await w.minutes(2);
    expect(later).toMatchObject({ due });
    expect(later).not.toHaveProperty("unknown");
    expect((await w.minutes(2)).unknown).toEqual({ forbidden: false, message: "list widgets: timed out" });
    w.failure = undefined;
    expect(await w.minutes(4)).not.toHaveProperty("unknown");
  });

  it("says that a kind is not read yet, as to a new leader whose first list takes longer than a pass waits", async () => {
    [w.hang, w.hangMs] = [() => true, 60_000];
    const asked = w.readings.kind(ask());
    await w.clock.run(5_000);
    expect((await asked).unknown).toEqual({ forbidden: false, message: "the objects of kind Widget are not read yet" });
  });

  it("says that a kind is not known while its lists hang", async () => {
    await w.minutes(1);
    w.hang = () => true;
    w.hangMs = 900_000;
    const { unknown } = await w.minutes(4);
    expect(unknown?.message).toBe("the objects of kind Widget could not be listed for more than 3m");
  });

  it.each([
    [
      () => (w.failure = () => new ForbiddenError("list widgets")),
      { forbidden: true, message: expect.stringMatching(/^list widgets; .*aggregate-to-progress=true$/) as string },
    ],
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

  it("reads the other objects of a kind beside some that cannot be read", async () => {
    await w.minutes(1);
    w.failure = path => (/blue|green/.test(path) ? new TransientError("get widgets: HTTP 500") : undefined);
    for (let minute = 0; minute < 4; minute++) {
      for (const name of w.widgets.keys()) w.edit(name);
      expect(await w.minutes(1)).not.toHaveProperty("unknown");
    }
    const { due, steadyMs } = await w.minutes(3);
    expect(due).toMatchObject([{ name: "red" }]);
    expect(steadyMs).toBeLessThan(60_000);
    w.failure = undefined;
    expect((await w.minutes(2)).due).toHaveLength(3);
  });

  it("remembers each definition apart, and shares the list", async () => {
    await w.minutes(1);
    w.edit("blue");
    const never = ask({ id: "never", due: "never", workOf: () => "done" });
    for (let minute = 0; minute < 3; minute++) {
      await w.readings.kind(never);
      await w.minutes(1);
    }
    expect((await w.readings.kind(ask())).due).toMatchObject([{ name: "blue", wasDone: true }]);
    expect(await w.readings.kind(never)).toMatchObject({ due: [], movedMs: -Infinity });
    expect(w.requests.filter(path => path.includes("/v1/widgets"))).toHaveLength(5);
  });

  it("follows a hundred definitions of due for the whole operator, and any number of selectors", async () => {
    const named = (name: string, n: number) => ({ [name]: `${n}` });
    for (let n = 0; n < 200; n++) {
      const selects = ({ labels }: KindObject): boolean => labels["class"] === `${n}`;
      expect(await w.readings.kind(ask({ ...named("id", n), selects }))).not.toHaveProperty("unknown");
    }
    for (let n = 1; n < 100; n++) {
      const over = { ...named("id", n), ...named("due", n), apiVersion: n % 2 > 0 ? "example.com/v1" : "b.com/v1" };
      expect(await w.readings.kind(ask(over))).not.toHaveProperty("unknown");
    }
    const more = await w.readings.kind(ask({ id: "more", due: "more", apiVersion: "c.example.com/v1" }));
    expect(more.unknown).toEqual({
      ...{ forbidden: false, isLasting: true },
      message:
        "kind Widget has one definition of due more than the 100 that the operator follows; use the default, or one that another object uses",
    });
    expect(w.requests.some(path => path.includes("c.example.com"))).toBe(false);
  });

  it("answers a definition of due once for all selectors", async () => {
    let answers = 0;
    const counting = (over: Partial<KindQuestion> = {}) =>
      ask({ ...over, workOf: one => (answers++, ask().workOf(one)) });
    const every = counting({ id: "every", selects: () => true });
    await w.minutes(1, every);
    await w.minutes(1, counting());
    expect(answers).toBe(3);
    w.change("red", { labels: { class: "other" } });
    for (const name of ["red", "blue"]) w.edit(name);
    await w.readings.kind(every);
    expect((await w.minutes(2, counting())).due).toMatchObject([{ name: "blue" }]);
    expect((await w.readings.kind(every)).due).toMatchObject([{ name: "blue" }, { name: "red" }]);
    expect(answers).toBe(5);
  });

  it("starts the time again for a question that was not asked for a while: its objects may have moved unseen", async () => {
    const every = ask({ id: "every", selects: () => true });
    await w.minutes(1);
    w.edit("blue");
    const [blue] = (await w.minutes(2)).due;
    await w.minutes(5, every);
    const askedMs = w.clock.monotonicMs();
    const reading = await w.minutes(2);
    expect(reading.due).toMatchObject([{ name: "blue", dueMs: blue!.dueMs }]);
    expect(reading.steadyMs).toBe(askedMs);
    expect((await w.readings.kind(every)).steadyMs).toBeLessThan(askedMs);
  });

  it("begins anew with an object that gets another label: it may have been that of another controller", async () => {
    const every = ask({ id: "every", selects: () => true });
    await w.minutes(1, every);
    w.edit("red");
    w.change("red", { labels: { class: "other" } });
    await w.minutes(3, every);
    const relabeledMs = w.clock.monotonicMs();
    w.change("red", { labels: {} });
    expect((await w.minutes(1)).due).toMatchObject([{ name: "red", wasDone: false }]);
    expect((await w.readings.kind(ask())).due[0]?.dueMs).toBeGreaterThan(relabeledMs);
  });

  it("remembers no annotation of an object", () => {
    const metadata = { name: "a", uid: "u", annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" } };
    expect(JSON.stringify(kindObject({ metadata }))).not.toContain("last-applied");
  });

  it("names an object for which the question has no answer, if it has none for any", async () => {
    expect(await w.minutes(1, ask({ workOf: () => "unknown" }))).toMatchObject({ due: [], unanswered: "shop/blue" });
  });

  const lists = (): number => w.requests.filter(path => path.startsWith("/apis/example.com/v1/widgets")).length;

  it("waits for the API server of one kind without a delay of the others", async () => {
    w.failure = path => (path.includes("other.example.com") ? new WaitError("busy", 600_000) : undefined);
    for (let minute = 0; minute < 6; minute++) {
      await w.readings.kind(ask({ apiVersion: "other.example.com/v1", id: "other" }));
      await w.minutes(1);
    }
    expect(lists()).toBeGreaterThanOrEqual(6);
  });

  it("reads all others in time while an API server hangs for six kinds", async () => {
    w.hang = path => path.includes("slow.example.com");
    const ask6 = Array.from({ length: 6 }, (_, n) => ask({ apiVersion: "slow.example.com/v1", kind: `Slow${n}` }));
    for (let minute = 0; minute < 6; minute++) {
      for (const one of ask6) void w.readings.kind(one);
      await w.minutes(1);
    }
    const reading = await w.readings.kind(ask());
    expect(lists()).toBeGreaterThanOrEqual(6);
    expect(w.clock.monotonicMs() - reading.steadyMs).toBeGreaterThanOrEqual(300_000);
    const hung = w.requests.filter(path => path.includes("slow"));
    // One at a time.
    expect(hung.length).toBeLessThanOrEqual(13);
    expect((await w.readings.kind(ask6[5]!)).unknown?.message).toMatch(/timed out/);
  });

  it("asks no more often than the API server allows, and ends when nobody asks any more", async () => {
    w.failure = () => new WaitError("list widgets: refused for now (429)", 600_000);
    await w.minutes(5);
    expect(w.requests).toHaveLength(1);
    await w.clock.run(400_000);
    expect(w.clock.pendingTimers).toBe(0);
  });
});
