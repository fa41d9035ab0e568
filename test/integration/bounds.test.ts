import { afterAll, beforeAll, expect, it } from "vitest";
import { crowd } from "../chaos/bounds/bindings";
import { LIMIT_MIB, MEASURED } from "../chaos/bounds/gauge";
import { noise } from "../chaos/bounds/logs";
import { Rig } from "../chaos/rig";
import { Lab } from "../lab";
import { ownLabName } from "./suite-lab";

// The short version of `npm run chaos -- bounds`. That one measures durations; this one checks only counts and sizes.

const silent = (): void => undefined;
let lab: Lab;
let rig: Rig;

beforeAll(async () => {
  lab = await Lab.up({ name: ownLabName("bounds"), controlPlaneOnly: true });
  rig = await Rig.up(lab, MEASURED);
});

afterAll(() => lab.down());

it("finds a quiet pod's 401s beside targets that log 10 MB/s, with bounded memory", async () => {
  const { finding, reading } = await noise(rig, silent);
  expect(finding.failures).toEqual([]);
  expect(reading.peakMiB).toBeLessThan(LIMIT_MIB);
}, 240_000);

it("renews the due ones of a thousand bindings, and counts those that do not fit into status", async () => {
  const { finding, reading } = await crowd(rig, 1_000, silent);
  expect(finding.failures).toEqual([]);
  expect(reading.peakMiB).toBeLessThan(LIMIT_MIB);
}, 240_000);
