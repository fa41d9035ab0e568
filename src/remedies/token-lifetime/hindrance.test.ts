import { describe, expect, it } from "vitest";
import type { Outcome } from "../../core/intent";
import { withHindrances } from "./report";
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

  it("is reported without characters of the refusal that a terminal may obey", async () => {
    const scene = refused(new Scene(), { result: "Failed", message: "webhook\x1b[2J\nsays \u202eno" });
    await watched(scene);
    const [entry] = scene.object.status?.daemonSets ?? [];
    expect(entry?.hindrance?.message).toContain("webhook [2J says  no");
  });

  it.each(all)("of a %s is reported, with the same message in every pass", async (_, make) => {
    expect((await watched(make())).reports).toHaveLength(1);
  });

  it.each(changes)("of a %s is reported with the same message for two DaemonSets that take turns", async (_, make) => {
    const { reports, tried } = await watched(withAnother(make()));
    expect(reports).toHaveLength(1);
    expect(tried).toBe(2);
    expect(reports[0]).toMatch(/Pending: \w+ \w+ [\w-]*agent[^;]*; \w+ \w+ [\w-]*other/);
  });

  it("gives the condition its worst reason, unless the report is stalled already", () => {
    const decision = { status: "False", reason: "Rolling", message: "It rolls." } as const;
    const budget = { reason: "RestartBlocked", message: "evict Pod b: no" } as const;
    const failed = { message: "apply DaemonSet a: no" };
    expect(withHindrances(decision, [])).toEqual(decision);
    expect(withHindrances(decision, [failed])).toMatchObject({ reason: "Rolling", progressing: true });
    const message = "It rolls. Pending: apply DaemonSet a: no; evict Pod b: no.";
    expect(withHindrances(decision, [failed, budget])).toMatchObject({ reason: "RestartBlocked", message });
    const forbidden = { reason: "Forbidden", message: "apply DaemonSet c: no" } as const;
    const stalled = { reason: "Forbidden" };
    expect(withHindrances(decision, [budget, forbidden])).toMatchObject({
      reason: "Forbidden",
      stalled,
      progressing: false,
    });
    const stuck = { ...decision, stalled: { reason: "RolloutStuck" as const, message: "It is stuck." } };
    expect(withHindrances(stuck, [budget])).toMatchObject({ reason: "Rolling", stalled: { reason: "RolloutStuck" } });
  });

  it("is cleared after the write succeeds", async () => {
    const scene = blocked();
    await scene.run(20);
    expect(scene.entry()?.hindrance).toEqual({
      reason: "RestartBlocked",
      message: "evict Pod agent-1: its budget says no",
    });
    scene.evictionOutcome = undefined;
    await scene.run(60);
    expect(scene.entry()).not.toHaveProperty("hindrance");
  });

  it("is not reported in Observe mode", async () => {
    const scene = refused(withAnother(new Scene()), REFUSALS[1]!);
    expect((await watched(scene)).tried).toBe(2);
    change(scene, "Observe");
    const decision = await scene.pass();
    expect(decision).toMatchObject({ reason: "WouldChange" });
    expect(decision).not.toHaveProperty("stalled");
    for (const name of ["agent", "other"]) expect(scene.entry(name)).not.toHaveProperty("hindrance");
  });

  it("of another generation is not reported before this generation tries it", async () => {
    const scene = refused(withAnother(new Scene()), REFUSALS[1]!);
    await watched(scene);
    change(scene, "Enforce");
    const counts: number[] = [];
    for (let i = 0; i < 3; i++) counts.push((await scene.pass()).message.split("a policy says no").length - 1);
    expect(counts).toEqual([0, 1, 2]);
  });

  it("of one DaemonSet is reported while another is changed first", async () => {
    const scene = refused(new Scene(), REFUSALS[0]!);
    await scene.pass();
    await scene.pass();
    await withAnother(scene).pass();
    scene.outcome = undefined;
    const decision = await scene.pass();
    expect(scene.written.map(({ target }) => target.name)).toEqual(["other"]);
    expect(decision.message).toContain("Pending: apply DaemonSet agent: no answer.");
  });
});
