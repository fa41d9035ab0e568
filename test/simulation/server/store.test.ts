import { describe, expect, it } from "vitest";
import { Dice, VirtualClock } from "../time";
import { Store, type Change } from "./store";

const clock = (): VirtualClock => new VirtualClock();
const store = (): Store => new Store(clock(), new Dice(1));
describe("the store", () => {
  it("gives generated names", () => {
    const { metadata } = store().create("configmaps", { metadata: { generateName: "web-", namespace: "a" } });
    expect(metadata.name).toMatch(/^web-[a-z0-9]{5}$/);
  });

  it("gives out nothing that can be changed", () => {
    const { metadata } = store().create("configmaps", { metadata: { name: "x", namespace: "a" } });
    expect(() => (metadata.name = "other")).toThrow(TypeError);
  });

  it("lists by namespace and name", () => {
    const one = store();
    for (const namespace of ["b", "a", "a-b"]) one.create("configmaps", { metadata: { name: "x", namespace } });
    expect(one.list("configmaps").map(({ metadata }) => metadata.namespace)).toEqual(["a-b", "a", "b"]);
    expect(one.list("configmaps", "a")).toHaveLength(1);
    expect(one.list("configmaps", "a")).toBe(one.list("configmaps", "a"));
  });

  it("knows the changes since a revision until they are compacted", () => {
    const one = store();
    const first = one.create("configmaps", { metadata: { name: "x", namespace: "a" } });
    one.delete("configmaps", "a", "x");
    const types = (changes: readonly Change[] | undefined) => changes?.map(({ type }) => type);
    expect(types(one.changesSince("configmaps", Number(first.metadata.resourceVersion)))).toEqual(["DELETED"]);
    one.compact("configmaps");
    expect(one.changesSince("configmaps", 2)).toBeUndefined();
    expect(one.changesSince("configmaps", one.revision)).toEqual([]);
  });

  it("shows what was some time ago", async () => {
    const time = clock();
    const one = new Store(time, new Dice(1));
    one.create("configmaps", { metadata: { name: "x", namespace: "a" } });
    await time.run(1_000);
    one.update("configmaps", "a", "x", draft => void (draft["data"] = { a: "1" }));
    one.create("configmaps", { metadata: { name: "y", namespace: "a" } });
    await time.run(1_500);
    expect(one.listBefore("configmaps", 600).map(({ metadata, data }) => [metadata.name, data as unknown])).toEqual([
      ["x", undefined],
    ]);
    expect(one.listBefore("configmaps", 100)).toHaveLength(2);
    expect(one.listBefore("configmaps", 2_000)).toEqual([]);
  });

  it("goes back to a backup, and tells nobody", () => {
    const one = store();
    one.create("configmaps", { metadata: { name: "x", namespace: "a" } });
    const backup = one.snapshot();
    one.delete("configmaps", "a", "x");
    one.create("leases", { metadata: { name: "l", namespace: "a" } });
    const told: Change[] = [];
    one.subscribe("configmaps", change => void told.push(change));
    expect([one.list("configmaps").length, one.list("leases").length]).toEqual([0, 1]);
    one.restore(backup);
    expect([one.revision, one.list("configmaps").length, one.list("leases").length, told.length]).toEqual([2, 1, 0, 0]);
  });
});
