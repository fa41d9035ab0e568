import { describe, expect, it } from "vitest";
import { DAY, HOUR, Scene } from "./testing/scene";

// By how much a renewal extends if the spec does not set extendBy.

const OWN = "controller-resilience.io/expires-at";
const START = Date.parse("2025-01-01T00:00:00Z");

/** A binding of three years whose labels or annotations were written at the start. */
function old(marks: Record<string, string>, writtenAtMs = START): Scene {
  const scene = new Scene();
  const writtenMs = Object.fromEntries(Object.keys(marks).map(key => [key, writtenAtMs]));
  scene.bind({ createdAtMs: START - 3 * 365 * DAY, annotations: marks, writtenMs });
  return scene;
}

/** After that time and one renewal. */
async function later(scene: Scene, ms: number): Promise<Scene> {
  await scene.clock.run(ms);
  await scene.act();
  return scene;
}

describe("the life of a binding", () => {
  it.each([
    [{ "janitor/expires": "2025-02-01" }, "2025-03-04"],
    [{ [OWN]: "2025-02-01T00:00:00Z" }, "2025-03-04T00:00:00Z"],
  ])("counts from the time at which its expiry was written: %o", async (marks, renewed) => {
    const scene = await later(old(marks), 30 * DAY);
    expect(Object.values(scene.now()?.annotations ?? {})).toEqual([renewed]);
    expect(scene.entry()).toMatchObject({ lifeSeconds: (31 * DAY) / 1000 });
  });

  it("counts from the time at which its label was written", async () => {
    const scene = new Scene();
    const key = "cleanup.kyverno.io/ttl";
    const [createdAtMs, writtenMs] = [START - 365 * DAY, { [key]: START }];
    scene.bind({ createdAtMs, labels: { [key]: "2025-02-01" }, writtenMs });
    await later(scene, 30 * DAY);
    expect(scene.now()?.labels).toEqual({ [key]: "2025-03-04" });
  });

  it.each([
    ["janitor/ttl", { "janitor/ttl": "1126d" }, 1126],
    [
      "k8s-ttl-controller.twin.sh/ttl",
      { "k8s-ttl-controller.twin.sh/ttl": "40d", "k8s-ttl-controller.twin.sh/refreshed-at": "2024-12-23T00:00:00Z" },
      40,
    ],
  ])("counts from its creation if the expiry does: %s", async (_, marks, days) => {
    const scene = await later(old(marks), 30 * DAY);
    expect(scene.entry()).toMatchObject({ lifeSeconds: (days * DAY) / 1000 });
  });

  it("counts from its creation if managedFields do not contain the time of the write", async () => {
    const scene = new Scene();
    scene.bind({ createdAtMs: START - 365 * DAY, annotations: { [OWN]: "2025-02-01T00:00:00Z" } });
    await later(scene, 30 * DAY);
    expect(scene.now()?.annotations[OWN]).toBe("2026-03-04T00:00:00Z");
  });

  it("is at least an hour, even if the expiry was written shortly before", async () => {
    const scene = await later(old({ [OWN]: "2025-01-01T00:10:00Z" }), 0);
    expect(scene.now()?.annotations[OWN]).toBe("2025-01-01T01:10:00Z");
    await scene.live(6 * HOUR);
    expect(scene.written).toHaveLength(7);
    const past = await later(old({ [OWN]: "2024-12-01T00:00:00Z" }), 0);
    expect(past.now()?.annotations[OWN]).toBe("2025-01-01T01:00:00Z");
  });

  it("is shorter than an hour if the binding is younger", async () => {
    const scene = new Scene();
    scene.bind({ annotations: { [OWN]: "2025-01-01T00:10:00Z" }, writtenMs: { [OWN]: START + 60_000 } });
    await later(scene, 9 * 60_000);
    expect(scene.entry()).toMatchObject({ lifeSeconds: 600 });
  });

  it("does not count from the write of a renewal", async () => {
    const scene = await later(old({ [OWN]: "2025-02-01T00:00:00Z" }), 30 * DAY);
    scene.change({ writtenMs: { [OWN]: START + 30 * DAY } });
    await later(scene, 31 * DAY);
    expect(scene.now()?.annotations[OWN]).toBe("2025-04-04T00:00:00Z");
  });
});
