import { Cron } from "croner";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type MaintenanceWindow, openingOf, problemOf } from "./windows";
import { PLAIN, Scene } from "./testing/scene";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A window that never opens. */
const NEVER: MaintenanceWindow = { schedule: "0 2 31 2 *", duration: "3h", timeZone: "UTC" };

const at = (time: string): number => Date.parse(time);
const makeWindow = (over: Partial<MaintenanceWindow> = {}): MaintenanceWindow => ({
  ...{ schedule: "0 2 * * 6", duration: "3h", timeZone: "UTC" },
  ...over,
});

/** `open`, or when the next window opens. */
function stateAt(window: Partial<MaintenanceWindow>, time: string): string {
  const opensMs = openingOf([makeWindow(window)], at(time));
  return opensMs <= at(time) ? "open" : new Date(opensMs).toISOString();
}

describe("maintenance windows", () => {
  it("open at their schedule, and are closed once their duration is over", () => {
    // A Saturday.
    expect(stateAt({}, "2025-01-04T01:59:59.999Z")).toBe("2025-01-04T02:00:00.000Z");
    expect(stateAt({}, "2025-01-04T02:00:00Z")).toBe("open");
    expect(stateAt({}, "2025-01-04T04:59:59.999Z")).toBe("open");
    expect(stateAt({}, "2025-01-04T05:00:00Z")).toBe("2025-01-11T02:00:00.000Z");
  });

  it("open as soon as an hour that daylight saving skips is over, and once in one that it repeats", () => {
    const berlin = { schedule: "30 2 * * *", duration: "10m", timeZone: "Europe/Berlin" };
    expect(stateAt(berlin, "2025-03-30T00:00:00Z")).toBe("2025-03-30T01:00:00.000Z");
    expect(stateAt(berlin, "2025-10-26T00:30:00Z")).toBe("open");
    expect(stateAt(berlin, "2025-10-26T01:30:00Z")).toBe("2025-10-27T01:30:00.000Z");
  });
});

describe("a window that never opens", () => {
  it.each<[Partial<MaintenanceWindow>, string]>([
    [NEVER, 'got "0 2 31 2 *" and "UTC"'],
    [{ schedule: "61 2 * * *" }, 'got "61 2 * * *" and "UTC"'],
    [{ schedule: "0 2 * *" }, "expected a cron schedule of five fields"],
    [{ timeZone: "Mars/Base" }, "an IANA time zone, such as Europe/Berlin"],
  ])("%j is a problem in words, and closed", (over, words) => {
    const windows = [makeWindow(), makeWindow(over)];
    expect(problemOf(windows, 0)).toMatch(/^spec\.tokenLifetime\.windows\[1\] never opens: expected /);
    expect(problemOf(windows, 0)).toContain(words);
    expect(openingOf([makeWindow(over)], 0)).toBe(Infinity);
    expect(openingOf(windows, at("2025-01-04T03:00:00Z"))).toBe(at("2025-01-04T02:00:00Z"));
  });

  it("is no problem as long as it opens some day", () => {
    expect(problemOf([makeWindow({ schedule: "0 2 29 2 *" })], at("2025-03-01T00:00:00Z"))).toBeUndefined();
    expect(problemOf(undefined, 0)).toBeUndefined();
  });
});

describe("the cost of a window", () => {
  afterEach(() => vi.restoreAllMocks());

  it.each(["0 2 30 2 *", "0 2 31 2,4,6,9,11 *"])("is bounded although the date of %s never comes", schedule => {
    const steps = vi.spyOn(Date, "UTC");
    expect(openingOf([makeWindow({ schedule })], at("2025-01-05T00:00:00Z"))).toBe(Infinity);
    expect(steps.mock.calls.length).toBeLessThan(500);
  });

  it("is that of one plan, however many DaemonSets wait for it, and the plan yields between them", async () => {
    const scene = withWindow(new Scene(), NEVER.schedule);
    for (const name of ["b", "c", "d"]) {
      scene.put(name, PLAIN);
      scene.roll(name, 3607);
      scene.object.spec.targets.push({ kind: "DaemonSet", name });
    }
    const decide = await scene.remedy.observe({ ...scene.object, mode: scene.mode }, scene);
    const reads = vi.spyOn(Cron.prototype, "nextRun");
    const steps = decide(scene.clock.now(), []);
    let count = 0;
    while (steps.next().done !== true) count++;
    expect([reads.mock.calls.length, count]).toEqual([1, 4]);
  });
});

/** Scenes start on Wednesday, 2025-01-01T00:00:00Z. */
function withWindow<S extends Scene>(scene: S, schedule: string, duration = "1h"): S {
  const windows = [{ schedule, duration, timeZone: "UTC" }];
  const { spec } = scene.object;
  scene.object = { ...scene.object, spec: { ...spec, tokenLifetime: { ...spec.tokenLifetime!, windows } } };
  return scene;
}

describe("outside of the maintenance windows", () => {
  it("a template is not changed before the next one opens", async () => {
    const scene = withWindow(new Scene(), "0 2 * * *");
    const pass = await scene.pass();
    expect(pass).toMatchObject({ status: "False", reason: "WaitingForWindow", intents: [], progressing: false });
    expect(pass.recheckAfterMs).toBeLessThanOrEqual(2 * HOUR);
    expect(pass.message).toContain(
      "DaemonSet agent: bounding its tokens waits; the next maintenance window opens at 2025-01-01T02:00:00Z.",
    );
    await scene.clock.run(119 * MINUTE);
    const later = await scene.pass();
    expect([later.stalled, scene.written]).toEqual([undefined, []]);
    await scene.clock.run(MINUTE);
    await scene.pass();
    await scene.pass();
    expect(scene.written.map(({ verb }) => verb)).toEqual(["apply"]);
  });

  it("nothing begins where none opens, which needs a person", async () => {
    const scene = withWindow(new Scene(), NEVER.schedule);
    expect(await scene.pass()).toMatchObject({ reason: "WaitingForWindow", recheckAfterMs: 10_000, stalled: {} });
    // Also while something else delays the change.
    scene.edit({ availablePods: 2 });
    await scene.pass();
    await scene.clock.run(2 * HOUR);
    expect((await scene.pass()).message).toContain(
      "spec.tokenLifetime.windows[0] never opens: expected a cron schedule",
    );
    expect(scene.written).toEqual([]);
  });

  it("what delays a change needs no person before a window has opened, and after it the next opening is told", async () => {
    const scene = withWindow(new Scene(), "0 2 * * 6", "30m");
    scene.edit({ availablePods: 2 });
    const hours: string[] = [];
    for (let hour = 0; hour < 77; hour++) {
      const { reason, stalled } = await scene.pass();
      const since = scene.entry()?.waitStartTime ?? "";
      hours.push(`${reason}${stalled === undefined ? "" : " Stalled"} ${since}`);
      await scene.clock.run(HOUR);
    }
    expect([...new Set(hours.slice(0, 74))]).toEqual(["WaitingForWindow "]);
    const since = "2025-01-04T02:00:00Z";
    expect(hours.slice(74)).toEqual([`Waiting ${since}`, `Waiting Stalled ${since}`, `Waiting Stalled ${since}`]);
    const { message } = await scene.pass();
    expect(message).toContain("2 of 3 pods are available. Waiting since 2025-01-04T02:00:00Z: ");
    expect(message).toContain("the next maintenance window opens at 2025-01-11T02:00:00Z.");
    scene.edit({ availablePods: 3 });
    const { reason, stalled } = await scene.pass();
    expect([reason, stalled]).toEqual(["WaitingForWindow", undefined]);
  });
});
