import { describe, expect, it } from "vitest";
import type { Execution, Outcome } from "../../core/intent";
import { withPending } from "./report";
import { PLAIN, Scene } from "./testing/scene";

function withAnother(scene: Scene): Scene {
  scene.object.spec.targets.push({ kind: "DaemonSet", name: "other" });
  scene.put("other", PLAIN);
  scene.roll("other", 3607);
  return scene;
}

describe("a blocked change", () => {
  it("waits, and needs a person if a right is missing", () => {
    const pending = (verb: "apply" | "evict", kind: string, name: string, outcome: Outcome): Execution => ({
      intent: { verb, target: { apiVersion: "v1", kind, name }, why: "w", eventReason: "E" },
      outcome,
    });
    const decision = { status: "False", reason: "Rolling", message: "It rolls." } as const;
    const budget = pending("evict", "Pod", "b", { result: "Blocked", message: "no", retryAfterMs: 1 });
    const failed = pending("apply", "DaemonSet", "a", { result: "Failed", message: "no" });
    const forbidden = pending("apply", "DaemonSet", "c", { result: "Forbidden", message: "no" });
    expect(withPending(decision, [])).toEqual(decision);
    const message = "It rolls. Pending: apply DaemonSet a: no; evict Pod b: no.";
    expect(withPending(decision, [failed, budget])).toMatchObject({ reason: "Waiting", message, progressing: true });
    expect(withPending({ ...decision, reason: "Reverted" }, [failed])).toMatchObject({ reason: "Reverted" });
    expect(withPending(decision, [budget, forbidden])).toMatchObject({
      reason: "Forbidden",
      stalled: { reason: "Forbidden" },
      progressing: false,
    });
    const many = withPending(
      decision,
      Array.from({ length: 7 }, () => failed),
    ).message;
    expect(many.match(/apply DaemonSet a/g)).toHaveLength(5);
    expect(many).toMatch(/; 2 more\.$/);
  });

  it("of another generation is not reported before this generation tries it", async () => {
    const scene = withAnother(new Scene());
    scene.outcome = { result: "Forbidden", message: "a policy says no" };
    await scene.run(10);
    scene.object = { ...scene.object, metadata: { ...scene.object.metadata, generation: 2 } };
    const counts: number[] = [];
    for (let i = 0; i < 3; i++) counts.push((await scene.pass()).message.split("a policy says no").length - 1);
    expect(counts).toEqual([0, 2, 2]);
  });
});
