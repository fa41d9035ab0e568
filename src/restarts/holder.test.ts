import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ControllerResilience, ControllerResilienceSpec, DaemonSetStatus } from "../api/controller-resilience";
import { EmptyReaders } from "../core/testing/empty-readers";
import { FakeClock } from "../core/testing/fake-clock";
import { makeObject } from "../core/testing/objects";
import { changeHolderOf, holderOf, withHolders } from "./holder";

const VIEW = { kind: "Deployment", name: "web", uid: "u", labels: { app: "web" } };
const TARGETS = [{ kind: "Deployment", name: "web" }] as const;

function object(name: string, spec: Partial<ControllerResilienceSpec> = {}, second = 0): ControllerResilience {
  const made = makeObject(`team/${name}`, { targets: [...TARGETS], tokenRestart: {} as never, ...spec });
  const creationTimestamp = new Date(Date.UTC(2025, 0, 1) + second * 1_000).toISOString();
  return { ...made, metadata: { ...made.metadata, creationTimestamp } };
}

describe("the object that acts on the pods of a workload", () => {
  const own = object("own", {}, 5);
  const lifetime = { tokenRestart: undefined, tokenLifetime: { expirationSeconds: 600 } } as never;
  const later = { targets: [...TARGETS, { kind: "Pod", name: "x" } as never] };
  const audit = { tokenRestart: undefined, stallDetection: { onStall: "Restart", evidence: ["Audit"] } } as never;
  const STATEFUL_SET = { kind: "StatefulSet", name: "web" } as const;
  const stalls = (onStall: "Report" | "Restart") => ({ tokenRestart: undefined, stallDetection: { onStall } as never });

  it.each<[string, string | undefined, ControllerResilience]>([
    ["is the older one", "a", object("a")],
    ["is the older one by its selector", "a", object("a", { targets: [{ kind: "Deployment", selector: {} }] })],
    ["is of two of the same age the first by name", "a", object("a", {}, 5)],
    ["is not the younger one", undefined, object("a", {}, 6)],
    ["is an older one that restarts stalled pods", "a", object("a", stalls("Restart") as never)],
    ["is none that only reports stalls", undefined, object("a", stalls("Report") as never)],
    ["is none that shortens the tokens of DaemonSets", undefined, object("a", lifetime)],
    ["is no suspended one", undefined, object("a", { suspend: true })],
    ["is no observing one", undefined, object("a", { mode: "Observe" })],
    ["is none with another target", undefined, object("a", { targets: [{ kind: "Deployment", name: "db" }] })],
    ["is none with a target that this version does not know, and so does nothing", undefined, object("a", later)],
    ["is none with evidence that this version does not know, and so does nothing", undefined, object("a", audit)],
    ["is none with a target of another kind", undefined, object("a", { targets: [STATEFUL_SET] })],
  ])("%s", (_, expected, other) => expect(holderOf(VIEW, own, [other])).toBe(expected));
});

const AGENT = { kind: "DaemonSet", name: "agent", uid: "u", labels: {} };
const ANY_AGENT = { kind: "DaemonSet" as const, selector: { matchExpressions: [] } };
const OTHER_AGENT = { kind: "DaemonSet" as const, name: "other" };
const BOUND = { tokenLifetime: { expirationSeconds: 600 } as never };
const LIFETIME: Partial<ControllerResilienceSpec> = { tokenRestart: undefined as never, ...BOUND };

/** An object with a DaemonSet. */
function onAgent(
  name: string,
  spec: Partial<ControllerResilienceSpec>,
  second: number,
  outcome?: DaemonSetStatus["outcome"],
): ControllerResilience {
  const made = object(name, { targets: [{ kind: "DaemonSet", name: "agent" }], ...spec }, second);
  if (outcome === undefined) return made;
  return {
    ...made,
    status: { daemonSets: [{ name: "agent", uid: "u", outcome, appliedTime: "2025-01-01T00:00:00Z" }] },
  };
}

describe("the object that acts on a DaemonSet", () => {
  const own = onAgent("own", BOUND, 5);
  const other = (spec: typeof LIFETIME, second: number, outcome?: DaemonSetStatus["outcome"]) =>
    onAgent("a", { ...LIFETIME, ...spec }, second, outcome);
  const [suspended, observing, leaving] = [{ suspend: true }, { mode: "Observe" as const }, { targets: [] }];
  const recreated = other(suspended, 0, "Trial");
  recreated.status!.daemonSets![0]!.uid = "gone";
  const [no, a] = [undefined, "a"];

  it.each<[string, string | undefined, string | undefined, ControllerResilience]>([
    ["an older one that bounds tokens", a, a, other({}, 0)],
    ["an older one, by its selector", a, a, other({ targets: [ANY_AGENT] }, 0)],
    ["none with another target", no, no, other({ targets: [OTHER_AGENT] }, 0)],
    ["no suspended one", no, no, other(suspended, 0)],
    ["no observing one", no, no, other(observing, 0)],
    ["a younger one that has bounded them, only for changes", no, a, other({}, 9, "Bounded")],
    ["a suspended one that has bounded them, only for changes", no, a, other(suspended, 0, "Bounded")],
    ["an observing one that has bounded them, only for changes", no, a, other(observing, 0, "Bounded")],
    ["an observing one that has reverted that, only for changes", no, a, other(observing, 0, "Reverted")],
    ["a younger one that is changing it", a, a, other({}, 9, "Rolling")],
    ["a suspended one in a trial", a, a, other(suspended, 9, "Trial")],
    ["one that must still end a trial", a, a, other(leaving, 9, "Trial")],
    ["none that no longer targets it, whatever it began", no, no, other(leaving, 0, "Rolling")],
    ["none that changed a predecessor", no, no, recreated],
    ["of two of the same age the first by name", a, a, other({}, 5)],
  ])("is %s", (_, restarting, changing, one) => {
    expect([holderOf(AGENT, own, [one]), changeHolderOf(AGENT, own, [one])]).toEqual([restarting, changing]);
  });

  it("is exactly one of those that are active, whether it restarts pods or changes the template", () => {
    const change = fc.record({
      name: fc.constantFrom("a", "b", "c", "d"),
      second: fc.nat(2),
      block: fc.constantFrom("restart", "lifetime", "both"),
      outcome: fc.constantFrom<(DaemonSetStatus["outcome"] | undefined)[]>(undefined, "Bounded", "Reverted", "Rolling"),
    });
    const objects = fc.uniqueArray(change, { selector: ({ name }) => name, minLength: 1 });
    fc.assert(
      fc.property(objects, made => {
        const all = made.map(({ name, second, block, outcome }) => {
          const spec = { restart: {}, lifetime: LIFETIME, both: BOUND }[block];
          return onAgent(name, spec, second, block === "restart" ? undefined : outcome);
        });
        const acting = all.filter(one => {
          const others = all.filter(other => other !== one);
          const isRestarting = one.spec.tokenRestart !== undefined && holderOf(AGENT, one, others) === undefined;
          const isChanging = one.spec.tokenLifetime !== undefined && changeHolderOf(AGENT, one, others) === undefined;
          return isRestarting || isChanging;
        });
        expect(acting).toHaveLength(1);
      }),
    );
  });
});

describe("an object's workloads", () => {
  it("are held only where one is due and the object acts, and the others are read once", async () => {
    const readers = new EmptyReaders(new FakeClock());
    let reads = 0;
    readers.objects = () => Promise.resolve((reads++, [object("a"), object("own", {}, 5)]));
    const workloads = ["web", "db", "web"].map(name => ({ view: { ...VIEW, name } }));
    const own = { ...object("own", {}, 5), mode: "Enforce" as const };
    const holders = async (isDue: boolean, mode: "Enforce" | "Observe") =>
      (await withHolders(workloads, () => isDue, { ...own, mode }, readers)).map(({ holder }) => holder);
    expect(await holders(true, "Observe")).toEqual([undefined, undefined, undefined]);
    expect(await holders(false, "Enforce")).toEqual([undefined, undefined, undefined]);
    expect(reads).toBe(0);
    expect(await holders(true, "Enforce")).toEqual(["a", undefined, "a"]);
    expect(reads).toBe(1);
  });
});
