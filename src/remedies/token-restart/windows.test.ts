import { describe, expect, it } from "vitest";
import type { TokenRestartSpec } from "../../api/controller-resilience";
import { NEVER } from "../../core/testing/windows";
import type { MaintenanceWindow } from "../../core/windows";
import { Scene, UNAUTHORIZED, type ScenePass } from "./testing/scene";

// The clock of a scene starts at noon or midnight of a Wednesday, far from this window.
const SATURDAYS: MaintenanceWindow = { schedule: "0 2 * * 6", duration: "3h", timeZone: "UTC" };
const ALWAYS: MaintenanceWindow = { schedule: "* * * * *", duration: "10m", timeZone: "UTC" };
const RESPECTED = { respectWindows: true };

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
  it("an eviction does not wait", async () => {
    expect(verbs(await unproven({}, [SATURDAYS]))).toEqual(["evict"]);
    expect(verbs(await proven({}, [SATURDAYS]))).toEqual(["evict"]);
  });

  it("every restart waits with respectWindows, and the condition has the time of the next window", async () => {
    for (const pass of [await unproven(RESPECTED, [SATURDAYS]), await proven(RESPECTED, [SATURDAYS])]) {
      expect(pass).toMatchObject({ status: "False", reason: "WaitingForWindow", intents: [], progressing: false });
      expect(pass.message).toMatch(/; the next maintenance window opens at \d{4}-\d\d-\d\dT02:00:00Z\.$/);
      expect(pass.stalled).toBeUndefined();
    }
  });

  it("a restart waits where no window opens any more, without a time", async () => {
    const pass = await unproven(RESPECTED, [NEVER]);
    expect(pass).toMatchObject({ reason: "WaitingForWindow", intents: [] });
    expect(pass.message).toContain("no maintenance window opens; correct spec.windows");
  });
});

it("nothing waits in a maintenance window", async () => {
  expect(verbs(await unproven(RESPECTED, [SATURDAYS, ALWAYS]))).toEqual(["evict"]);
});
