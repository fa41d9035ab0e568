import { afterAll, beforeAll, expect, it } from "vitest";
import { crashEverywhere, describePoint } from "../chaos/crash/play";
import type { Moment } from "../chaos/proxy";
import { Rig } from "../chaos/rig";
import type { Scenario } from "../chaos/scenario";
import { staleToken } from "../chaos/scenarios/stale-token";
import { Lab } from "../lab";
import { ownLabName } from "./suite-lab";

// The short version of `npm run chaos -- crash`: kills the operator at the riskiest write. A trial of tokens takes minutes, so the long version alone
// plays it. It has its own lab, in which the operator has no
// other objects.

const QUIET_MS = 10_000;
let lab: Lab;
let rig: Rig;

beforeAll(async () => {
  lab = await Lab.up({ name: ownLabName("crash"), controlPlaneOnly: true });
  rig = await Rig.up(lab);
});

afterAll(async () => {
  // If beforeAll failed, its error must stay visible.
  await (rig as Rig | undefined)?.down();
  await lab.down();
});

/** Kills the operator at the first write of that kind, and expects the same end state as without a crash. */
async function expectTheSame(scenario: Scenario, call: string, moments: readonly Moment[]): Promise<void> {
  const points = moments.map(moment => ({ call, nth: 1, moment }));
  const options = { pointsOf: () => points, quietMs: QUIET_MS, print: () => undefined };
  const { injections, quiet } = await crashEverywhere(rig, scenario, options);
  const seen = injections.map(({ point, differences }) => ({ at: describePoint(point), differences }));
  expect(seen.flatMap(({ at, differences }) => differences.map(difference => `${at}: ${difference}`))).toEqual([]);
  expect(seen.map(({ at }) => at)).toEqual(points.map(describePoint));
  expect(quiet.writes).toEqual([]);
}

it("evicts no second pod after a crash between the eviction and its answer", async () => {
  await expectTheSame(staleToken, "POST pods/eviction", ["after"]);
}, 240_000);
