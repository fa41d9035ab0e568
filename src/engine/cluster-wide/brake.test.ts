import { describe, expect, it } from "vitest";
import { ALLOW_REMOVAL_ANNOTATION } from "../../api/names";
import { ForbiddenError } from "../../core/errors";
import { listedIn } from "./generated";
import { clusterObject } from "./testing/fixtures";
import { ClusterWideWorld } from "./testing/world";

// How many workloads lose protection. Each namespace has two.

const TEAM = { namespaceSelector: { matchLabels: { team: "yes" } } };

async function start(
  namespaces: number,
  ...how: ConstructorParameters<typeof ClusterWideWorld>
): Promise<ClusterWideWorld> {
  const world = new ClusterWideWorld(...how);
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

/** Follows the command in the message; returns the value of the annotation. */
function allow(world: ClusterWideWorld): string {
  const [, value = ""] = /allow-removal=(\S+)/.exec(world.condition("all", "Stalled") ?? "") ?? [];
  const before = world.owners.get("all")!;
  world.put({ ...before, metadata: { ...before.metadata, annotations: { [ALLOW_REMOVAL_ANNOTATION]: value } } });
  return value;
}

/** Changes the labels of these namespaces at once. */
function label(world: ClusterWideWorld, namespaces: readonly (number | string)[], team: string): void {
  for (const one of namespaces) {
    const name = typeof one === "number" ? nameOf(one) : one;
    world.spaces.set(name, { ...world.spaces.get(name)!, labels: { team } });
    world.engine.namespaceChanged(name);
  }
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, number) => number);

const TYPO = { namespaceSelector: { matchLabels: { team: "yse" } } };

const SAYS =
  /^True\/RemovalWaits: 40 protected workloads would lose protection: n00\/Deployment\/web, n00\/DaemonSet\/agent, n01\/Deployment\/web and 37 more\. They stay protected\. Correct the selectors or labels, or let them go: kubectl annotate clustercontrollerresilience all controller-resilience\.io\/allow-removal=40\/2025-01-01T00:00:\d\dZ --overwrite$/;

describe("a change that would end protection for more than half", () => {
  it("waits, says so with the command that allows it, and is undone without a write", async () => {
    const world = await start(20);
    const writes = world.intents.length;
    world.change(TYPO);
    await world.run(200);
    const said = world.condition("all", "Stalled") ?? "";
    expect(said).toMatch(SAYS);
    expect(world.condition("all", "Ready")).toBe(said.replace("True", "False"));
    expect(world.events.records.filter(({ type }) => type === "Warning")).toMatchObject([{ reason: "RemovalWaits" }]);
    world.engine.stopLeading();
    world.engine.startLeading();
    await world.run(100);
    expect(world.condition("all", "Stalled")).toBe(said);
    world.change(TEAM);
    await world.run(100);
    expect(world.condition("all", "Ready")).toMatch(/^True\/AllProtected/);
    expect([protectedIn(world), world.intents.length]).toEqual([40, writes]);
  });

  it.each([false, true])(
    "is carried out when a person allows it, and nothing later is, also while a namespace is refused: %s",
    async isRefused => {
      const world = await start(20);
      if (isRefused) {
        world.addNamespace("quota", ["Deployment/web"], { team: "yes" });
        world.onWrite = ({ target }) => {
          if (target.namespace === "quota") throw new ForbiddenError("exceeded quota");
        };
        world.engine.namespaceChanged("quota");
        await world.run(700);
        expect(world.condition("all", "Stalled")).toMatch(/^True\/Refused/);
      }
      world.change(TYPO, { [ALLOW_REMOVAL_ANNOTATION]: "2" });
      await world.run(100);
      expect(protectedIn(world)).toBe(40);
      const annotations = { [ALLOW_REMOVAL_ANNOTATION]: allow(world) };
      await world.run(100);
      expect(protectedIn(world)).toBe(0);
      expect(world.condition("all", "Stalled")).not.toContain("RemovalWaits");
      world.change(TEAM, annotations);
      await world.run(100);
      label(world, upTo(20), "no");
      await world.run(100);
      expect(protectedIn(world)).toBe(40);
      expect(world.condition("all", "Stalled")).toMatch(/^True\/RemovalWaits/);
    },
  );

  it("goes on changing what stays protected", async () => {
    const world = await start(20);
    world.change({ ...TYPO, suspend: true });
    await world.run(100);
    const suspended = [...world.all.values()].flat().filter(({ spec }) => spec.suspend);
    expect([suspended.length, protectedIn(world)]).toEqual([20, 40]);
    expect(world.condition("all", "Stalled")).toMatch(/^True\/RemovalWaits/);
  });

  it.each([4, 8, 20])("waits as well when the labels of all %i namespaces change at once", async count => {
    const world = await start(count);
    const before = 2 * count;
    label(world, upTo(count), "no");
    await world.run(100);
    const [left, stalled] = before > 10 ? [before, "True/RemovalWaits"] : [0, "False/Idle"];
    expect(protectedIn(world)).toBe(left);
    expect(world.condition("all", "Stalled")).toContain(stalled);
  });

  it("goes on waiting when they change one after the other, after the hour and with another leader", async () => {
    const world = await start(20);
    for (const number of upTo(15)) {
      label(world, [number], "no");
      await world.run(2);
    }
    await world.run(100);
    const said = world.condition("all", "Stalled");
    expect([protectedIn(world), said]).toEqual([20, expect.stringMatching(/^True\/RemovalWaits: 10 protected/)]);
    await world.run(3_700);
    world.engine.stopLeading();
    world.engine.startLeading();
    await world.run(100);
    world.change({ excludeNamespaces: ["else"] });
    await world.run(100);
    expect([protectedIn(world), world.condition("all", "Stalled")]).toEqual([20, said]);
    label(world, upTo(20), "yes");
    await world.run(100);
    expect(protectedIn(world)).toBe(40);
  });

  it("lets a few wait until the hour is over, with another leader as well", async () => {
    const world = await start(20);
    for (const number of upTo(15)) {
      label(world, [number], "no");
      await world.run(2);
    }
    label(world, [13, 14], "yes");
    await world.run(100);
    const said = world.condition("all", "Stalled");
    expect([protectedIn(world), said]).toEqual([20, expect.stringMatching(/^True\/RemovalWaits: 6 protected/)]);
    world.engine.stopLeading();
    world.engine.startLeading();
    await world.run(100);
    expect([protectedIn(world), world.condition("all", "Stalled")]).toEqual([20, said]);
    await world.run(3_500);
    expect([protectedIn(world), world.condition("all", "Stalled")]).toEqual([14, expect.stringMatching(/^False/)]);
  });

  it("waits no longer than the hour for the few of others once one namespace with most workloads is selected again", async () => {
    const world = await start(4);
    world.addNamespace(
      "big",
      Array.from({ length: 15 }, (_, number) => `Deployment/w${number}`),
      { team: "yes" },
    );
    world.engine.namespaceChanged("big");
    await world.run(100);
    label(world, ["big"], "no");
    await world.run(100);
    label(world, [0], "no");
    await world.run(100);
    expect([protectedIn(world), world.condition("all", "Stalled")]).toEqual([23, expect.stringMatching(/^True\/Rem/)]);
    label(world, ["big"], "yes");
    await world.run(3_600);
    expect([protectedIn(world), world.condition("all", "Stalled")]).toEqual([21, expect.stringMatching(/^False/)]);
  });

  it("does not keep what its owner leaves out by name", async () => {
    const world = await start(20);
    world.change(TYPO);
    await world.run(100);
    const [namespace, other] = [nameOf(0), nameOf(1)];
    const optedOut = { "controller-resilience.io/protect": "false" };
    world.spaces.set(namespace, { ...world.spaces.get(namespace)!, annotations: optedOut });
    const [web, agent] = world.found.get(other)!;
    world.found.set(other, [{ ...web!, labels: optedOut }, agent!]);
    world.engine.namespaceChanged(namespace);
    world.engine.namespaceChanged(other);
    await world.run(100);
    expect([protectedIn(world), world.condition("all", "Stalled")]).toEqual([
      37,
      expect.stringMatching(/^True\/RemovalWaits: 37 /),
    ]);
  });
});

describe("a change that ends protection", () => {
  it("for half needs no word while the operator only observes, and nothing is written again and again", async () => {
    const world = await start(20, { observes: true });
    world.change({ excludeNamespaces: ["n0*"] });
    await world.run(100);
    const writes = world.intents.length;
    await world.run(7_200);
    expect([world.intents.length, world.condition("all", "Stalled")]).toEqual([
      writes,
      expect.stringMatching(/^False/),
    ]);
  });

  it("leaves nothing to a younger object that only observes", async () => {
    const world = await start(20);
    world.put(clusterObject("young", { ...TEAM, mode: "Observe" }));
    await world.run(20);
    world.change({ ...TYPO, mode: "Enforce" });
    await world.run(100);
    const modes = [...world.all.values()].flat().map(({ spec }) => spec.mode);
    expect([modes.length, new Set(modes)]).toEqual([20, new Set(["Enforce"])]);
    expect(world.condition("all", "Stalled")).toMatch(/^True\/RemovalWaits: 40 protected/);
  });

  it.each<[string, number, object, [left: number, ready: string]]>([
    ["half", 20, { excludeNamespaces: ["n0*"] }, [20, "True/AllProtected: All 20 selected workloads in 10 namespaces"]],
    ["ten", 5, TYPO, [0, "False/TargetNotFound"]],
  ])("for %s needs no word", async (_, namespaces, spec, [left, ready]) => {
    const world = await start(namespaces);
    world.change(spec);
    await world.run(15);
    expect([protectedIn(world), world.condition("all", "Ready")]).toEqual([left, expect.stringContaining(ready)]);
  });

  it("waits until every namespace has been looked at", async () => {
    const world = await start(20);
    const { workloads } = world;
    let isSlow = true;
    world.workloads = name =>
      isSlow && name === "n19" ? new Promise(resolve => world.clock.after(30_000, () => resolve([]))) : workloads(name);
    world.change({ workloads: { kinds: ["Deployment"], selector: {} } });
    await world.run(20);
    expect(protectedIn(world)).toBe(40);
    isSlow = false;
    await world.run(100);
    expect(protectedIn(world)).toBe(20);
  });

  it("does not wait for namespaces and workloads that go themselves", async () => {
    const world = await start(20);
    for (let number = 0; number < 18; number++) {
      const name = nameOf(number);
      if (number < 13) world.spaces.set(name, { ...world.spaces.get(name)!, deletedAtMs: 1 });
      else world.found.set(name, []);
      world.engine.namespaceChanged(name);
    }
    world.change({ mode: "Enforce" });
    await world.run(700);
    expect(world.intents.filter(({ verb }) => verb === "delete")).toHaveLength(5);
    expect(world.condition("all", "Ready")).toBe(
      "True/AllProtected: All 4 selected workloads in 7 namespaces are protected.",
    );
  });
});
