import { describe, expect, it } from "vitest";
import type { Outcome } from "../../core/intent";
import { DAY, HOUR, Scene } from "./testing/scene";

const OUTCOMES: readonly Outcome[] = [
  { result: "Failed", message: "patch rolebindings team/edit: 500: webhook failed" },
  { result: "Blocked", message: "patch rolebindings team/edit: 429", retryAfterMs: 1_000 },
  { result: "Conflict", message: "patch rolebindings team/edit: 409" },
];

async function due(ttl: string, afterMs: number): Promise<Scene> {
  const scene = new Scene();
  scene.bind({ annotations: { "janitor/ttl": ttl } });
  await scene.pass();
  await scene.clock.run(afterMs);
  return scene;
}

describe.each(OUTCOMES)("a write that comes to $result", outcome => {
  it("needs a person an hour after the renewal was due, and goes on afterwards", async () => {
    const scene = await due("30d", 29 * DAY);
    scene.outcome = outcome;
    expect(await scene.act()).toMatchObject({ status: "True", reason: "Renewing", progressing: true });
    await scene.clock.run(HOUR - 1_000);
    expect(await scene.pass()).not.toHaveProperty("stalled");
    await scene.clock.run(1_000);
    const late = await scene.pass();
    expect(late).toMatchObject({ status: "False", reason: "Renewing", stalled: { reason: "Renewing" } });
    expect(late.stalled?.message).toContain("due since 2025-01-30T00:00:00Z");
    await scene.clock.run(DAY);
    expect(await scene.pass()).toMatchObject({ status: "False", stalled: { reason: "Renewing" } });
    scene.outcome = undefined;
    expect(await scene.act()).toMatchObject({ status: "True", reason: "Current" });
  });

  it("needs a person sooner if the binding is short", async () => {
    const scene = await due("30m", 20 * 60_000);
    scene.outcome = outcome;
    expect(await scene.act()).toMatchObject({ status: "True", reason: "Renewing" });
    await scene.clock.run(200_000);
    expect(await scene.act()).toMatchObject({ status: "False", stalled: { reason: "Renewing" } });
  });
});
