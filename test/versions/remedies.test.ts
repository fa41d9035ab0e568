import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Rig } from "../rig/rig";
import { type Scenario, untilSettled } from "../rig/scenario";
import { bindingRenewal, flowIsolation, staleToken, stalledLease, tokenTrial } from "../rig/scenarios";
import { Lab } from "../lab";
import { kubernetesVersion } from "../lab/kubernetes";
import { forget, writesOf } from "../upgrade/handover";

// Each remedy once, on the version of Kubernetes that LAB_KUBERNETES names: the operator as a process, with the rights of deploy/.

const QUIET_MS = 5_000;
const version = kubernetesVersion();

const IDLE = ["Reconciling=False Idle", "Stalled=False Idle"];

let lab: Lab;
let rig: Rig;

beforeAll(async () => {
  lab = await Lab.up({ name: "versions-remedies", controlPlaneOnly: true });
  rig = await Rig.up(lab);
});

afterAll(() => lab.down());

/** Plays a scenario to its end; returns the conditions, and what was written afterwards. */
async function play(scenario: Scenario): Promise<{ conditions: unknown; afterwards: readonly string[] }> {
  const scene = await rig.scene(scenario.name);
  rig.proxy.forget();
  await scenario.prepare(scene);
  await scenario.trigger(scene);
  const { state, trouble } = await untilSettled(scenario, scene, () => rig.proxy.writesIn(scene.namespace).length);
  expect(trouble).toBeUndefined();
  forget(rig);
  await sleep(QUIET_MS);
  const afterwards = writesOf(rig);
  await rig.clear([scene.namespace]);
  return { conditions: state["conditions"], afterwards };
}

describe(`on Kubernetes ${version}`, () => {
  it("runs the version that was asked for", () => {
    expect(lab.version).toBe(version);
  });

  it.each([staleToken, bindingRenewal, flowIsolation, stalledLease])("$name", async scenario => {
    const { conditions, afterwards } = await play(scenario);
    expect(conditions).toEqual(["Ready=True AllHold", expect.stringMatching(/=True/), ...IDLE]);
    expect(afterwards).toEqual([]);
  });

  it("token-trial", async () => {
    const { conditions, afterwards } = await play(tokenTrial);
    expect(conditions).toEqual([
      "Ready=False Rolling",
      "TokenLifetimeBounded=False Rolling",
      "Reconciling=True Progressing",
      "Stalled=False Idle",
    ]);
    expect(afterwards).toEqual([]);
  });
});
