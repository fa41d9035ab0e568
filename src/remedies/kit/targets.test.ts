import { describe, expect, it } from "vitest";
import type { WorkloadView } from "../../core/views";
import { findTargets } from "./targets";

describe("a target without a workload", () => {
  it("has its kind and name in messages, or the path of its selector", async () => {
    const readers = { workload: () => Promise.resolve(null), workloads: () => Promise.resolve([]) };
    const selector = { matchLabels: { app: "web" } };
    const targets = [
      { kind: "Deployment", name: "web" },
      { kind: "Deployment", selector },
    ] as const;
    expect(await findTargets(targets, { namespace: "team", readers })).toEqual({
      views: [],
      missing: ["Deployment/web", "Deployment matching spec.targets[1].selector"],
    });
  });
});

describe("the targets of one pass", () => {
  it.each([
    [16, Array.from({ length: 16 }, (_, i) => `get w${String(i)}`)],
    [17, ["list Deployment"]],
  ])("with %i names of a kind are read by these calls", async (count, expected) => {
    const calls: string[] = [];
    const view = (name: string) => ({ kind: "Deployment", name, uid: name }) as WorkloadView;
    const readers = {
      workload: (_: string, __: string, name: string) => (calls.push(`get ${name}`), Promise.resolve(view(name))),
      workloads: (kind: string) => (calls.push(`list ${kind}`), Promise.resolve([view("w0"), view("w16")])),
    };
    const targets = Array.from({ length: count }, (_, i) => ({ kind: "Deployment" as const, name: `w${String(i)}` }));
    const { views, missing } = await findTargets(targets, { namespace: "team", readers });
    expect(calls).toEqual(expected);
    const exist = count > 16 ? ["w0", "w16"] : targets.map(({ name }) => name);
    expect(views.map(({ name }) => name)).toEqual(exist);
    expect(missing).toHaveLength(count - exist.length);
  });

  it("are read once for all remedies that ask at the same time, and again by the next pass", async () => {
    let reads = 0;
    const readers = { workload: () => Promise.resolve((reads++, null)), workloads: () => Promise.resolve([]) };
    const targets = [{ kind: "Deployment", name: "web" }] as const;
    const find = () => findTargets(targets, { namespace: "team", readers });
    await Promise.all([find(), find()]);
    expect(reads).toBe(1);
    await find();
    expect(reads).toBe(2);
  });
});
