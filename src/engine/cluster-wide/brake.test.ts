import { describe, expect, it } from "vitest";
import { ALLOW_REMOVAL_ANNOTATION } from "../../api/names";
import { listedIn } from "./generated";
import { clusterObject } from "./testing/fixtures";
import { ClusterWideWorld } from "./testing/world";

// How many workloads lose protection at once. Each namespace has two.

const TEAM = { namespaceSelector: { matchLabels: { team: "yes" } } };

async function start(namespaces: number): Promise<ClusterWideWorld> {
  const world = new ClusterWideWorld();
  for (let number = 0; number < namespaces; number++)
    world.addNamespace(nameOf(number), ["Deployment/web", "DaemonSet/agent"], { team: "yes" });
  world.owners.set("all", clusterObject("all", TEAM));
  world.engine.startLeading();
  await world.run(10);
  expect(protectedIn(world)).toBe(2 * namespaces);
  return world;
}

const nameOf = (number: number): string => `n${String(number).padStart(2, "0")}`;

function protectedIn({ all }: ClusterWideWorld): number {
  return [...all.values()].flat().flatMap(listedIn).length;
}

/** Changes the object as a person does: another spec is another generation. */
function change(world: ClusterWideWorld, spec: object, annotations: Readonly<Record<string, string>> = {}): void {
  const before = world.owners.get("all")!;
  const generation = before.metadata.generation + 1;
  world.put({
    ...before,
    metadata: { ...before.metadata, generation, annotations },
    spec: { ...before.spec, ...spec },
  });
}

/** Follows the command in the message. */
function allow(world: ClusterWideWorld, generation: number): void {
  const before = world.owners.get("all")!;
  const annotations = { [ALLOW_REMOVAL_ANNOTATION]: String(generation) };
  world.put({ ...before, metadata: { ...before.metadata, annotations } });
}

function label(world: ClusterWideWorld, number: number, team: string): void {
  const name = nameOf(number);
  world.spaces.set(name, { ...world.spaces.get(name)!, labels: { team } });
  world.engine.namespaceChanged(name);
}

const TYPO = { namespaceSelector: { matchLabels: { team: "yse" } } };

const SAYS =
  "40 protected workloads would lose protection, and fewer would keep it: n00/Deployment/web, n00/DaemonSet/agent, n01/Deployment/web and 37 more. They stay protected. Correct the selectors or labels, or remove them: kubectl annotate clustercontrollerresilience all controller-resilience.io/allow-removal=2 --overwrite";

describe("a change that would end protection for more than half", () => {
  it("waits, says so with the command that allows it, and is undone without a write", async () => {
    const world = await start(20);
    const writes = world.intents.length;
    change(world, TYPO);
    await world.run(200);
    expect(world.condition("all", "Ready")).toBe(`False/RemovalWaits: ${SAYS}`);
    expect(world.condition("all", "Stalled")).toBe(`True/RemovalWaits: ${SAYS}`);
    expect(world.events.records.filter(({ type }) => type === "Warning")).toMatchObject([{ reason: "RemovalWaits" }]);
    world.engine.stopLeading();
    world.engine.startLeading();
    await world.run(100);
    expect(world.condition("all", "Stalled")).toBe(`True/RemovalWaits: ${SAYS}`);
    change(world, TEAM);
    await world.run(100);
    expect(world.condition("all", "Ready")).toMatch(/^True\/AllProtected/);
    expect([protectedIn(world), world.intents.length]).toEqual([40, writes]);
    world.engine.stopLeading();
  });

  it("is carried out when a person allows it for its generation, and no later change is", async () => {
    const world = await start(20);
    change(world, TYPO);
    allow(world, 1);
    await world.run(100);
    expect(protectedIn(world)).toBe(40);
    allow(world, 2);
    await world.run(100);
    expect(protectedIn(world)).toBe(0);
    expect(world.condition("all", "Stalled")).toBe("False/Idle: No action required.");
    change(world, TEAM, { [ALLOW_REMOVAL_ANNOTATION]: "2" });
    await world.run(100);
    change(world, TYPO, { [ALLOW_REMOVAL_ANNOTATION]: "2" });
    await world.run(100);
    expect(protectedIn(world)).toBe(40);
    world.engine.stopLeading();
  });

  it("goes on changing what stays protected", async () => {
    const world = await start(20);
    change(world, { ...TYPO, suspend: true });
    await world.run(100);
    const suspended = [...world.all.values()].flat().filter(({ spec }) => spec.suspend);
    expect([suspended.length, protectedIn(world)]).toEqual([20, 40]);
    expect(world.condition("all", "Stalled")).toMatch(/^True\/RemovalWaits/);
    world.engine.stopLeading();
  });

  it("waits as well when the labels of namespaces change one after the other", async () => {
    const world = await start(20);
    for (let number = 0; number < 20; number++) {
      label(world, number, "no");
      await world.run(2);
    }
    await world.run(100);
    expect(protectedIn(world)).toBe(20);
    expect(world.condition("all", "Stalled")).toMatch(/^True\/RemovalWaits: 20 protected workloads/);
    await world.run(3_700);
    expect(protectedIn(world)).toBe(20);
    for (let number = 0; number < 20; number++) label(world, number, "yes");
    await world.run(100);
    expect(protectedIn(world)).toBe(40);
    world.engine.stopLeading();
  });
});

describe("a change that ends protection", () => {
  it("for half needs no word", async () => {
    const world = await start(20);
    change(world, { excludeNamespaces: ["n0*"] });
    await world.run(15);
    expect([protectedIn(world), world.condition("all", "Ready")]).toEqual([
      20,
      "True/AllProtected: All 20 selected workloads in 10 namespaces are protected.",
    ]);
    world.engine.stopLeading();
  });

  it("for ten needs no word", async () => {
    const world = await start(5);
    change(world, TYPO);
    await world.run(100);
    expect(protectedIn(world)).toBe(0);
    world.engine.stopLeading();
  });

  it("waits until every namespace has been looked at", async () => {
    const world = await start(20);
    const { workloads } = world;
    let isSlow = true;
    world.workloads = name =>
      isSlow && name === "n19" ? new Promise(resolve => world.clock.after(30_000, () => resolve([]))) : workloads(name);
    change(world, { workloads: { kinds: ["Deployment"], selector: {} } });
    await world.run(20);
    expect(protectedIn(world)).toBe(40);
    isSlow = false;
    await world.run(100);
    expect(protectedIn(world)).toBe(20);
    world.engine.stopLeading();
  });

  it("does not wait for namespaces and workloads that go themselves", async () => {
    const world = await start(20);
    for (let number = 0; number < 18; number++) {
      const name = nameOf(number);
      if (number < 13) world.spaces.set(name, { ...world.spaces.get(name)!, deletedAtMs: 1 });
      else world.found.set(name, []);
      world.engine.namespaceChanged(name);
    }
    change(world, { mode: "Enforce" });
    await world.run(700);
    expect(world.intents.filter(({ verb }) => verb === "delete")).toHaveLength(5);
    expect(world.condition("all", "Ready")).toBe(
      "True/AllProtected: All 4 selected workloads in 7 namespaces are protected.",
    );
    world.engine.stopLeading();
  });
});
