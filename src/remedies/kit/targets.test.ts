import { describe, expect, it } from "vitest";
import type { WorkloadView } from "../../core/views";
import { describeTarget, listingOnce, readTarget } from "./targets";

describe("a target in a message", () => {
  it("is its kind and name, or the path of its selector", () => {
    expect(describeTarget({ kind: "Deployment", name: "web" }, 0)).toBe("Deployment/web");
    const selector = { matchLabels: { app: "web" } };
    expect(describeTarget({ kind: "Deployment", selector }, 1)).toBe("Deployment matching spec.targets[1].selector");
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
    const once = listingOnce(targets, readers);
    const found: number[] = [];
    for (const target of targets) found.push((await readTarget(target, "team", once)).length);
    expect(calls).toEqual(expected);
    expect(found[0]).toBe(1);
    if (count > 16) expect([found[1], found[16]]).toEqual([0, 1]);
  });
});
