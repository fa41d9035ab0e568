import { describe, expect, it } from "vitest";
import type { TokenRestartSpec } from "../../api/controller-resilience";
import { NEVER } from "../../core/testing/windows";
import type { MaintenanceWindow } from "../../core/windows";
import { Scene, UNAUTHORIZED, type ScenePass } from "./testing/scene";

// The clock of a scene starts at noon or midnight of a Wednesday, far from this window.
const SATURDAYS: MaintenanceWindow = { schedule: "0 2 * * 6", duration: "3h", timeZone: "UTC" };
const ALWAYS: MaintenanceWindow = { schedule: "* * * * *", duration: "10m", timeZone: "UTC" };

function makeScene(spec: Partial<TokenRestartSpec>, windows: MaintenanceWindow[]): Scene {
  const scene = new Scene(spec);
  scene.object = { ...scene.object, spec: { ...scene.object.spec, windows } };
  return scene;
}

/** A pod that is persistently answered 401, for no known reason. */
async function unproven(spec: Partial<TokenRestartSpec>, windows: MaintenanceWindow[]): Promise<ScenePass> {
  const scene = makeScene(spec, windows);
  scene.log(UNAUTHORIZED);
  return scene.passes(12, () => scene.log(UNAUTHORIZED));
}

/** A pod that is older than its ServiceAccount. */
async function proven(spec: Partial<TokenRestartSpec>, windows: MaintenanceWindow[]): Promise<ScenePass> {
  const scene = makeScene(spec, windows);
  scene.accounts.set("web", scene.account("sa-2", 0));
  scene.clock.advance(2_000);
  return scene.passes(20, () => scene.log(UNAUTHORIZED));
}

const verbs = ({ intents }: ScenePass): string[] => intents.map(({ verb }) => verb);

describe("outside of the maintenance windows", () => {
  it("a rollout without proof waits, and the condition has the time of the next window", async () => {
    const pass = await unproven({ strategy: "RolloutRestart" }, [SATURDAYS]);
    expect(pass).toMatchObject({ status: "False", reason: "WaitingForWindow", intents: [], progressing: false });
    expect(pass.message).toMatch(/; the next maintenance window opens at \d{4}-\d\d-\d\dT02:00:00Z\.$/);
    expect(pass.stalled).toBeUndefined();
  });

  it("a rollout for what is proven dead does not wait", async () => {
    expect(verbs(await proven({ strategy: "RolloutRestart" }, [SATURDAYS]))).toEqual(["patch"]);
  });

  it.each(["Evict", "Auto"] as const)("an eviction does not wait with strategy %s", async strategy => {
    expect(verbs(await unproven({ strategy }, [SATURDAYS]))).toEqual(["evict"]);
    expect(verbs(await proven({ strategy }, [SATURDAYS]))).toEqual(["evict"]);
  });

  it.each(["Evict", "Auto", "RolloutRestart"] as const)(
    "every restart waits with respectWindows and strategy %s",
    async strategy => {
      const spec = { strategy, respectWindows: true };
      expect(await unproven(spec, [SATURDAYS])).toMatchObject({ reason: "WaitingForWindow", intents: [] });
      expect(await proven(spec, [SATURDAYS])).toMatchObject({ reason: "WaitingForWindow", intents: [] });
    },
  );

  it("a rollout waits where no window opens any more, without a time", async () => {
    const pass = await unproven({ strategy: "RolloutRestart" }, [NEVER]);
    expect(pass).toMatchObject({ reason: "WaitingForWindow", intents: [] });
    expect(pass.message).toContain("no maintenance window opens; correct spec.windows");
  });
});

it("nothing waits in a maintenance window", async () => {
  expect(verbs(await unproven({ strategy: "RolloutRestart", respectWindows: true }, [SATURDAYS, ALWAYS]))).toEqual([
    "patch",
  ]);
});
