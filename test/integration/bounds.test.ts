import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { Usage } from "../bench/scale/usage";
import { crowd } from "../rig/bounds/bindings";
import { LIMIT_MIB, longestTurn, MEASURED } from "../rig/bounds/gauge";
import { noise } from "../rig/bounds/logs";
import { Rig } from "../rig/rig";
import { Lab } from "../lab";
import { ownLabName } from "./suite-lab";

// Far more load than in real clusters. Durations are only printed; counts and sizes are checked.

/** The default limit of etcd for an object. */
const ETCD_BYTES = 1.5 * 1024 * 1024;

let lab: Lab;
let rig: Rig;
let usage: Usage;

beforeAll(async () => {
  lab = await Lab.up({ name: ownLabName("bounds"), controlPlaneOnly: true });
  rig = await Rig.up(lab, MEASURED);
});

beforeEach(async () => {
  usage = new Usage(rig.operator.pid);
  await longestTurn(rig.operator);
});

afterAll(() => lab.down());

async function expectBounded(what: string): Promise<void> {
  const { peakMiB } = usage.used();
  console.log(`${what}: peak ${peakMiB.toFixed(0)} MiB, ${await longestTurn(rig.operator)}`);
  expect(peakMiB).toBeLessThan(LIMIT_MIB);
}

it("finds a quiet pod's 401s beside targets that log 10 MB/s, with bounded memory", async () => {
  const { alone, among, mostOthers } = await noise(rig);
  await expectBounded(
    `401s found with ${among.reads} reads (${alone.reads} without noise), after ${among.others} others`,
  );
  expect(among.reads).toBeLessThanOrEqual(alone.reads + 1);
  expect(among.others).toBeLessThanOrEqual(mostOthers);
}, 240_000);

it("renews the due ones of a thousand bindings, and counts those that do not fit into status", async () => {
  const count = 1_000;
  const { due, renewals, bytes, told, message } = await crowd(rig, count);
  await expectBounded(`${renewals} of ${count} bindings renewed`);
  expect(renewals).toBe(due);
  expect(bytes).toBeLessThan(ETCD_BYTES);
  expect(message).toContain(`${count - told} more bindings are neither renewed nor reported`);
}, 240_000);
