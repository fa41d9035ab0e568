import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { crashEverywhere } from "../chaos/crash/play";
import { Rig } from "../chaos/rig";
import { describeObject, says, type Scenario } from "../chaos/scenario";
import { bindingRenewal } from "../chaos/scenarios/binding-renewal";
import { flowIsolation } from "../chaos/scenarios/flow-isolation";
import { staleToken } from "../chaos/scenarios/stale-token";
import { stalledLease } from "../chaos/scenarios/stalled-lease";
import { tokenAdmission, tokenTemplate } from "../chaos/scenarios/token-lifetime";
import { Lab } from "../lab";
import { kubernetesVersion } from "../lab/kubernetes";

// Each remedy once, on the version of Kubernetes that LAB_KUBERNETES names: the operator as a process, with the rights of deploy/.

const QUIET_MS = 5_000;
const version = kubernetesVersion();
const minor = Number(version.split(".")[1]);
/** The first minor version of 1.x with MutatingAdmissionPolicy in admissionregistration.k8s.io/v1. */
const ADMISSION_SINCE = 36;

const IDLE = ["Reconciling=False Idle", "Stalled=False Idle"];
const HOLDS = ["Ready=True AllHold", "TokenLifetimeBounded=True Bounded", ...IDLE];
const UNAVAILABLE = [
  "Ready=False AdmissionUnavailable",
  "TokenLifetimeBounded=False AdmissionUnavailable",
  "Reconciling=False Idle",
  "Stalled=True AdmissionUnavailable",
];

let lab: Lab;
let rig: Rig;

beforeAll(async () => {
  lab = await Lab.up({ name: "versions-remedies", controlPlaneOnly: true });
  rig = await Rig.up(lab);
});

afterAll(async () => {
  // If beforeAll failed, its error must stay visible.
  await (rig as Rig | undefined)?.down();
  await (lab as Lab | undefined)?.down();
});

/** Plays a scenario to its end, without a crash; returns the conditions, and what was written afterwards. */
async function play(scenario: Scenario): Promise<{ conditions: unknown; afterwards: readonly string[] }> {
  const options = { pointsOf: () => [], quietMs: QUIET_MS, print: () => undefined };
  const { recorded, quiet } = await crashEverywhere(rig, scenario, options);
  return { conditions: recorded.state["conditions"], afterwards: quiet.writes };
}

/** The reason of TokenLifetimeBounded. */
function reasonIn(conditions: unknown): string {
  return /^TokenLifetimeBounded=\w+ (\w+)$/m.exec((conditions as string[]).join("\n"))?.[1] ?? "none";
}

describe(`on Kubernetes ${version}`, () => {
  it("runs the version that was asked for", () => {
    expect(lab.version).toBe(version);
  });

  it.each([staleToken, bindingRenewal, tokenTemplate, flowIsolation, stalledLease])("$name", async scenario => {
    const { conditions, afterwards } = await play(scenario);
    expect(conditions).toEqual(["Ready=True AllHold", expect.stringMatching(/=True/), ...IDLE]);
    expect(afterwards).toEqual([]);
  });

  it("bounds tokens at admission, or says that this version cannot", async ({ task }) => {
    const isServed = minor >= ADMISSION_SINCE;
    const reason = isServed ? "Bounded" : "AdmissionUnavailable";
    const isOver: Scenario["isOver"] = state => says(state, "TokenLifetimeBounded", reason);
    const read: Scenario["describe"] = scene => (isServed ? tokenAdmission.describe(scene) : describeObject(scene));
    const { conditions, afterwards } = await play({ ...tokenAdmission, isOver, describe: read });
    expect(conditions).toEqual(isServed ? HOLDS : UNAVAILABLE);
    expect(afterwards).toEqual([]);
    task.meta.seen = { admission: reasonIn(conditions) };
  });
});
