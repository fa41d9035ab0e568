import { afterAll, beforeAll, expect, it } from "vitest";
import { crowd } from "../chaos/bounds/bindings";
import { LIMIT_MIB, MEASURED } from "../chaos/bounds/gauge";
import { noise } from "../chaos/bounds/logs";
import { Rig } from "../chaos/rig";
import { Lab } from "../lab";
import { ownLabName } from "./suite-lab";

// The short version of `npm run chaos -- bounds`. How long turns are is measured there: here only counts and sizes decide.

const silent = (): void => undefined;
let lab: Lab;
let rig: Rig;

beforeAll(async () => {
  lab = await Lab.up({ name: ownLabName("bounds"), controlPlaneOnly: true });
  rig = await Rig.up(lab, MEASURED);
});

afterAll(async () => {
  // Where it could not be made, its own error is what has to be seen.
  await (rig as Rig | undefined)?.down();
  await lab.down();
});

it("a quiet pod's 401s are found among targets that log 10 MB/s, and memory stays bounded", async () => {
  const { finding, reading } = await noise(rig, silent);
  expect(finding.failures).toEqual([]);
  expect(reading.peakMiB).toBeLessThan(LIMIT_MIB);
}, 240_000);

it("of a thousand bindings what is due is renewed, and those without a place in status are counted", async () => {
  const { finding, reading } = await crowd(rig, 1_000, silent);
  expect(finding.failures).toEqual([]);
  expect(reading.peakMiB).toBeLessThan(LIMIT_MIB);
}, 240_000);
