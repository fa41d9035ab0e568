import { describe, expect, it } from "vitest";
import type { ControllerResilience } from "../../api/controller-resilience";
import { makeObject } from "../../core/testing/objects";
import type { ScenePass } from "../kit/testing/remedy-scene";
import { Scene } from "./testing/scene";

/** Two objects, `it` and `other`, with the same DaemonSet. */
class Pair extends Scene {
  readonly #remedies = { it: this.remedy, other: this.newRemedy() };
  all: { it: ControllerResilience; other: ControllerResilience };
  reports: Partial<Record<"it" | "other", ScenePass>> = {};

  constructor(other: Partial<ControllerResilience["metadata"]> = {}) {
    super();
    const rival = makeObject("team/other", this.object.spec);
    this.all = { it: this.object, other: { ...rival, metadata: { ...rival.metadata, ...other } } };
  }

  /** A pass of each object, every ten seconds. */
  async runBoth(count: number, names: readonly ("it" | "other")[] = ["other", "it"]): Promise<void> {
    for (let i = 0; i < count; i++) {
      for (const name of names) {
        this.object = this.all[name];
        Object.assign(this, { remedy: this.#remedies[name] });
        this.reports[name] = await this.pass();
        this.all[name] = this.object;
      }
      this.rollOne();
      await this.clock.run(10_000);
    }
  }

  override objects(): Promise<readonly ControllerResilience[]> {
    return Promise.resolve(Object.values(this.all));
  }
}

const YOUNGER = { creationTimestamp: "2025-01-01T00:00:05Z" };
const OLDER = { creationTimestamp: "2024-01-01T00:00:00Z" };

describe("two objects with one DaemonSet", () => {
  it.each([
    ["the older one", YOUNGER, "it", "other"],
    ["the older one", OLDER, "other", "it"],
    ["of two of the same age the first by name", {}, "it", "other"],
  ] as const)("change it once, by %s", async (_, metadata, first, second) => {
    const pair = new Pair(metadata);
    await pair.runBoth(30);
    expect(pair.count(600)).toBe(1);
    expect(pair.reports[second]).toMatchObject({ status: "False", reason: "Waiting", progressing: true });
    expect(pair.reports[second]?.message).toContain(`another ControllerResilience, ${first}, has this DaemonSet`);
    expect(pair.reports[second]?.needsCleanup).toBe(false);
    await pair.runBoth(200);
    expect(pair.count(600)).toBe(3);
    expect(pair.reports[first]).toMatchObject({ reason: "Bounded" });
  });
});

describe("an object that began a trial", () => {
  it("keeps the DaemonSet, although an older one comes, which is Stalled after an hour", async () => {
    const pair = new Pair(OLDER);
    pair.all.other.spec = { ...pair.all.other.spec, suspend: true };
    await pair.runBoth(10, ["it"]);
    pair.all.other.spec = { ...pair.all.other.spec, suspend: false };
    pair.setLogs("unreadable");
    await pair.runBoth(365);
    expect(pair.reports.it).toMatchObject({ reason: "Rolling" });
    expect(pair.reports.other).toMatchObject({ reason: "Waiting", stalled: { reason: "Waiting" } });
    expect(pair.reports.other?.stalled?.message).toContain("remove it from the targets of one of them");
    expect(pair.lines).toEqual(["apply DaemonSet", "evict Pod"]);
  });

  it("is not disturbed when the other one is deleted", async () => {
    const pair = new Pair(YOUNGER);
    await pair.runBoth(10);
    expect(pair.set().updateStrategy).toBe("OnDelete");
    expect(await pair.remedy.cleanUp!(pair.all.other, pair)).toEqual([]);
    expect(await pair.remedy.cleanUp!(pair.all.it, pair)).toHaveLength(1);
  });
});
