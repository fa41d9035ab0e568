import { describe, expect, it, vi } from "vitest";
import { BusyClock } from "../../core/testing/busy-clock";
import { inSlices, runToEnd } from "../../core/slices";
import type { BindingView, SubjectView } from "../../core/views";
import { boundStatus } from "../../core/status";
import { observeBindings } from "./observe";
import { planBindings } from "./plan";
import { account, DAY, DEFAULTS, HOUR, Scene } from "./testing/scene";

const OWN = "controller-resilience.io/expires-at";
const FAR = "2025-01-31T00:00:00Z";

/** The engine's limit for the whole status. */
const STATUS_BYTES = 512 * 1024;

function bindMany(scene: Scene, count: number, over: (i: number) => Partial<BindingView> = () => ({})): void {
  for (let i = 0; i < count; i++) scene.bind({ name: `b${i}`, annotations: { [OWN]: FAR }, ...over(i) });
}

function namesIn(scene: Scene): Set<string> {
  return new Set(scene.object.status?.bindings?.map(({ name }) => name));
}

function bytesOf(scene: Scene): number {
  return Buffer.byteLength(JSON.stringify(scene.object.status));
}

describe("ten thousand bindings", () => {
  it("are listed as far as status has room, and the rest as a number", async () => {
    const scene = new Scene();
    bindMany(scene, 10_000);
    const decision = await scene.pass();
    const withSlot = namesIn(scene).size;
    expect(withSlot).toBeGreaterThan(500);
    expect(bytesOf(scene)).toBeLessThan(STATUS_BYTES);
    expect(decision).toMatchObject({ status: "False", reason: "TooManyBindings" });
    expect(decision.message).toContain(`status.bindings has no room for ${10_000 - withSlot} more, the next of which`);
    expect(decision.stalled?.reason).toBe("TooManyBindings");
  });

  it("are renewed by their own life if they have a slot, and never without one", async () => {
    const scene = new Scene();
    bindMany(scene, 2_000);
    await scene.pass();
    const withSlot = namesIn(scene);
    for (let round = 0; round < 3; round++) {
      await scene.clock.run(29 * DAY + HOUR);
      for (let pass = 0; pass < 12; pass++) await scene.pass();
      await scene.clock.run(DAY - HOUR);
    }
    expect(namesIn(scene)).toEqual(withSlot);
    expect(new Set(scene.written.map(({ target }) => target.name))).toEqual(withSlot);
    expect(scene.written).toHaveLength(3 * withSlot.size);
    const ends = scene.object.status?.bindings?.map(({ expiryTime, lifeSeconds }) => `${expiryTime} ${lifeSeconds}`);
    expect(new Set(ends)).toEqual(new Set([`2025-05-01T00:00:00Z ${(30 * DAY) / 1000}`]));
    expect(bytesOf(scene)).toBeLessThan(STATUS_BYTES);
  });

  it("cause at most 51 Events per pass", async () => {
    const scene = new Scene();
    bindMany(scene, 10_000);
    await scene.clock.run(25 * DAY);
    const { events = [] } = await scene.pass();
    expect(events).toHaveLength(51);
    expect(events.at(-1)?.note).toMatch(/^Plus \d+ more bindings; see status\.bindings\.$/);
  });

  it("yield to the event loop while they are observed", async () => {
    const scene = new Scene();
    bindMany(scene, 10_000);
    const clock = new BusyClock(scene.clock);
    const busy = Object.assign(Object.create(scene) as Scene, { clock });
    await observeBindings({ ...scene.object, mode: scene.mode }, DEFAULTS, busy);
    // The clock advances a millisecond per binding to find it and another to assign a slot; a slice takes ten.
    expect(clock.turns).toBeGreaterThanOrEqual(1_900);
  });

  it("yield to the event loop while they are planned", async () => {
    const scene = new Scene();
    bindMany(scene, 10_000);
    const facts = await observeBindings({ ...scene.object, mode: scene.mode }, DEFAULTS, scene);
    const now = scene.clock.now();
    const clock = new BusyClock(scene.clock);
    const decision = await inSlices(clock, planBindings(facts, DEFAULTS, now));
    expect(clock.turns).toBeGreaterThanOrEqual(facts.living.length / 10 - 1);
    expect(decision).toEqual(runToEnd(planBindings(facts, DEFAULTS, now)));
  });
});

describe("a slot in status", () => {
  it("goes first to bindings that are renewed, even if the others expire sooner", async () => {
    const scene = new Scene();
    const soon = { [OWN]: "2025-01-02T00:00:00Z" };
    bindMany(scene, 1_000, i => ({ name: `skipped${i}`, annotations: soon, skip: true }));
    bindMany(scene, 1_000, i => ({
      name: `shared${i}`,
      annotations: soon,
      subjects: [account("web"), account("other")],
    }));
    bindMany(scene, 1_000, i => ({
      name: `owned${i}`,
      annotations: soon,
      owner: { kind: "Grant", name: "g", uid: "g" },
    }));
    scene.bind({ name: "own", annotations: { [OWN]: FAR } });
    await scene.pass();
    expect(scene.entry("own")).toMatchObject({ state: "Current" });
    await scene.clock.run(29 * DAY + HOUR);
    await scene.pass();
    await scene.pass();
    expect(scene.written.map(({ target }) => target.name)).toEqual(["own"]);
  });

  it("is kept although others expire sooner", async () => {
    const scene = new Scene();
    bindMany(scene, 2_000);
    await scene.pass();
    const withSlot = namesIn(scene);
    bindMany(scene, 1_000, i => ({ name: `late${i}`, annotations: { [OWN]: "2025-01-20T00:00:00Z" } }));
    await scene.pass();
    expect(namesIn(scene)).toEqual(withSlot);
  });

  it("is free again when a binding is gone", async () => {
    const scene = new Scene();
    bindMany(scene, 800);
    await scene.pass();
    const without = [...scene.bindingList.values()].filter(({ name }) => !namesIn(scene).has(name));
    expect(without.length).toBeGreaterThan(0);
    for (const name of [...namesIn(scene)].slice(0, 300)) scene.remove(`RoleBinding/${name}`);
    await scene.pass();
    await scene.pass();
    expect(without.every(({ name }) => namesIn(scene).has(name))).toBe(true);
  });

  it("is not counted as missing for bindings with the skip annotation", async () => {
    const scene = new Scene();
    bindMany(scene, 1_200, () => ({ skip: true }));
    scene.bind({ name: "own", annotations: { [OWN]: FAR } });
    const decision = await scene.pass();
    expect(namesIn(scene).size).toBeLessThan(1_200);
    expect(decision).toMatchObject({ status: "True", reason: "Current" });
    expect(decision.stalled).toBeUndefined();
  });

  it("is counted as missing for refused bindings", async () => {
    const scene = new Scene();
    bindMany(scene, 1_200, () => ({ subjects: [account("web"), account("other")] }));
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "TooManyBindings" });
  });

  it("is denied to a binding that is too large, without loss for others", async () => {
    const scene = new Scene();
    scene.bind({ name: "huge", annotations: { [OWN]: FAR }, subjects: Array<SubjectView>(8_000).fill(account("web")) });
    scene.bind({ name: "edit", annotations: { [OWN]: FAR } });
    const decision = await scene.pass();
    expect(namesIn(scene)).toEqual(new Set(["edit"]));
    expect(decision.message).toContain("status.bindings has no room for 1 more");
  });
});

describe("bindings that outgrow their slots", () => {
  const GROWN = Array<SubjectView>(12).fill(account("web"));

  /** All of them have a record that fits, and then grow. */
  async function outgrown(): Promise<Scene> {
    const scene = new Scene();
    bindMany(scene, 550);
    await scene.pass();
    for (let i = 0; i < 550; i++) scene.change({ subjects: GROWN }, `RoleBinding/b${i}`);
    return scene;
  }

  /** Bindings with a whole record. */
  function wholeIn(scene: Scene): string[] {
    return (scene.object.status?.bindings ?? []).flatMap(({ name, roleRef }) => (roleRef === undefined ? [] : [name]));
  }

  it("keep their lives in status, within the limit, and are not read one by one", async () => {
    const scene = await outgrown();
    const reads = vi.spyOn(scene, "binding");
    const decision = await scene.pass();
    expect(decision.reason).toBe("TooManyBindings");
    expect(bytesOf(scene)).toBeLessThan(STATUS_BYTES);
    const { bindings = [] } = boundStatus(scene.object.status!, scene.clock.now());
    expect(new Set(bindings.map(({ lifeSeconds }) => lifeSeconds))).toEqual(new Set([(30 * DAY) / 1000]));
    expect(bindings).toHaveLength(550);
    expect(decision.message).toContain(`no room for ${550 - wholeIn(scene).length} more`);
    expect(reads).not.toHaveBeenCalled();
  });

  it("stay in status while a target is missing", async () => {
    const scene = await outgrown();
    await scene.pass();
    scene.workloadList = [];
    await scene.pass();
    expect(namesIn(scene).size).toBe(550);
  });

  it("keep their slots or stay without, although renewals move the expiries", async () => {
    const scene = await outgrown();
    await scene.pass();
    const withSlot = wholeIn(scene);
    await scene.clock.run(29 * DAY + HOUR);
    for (let pass = 0; pass < 12; pass++) await scene.pass();
    expect(new Set(wholeIn(scene))).toEqual(new Set(withSlot));
    expect(new Set(scene.written.map(({ target }) => target.name))).toEqual(new Set(withSlot));
    expect(scene.written).toHaveLength(withSlot.length);
  });
});
