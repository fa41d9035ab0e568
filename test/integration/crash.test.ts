import { afterAll, beforeAll, expect, it } from "vitest";
import { crashEverywhere } from "../chaos/crash/play";
import type { Moment } from "../chaos/proxy";
import { Rig } from "../chaos/rig";
import type { Scenario } from "../chaos/scenario";
import { staleToken } from "../chaos/scenarios/stale-token";
import { tokenTemplate } from "../chaos/scenarios/token-lifetime";
import { Lab } from "../lab";
import { ownLabName } from "./suite-lab";

// The short version of `npm run chaos -- crash`: the operator is killed where it would do most harm. In its own lab, where its process has
// no other objects to look after than these.

const QUIET_MS = 10_000;
let lab: Lab;
let rig: Rig;

beforeAll(async () => {
  lab = await Lab.up({ name: ownLabName("crash"), controlPlaneOnly: true });
  rig = await Rig.up(lab);
});

afterAll(async () => {
  // Where it could not be made, its own error is what has to be seen.
  await (rig as Rig | undefined)?.down();
  await lab.down();
});

/** Kills it at the first write of that kind; the result has to be the same. */
async function expectTheSame(scenario: Scenario, call: string, moments: readonly Moment[]): Promise<void> {
  const points = moments.map(moment => ({ call, nth: 1, moment }));
  const options = { pointsOf: () => points, quietMs: QUIET_MS, print: () => undefined };
  const { injections, quiet } = await crashEverywhere(rig, scenario, options);
  expect(injections).toMatchObject(points.map(point => ({ point, differences: [] })));
  expect(quiet.writes).toEqual([]);
}

it("an operator that is killed when a pod was evicted, and it has not heard of it, is followed by one that evicts no other", async () => {
  await expectTheSame(staleToken, "POST pods/eviction", ["after"]);
}, 240_000);

it("an operator that is killed around the change of a template is followed by one that changes it once", async () => {
  await expectTheSame(tokenTemplate, "PATCH daemonsets", ["before", "after"]);
}, 120_000);
