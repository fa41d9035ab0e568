import { afterAll, beforeAll, expect, it } from "vitest";
import { cutOff, freeze, terminate } from "../chaos/process";
import { Rig } from "../chaos/rig";
import { Lab } from "../lab";
import { ownLabName } from "./suite-lab";

// The short version of `npm run chaos -- process`. It has its own lab, in which the operator has no other objects.

let lab: Lab;
let rig: Rig;

beforeAll(async () => {
  lab = await Lab.up({ name: ownLabName("process"), controlPlaneOnly: true });
  rig = await Rig.up(lab);
});

afterAll(() => lab.down());

it("finishes a renewal, releases its Lease and exits in time after SIGTERM", async () => {
  expect((await terminate(rig)).failures).toEqual([]);
}, 240_000);

it("leads no longer after a freeze, or once its connections have broken, and does nothing twice", async () => {
  const pair = [rig, await rig.replica()];
  expect((await freeze(rig, pair)).failures).toEqual([]);
  expect((await cutOff(rig, pair)).failures).toEqual([]);
}, 360_000);
