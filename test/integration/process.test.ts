import { afterAll, beforeAll, expect, it } from "vitest";
import { crashEverywhere, describePoint } from "../chaos/crash/play";
import { cutOff, freeze, terminate } from "../chaos/process";
import { Rig } from "../chaos/rig";
import { staleToken } from "../chaos/scenarios/stale-token";
import { Lab } from "../lab";
import { ownLabName } from "./suite-lab";

// The short version of `npm run chaos -- crash` and `process`. It has its own lab, in which the operator has no other objects.

const QUIET_MS = 10_000;
let lab: Lab;
let rig: Rig;

beforeAll(async () => {
  lab = await Lab.up({ name: ownLabName("process"), controlPlaneOnly: true });
  rig = await Rig.up(lab);
});

afterAll(() => lab.down());

it("evicts no second pod after a kill between the eviction and its answer", async () => {
  const point = { call: "POST pods/eviction", nth: 1, moment: "after" } as const;
  const options = { pointsOf: () => [point], quietMs: QUIET_MS, print: () => undefined };
  const { injections, quiet } = await crashEverywhere(rig, staleToken, options);
  expect(injections.flatMap(({ differences }) => differences)).toEqual([]);
  expect(injections.map(one => describePoint(one.point))).toEqual([describePoint(point)]);
  expect(quiet.writes).toEqual([]);
}, 240_000);

it("finishes a renewal, releases its Lease and exits in time after SIGTERM", async () => {
  expect((await terminate(rig)).failures).toEqual([]);
}, 240_000);

it("leads no longer after a freeze, or once its connections have broken, and does nothing twice", async () => {
  const pair = [rig, await rig.replica()];
  expect((await freeze(rig, pair)).failures).toEqual([]);
  expect((await cutOff(rig, pair)).failures).toEqual([]);
}, 360_000);
