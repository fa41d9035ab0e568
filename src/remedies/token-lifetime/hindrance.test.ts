import { describe, expect, it } from "vitest";
import type { Execution, Outcome } from "../../core/intent";
import { withPending } from "./report";
import { PLAIN, Scene } from "./testing/scene";

const REFUSALS: readonly Outcome[] = [
  { result: "Failed", message: "no answer" },
  { result: "Forbidden", message: "a policy says no" },
];

function withAnother<S extends Scene>(scene: S): S {
  scene.object.spec.targets.push({ kind: "DaemonSet", name: "other" });
  scene.put("other", PLAIN);
  scene.roll("other", 3607);
  return scene;
}

/** The eviction of the first pod is refused. */
function blocked(): Scene {
  const scene = new Scene();
  scene.evictionOutcome = { result: "Blocked", message: "its budget says no", retryAfterMs: 10_000 };
  return scene;
}

function refused<S extends Scene>(scene: S, outcome: Outcome): S {
  scene.outcome = outcome;
  return scene;
}

/** Sets the mode, as a new generation. */
function change(scene: Scene, mode: "Enforce" | "Observe"): void {
  const { metadata, spec } = scene.object;
  const generation = metadata.generation + 1;
  scene.object = { ...scene.object, metadata: { ...metadata, generation }, spec: { ...spec, mode } };
}

/** The distinct reports of passes over several minutes, after each DaemonSet was tried, and how many DaemonSets were tried. */
async function watched(scene: Scene): Promise<{ reports: string[]; tried: number }> {
  const [reports, tried] = [new Set<string>(), new Set<string>()];
  for (let i = 0; i < 60; i++) {
    const { status, reason, message, stalled, intents } = await scene.pass();
    if (i > 30) {
      reports.add(JSON.stringify([status, reason, message, stalled, scene.object.status]));
      for (const { target } of intents) tried.add(`${target.kind} ${target.name}`);
    }
    await scene.clock.run(10_000);
  }
  return { reports: [...reports], tried: new Set([...tried].map(name => name.includes("other"))).size };
}

describe("a blocked change", () => {
  const changes = REFUSALS.map(outcome => [`${outcome.result} template`, () => refused(new Scene(), outcome)] as const);
  const all = [...changes, ["blocked eviction", blocked] as const];

  it.each(all)("of a %s is reported, with the same message in every pass", async (_, make) => {
    expect((await watched(make())).reports).toHaveLength(1);
  });

  it.each(changes)("of a %s is reported with the same message for two DaemonSets", async (_, make) => {
    const { reports, tried } = await watched(withAnother(make()));
    expect(reports).toHaveLength(1);
    expect(tried).toBe(2);
    expect(reports[0]).toMatch(/Pending: \w+ \w+ [\w-]*agent[^;]*; \w+ \w+ [\w-]*other/);
  });

  it("gives the condition its worst reason, unless the report is stalled already", () => {
    const pending = (verb: "apply" | "evict", kind: string, name: string, outcome: Outcome): Execution => ({
      intent: { verb, target: { apiVersion: "v1", kind, name }, why: "w", eventReason: "E" },
      outcome,
    });
    const decision = { status: "False", reason: "Rolling", message: "It rolls." } as const;
    const budget = pending("evict", "Pod", "b", { result: "Blocked", message: "no", retryAfterMs: 1 });
    const failed = pending("apply", "DaemonSet", "a", { result: "Failed", message: "no" });
    const forbidden = pending("apply", "DaemonSet", "c", { result: "Forbidden", message: "no" });
    expect(withPending(decision, [])).toEqual(decision);
    expect(withPending(decision, [failed])).toMatchObject({ reason: "Rolling", progressing: true });
    const message = "It rolls. Pending: apply DaemonSet a: no; evict Pod b: no.";
    expect(withPending(decision, [failed, budget])).toMatchObject({ reason: "RestartBlocked", message });
    expect(withPending(decision, [forbidden, budget])).toMatchObject({
      reason: "Forbidden",
      stalled: { reason: "Forbidden" },
      progressing: false,
    });
    const stuck = { ...decision, stalled: { reason: "RolloutStuck" as const, message: "It is stuck." } };
    expect(withPending(stuck, [budget])).toMatchObject({ reason: "Rolling", stalled: { reason: "RolloutStuck" } });
    const many = withPending(
      decision,
      Array.from({ length: 7 }, () => failed),
    ).message;
    expect(many.match(/apply DaemonSet a/g)).toHaveLength(5);
    expect(many).toMatch(/; 2 more\.$/);
  });

  it("is cleared after the write succeeds", async () => {
    const scene = blocked();
    await scene.run(20);
    const held = await scene.pass();
    expect(held).toMatchObject({ reason: "RestartBlocked", progressing: true });
    expect(held.message).toContain("Pending: evict Pod agent-1: its budget says no.");
    scene.evictionOutcome = undefined;
    await scene.run(60);
    expect((await scene.pass()).message).not.toContain("Pending");
  });

  it("is not reported in Observe mode", async () => {
    const scene = refused(withAnother(new Scene()), REFUSALS[1]!);
    expect((await watched(scene)).tried).toBe(2);
    change(scene, "Observe");
    const decision = await scene.pass();
    expect(decision).toMatchObject({ reason: "WouldChange" });
    expect(decision).not.toHaveProperty("stalled");
    expect(decision.message).not.toContain("Pending");
  });

  it("of another generation is not reported before this generation tries it", async () => {
    const scene = refused(withAnother(new Scene()), REFUSALS[1]!);
    await watched(scene);
    change(scene, "Enforce");
    const counts: number[] = [];
    for (let i = 0; i < 3; i++) counts.push((await scene.pass()).message.split("a policy says no").length - 1);
    expect(counts).toEqual([0, 2, 2]);
  });
});
