import { describe, expect, it } from "vitest";
import type { Outcome } from "../../core/intent";
import { AdmissionScene } from "./testing/admission-scene";
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

function blocked(scene: AdmissionScene): AdmissionScene {
  scene.evictionOutcome = { result: "Blocked", message: "its budget says no", retryAfterMs: 10_000 };
  return scene;
}

function refused<S extends Scene>(scene: S, outcome: Outcome): S {
  scene.outcome = outcome;
  return scene;
}

/** Everything that is said of it, in passes over several minutes. */
async function said(scene: Scene): Promise<string[]> {
  const seen = new Set<string>();
  for (let i = 0; i < 60; i++) {
    const { status, reason, message, stalled } = await scene.pass();
    // Until each has been tried.
    if (i > 30) seen.add(JSON.stringify([status, reason, message, stalled, scene.object.status]));
    await scene.clock.run(10_000);
  }
  return [...seen];
}

describe("what stands in the way of a change", () => {
  const changes = REFUSALS.flatMap(outcome => [
    [`${outcome.result} template`, () => refused(new Scene(), outcome)] as const,
    [`${outcome.result} policy`, () => refused(new AdmissionScene(), outcome)] as const,
  ]);
  const all = [...changes, ["blocked eviction", () => blocked(new AdmissionScene())] as const];

  it.each(all)("of a %s is told, and told alike in every pass", async (_, make) => {
    expect(await said(make())).toHaveLength(1);
  });

  it.each(all)("of a %s is told alike of two DaemonSets, of which one is tried at a time", async (_, make) => {
    const [one = "", ...more] = await said(withAnother(make()));
    expect(more).toEqual([]);
    expect(one).toMatch(/Not done yet: \w+ \w+ [\w-]*agent[^;]*; \w+ \w+ [\w-]*other/);
  });

  it("is gone once it was done", async () => {
    const scene = withAnother(blocked(new AdmissionScene()));
    await scene.passes(20);
    expect(scene.entry()?.hindrance).toEqual({
      reason: "RestartBlocked",
      message: "evict Pod agent-1: its budget says no",
    });
    scene.evictionOutcome = undefined;
    await scene.passes(60);
    for (const name of ["agent", "other"]) expect(scene.entry(name)).not.toHaveProperty("hindrance");
  });

  it("of one DaemonSet is told also while another is changed, whose turn comes first", async () => {
    const scene = refused(new Scene(), REFUSALS[0]!);
    await scene.pass();
    await scene.pass();
    await withAnother(scene).pass();
    scene.outcome = undefined;
    const decision = await scene.pass();
    expect(scene.written.map(({ target }) => target.name)).toEqual(["other"]);
    expect(decision.message).toContain("Not done yet: apply DaemonSet agent: no answer.");
  });
});
