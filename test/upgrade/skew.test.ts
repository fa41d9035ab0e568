import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BREAKER_ANNOTATION, KEYS_ANNOTATION } from "../../src/api/names";
import { LEASE, type Replica, Rig } from "../rig/rig";
import {
  createWorkload,
  NAME,
  protect,
  readObject,
  says,
  type Scenario,
  type Scene,
  type State,
  until,
  untilSettled,
} from "../rig/scenario";
import { bindingRenewal, flowIsolation, staleToken, tokenTrial } from "../rig/scenarios";
import { Lab } from "../lab";
import { printer } from "../lab/progress";
import { bundleEntry } from "../operator/bundle";
import { unpackEarlier } from "./earlier";
import { forget, handOver, untilLed, writesOf } from "./handover";
import { rollback, upgrade, versionOf } from "./versions";

// The newest release (before there is one, this version), or the commit that UPGRADE_FROM names, hands over to this version and takes over again, on one API server: as `helm upgrade`
// and `helm rollback` do, but with operators as processes. Each test goes on from the one before.

const FULL_PASS_S = 15;
/** More than two full passes. */
const QUIET_MS = 40_000;
const TRIPPED = "2026-01-01T00:00:00Z: tripped by a test";

const folder = mkdtempSync(join(tmpdir(), "upgrade-"));
let lab: Lab;
let rig: Rig;
let present: string;
/** The scene of each scenario, and its state when the earlier version had done its work. */
const scenes = new Map<Scenario, { scene: Scene; state: State }>();
let earlier: Replica;
let now: Replica;

/** Plays a scenario in a new scene; returns the scene and its last state. */
async function play(scenario: Scenario, leader: Replica): Promise<{ scene: Scene; state: State }> {
  const scene = await rig.scene(scenario.name);
  await scenario.prepare(scene);
  await scenario.trigger(scene);
  const { state, trouble } = await untilSettled(scenario, scene, () => writesOf(leader).length);
  expect(trouble).toBeUndefined();
  return { scene, state };
}

/** The states of all scenes now, and as the earlier version left them. */
async function compared(): Promise<[now: State[], then: State[]]> {
  const all = [...scenes];
  const states = await Promise.all(all.map(([scenario, { scene }]) => scenario.describe(scene)));
  return [states, all.map(([, { state }]) => state)];
}

const sceneOf = (scenario: Scenario): Scene => scenes.get(scenario)!.scene;
const podsOf = async ({ admin, namespace }: Scene): Promise<string[]> =>
  (await admin.get<{ items: { metadata: { uid: string } }[] }>(`/api/v1/namespaces/${namespace}/pods`)).items.map(
    ({ metadata }) => metadata.uid,
  );

/** What the Lease keeps besides the leader: the state of the breaker, and the signing keys that were seen. */
async function leaseOf(): Promise<{ breaker: string | undefined; keys: unknown }> {
  interface Lease {
    readonly metadata: { readonly annotations: Readonly<Record<string, string | undefined>> };
  }
  const { annotations } = (await sceneOf(staleToken).admin.get<Lease>(LEASE)).metadata;
  const { keys } = JSON.parse(annotations[KEYS_ANNOTATION] ?? "{}") as { keys?: unknown };
  return { breaker: annotations[BREAKER_ANNOTATION], keys };
}

/** Expects nothing but the status of objects to be written, and that once for each at most. */
function expectStatusOnce(writes: readonly string[]): void {
  expect(writes.filter(write => !write.includes("controllerresiliences/status"))).toEqual([]);
  expect(new Set(writes).size).toBe(writes.length);
}

beforeAll(async () => {
  const found = await unpackEarlier(join(folder, "earlier"), process.env["UPGRADE_FROM"]);
  console.log(`upgrading from ${found.commit}`);
  lab = await Lab.up({ name: "upgrade", controlPlaneOnly: true, onProgress: printer(process.stderr) });
  rig = await Rig.up(lab, { RESILIENCE_FULL_PASS_SECONDS: String(FULL_PASS_S) }, versionOf(found, lab));
  present = await bundleEntry(folder);
  earlier = rig;
});

afterAll(async () => {
  await lab.down();
  rmSync(folder, { recursive: true, force: true });
});

describe("an upgrade and a rollback", () => {
  it("begin with work of the earlier version: a restart, a binding, flows, a tripped breaker", async () => {
    for (const scenario of [staleToken, bindingRenewal, flowIsolation])
      scenes.set(scenario, await play(scenario, earlier));
    const { admin } = sceneOf(staleToken);
    await admin.patch(LEASE, { metadata: { annotations: { [BREAKER_ANNOTATION]: TRIPPED } } });
    expect(scenes.get(staleToken)?.state).toMatchObject({ restartsTotal: 1 });
    expect(await leaseOf()).toEqual({ breaker: TRIPPED, keys: [expect.anything()] });
  });

  it("keep the earlier version quiet under the later definitions", async () => {
    forget(earlier);
    await upgrade(lab);
    await sleep(QUIET_MS);
    expect(writesOf(earlier)).toEqual([]);
    expect((await compared())[0]).toEqual((await compared())[1]);
  });

  it("let this version wait while the earlier one leads, which gets an object that it may not understand", async () => {
    now = await rig.replica(present);
    forget(earlier, now);
    const healthy = await rig.scene("healthy");
    await createWorkload(healthy, "Deployment", 1);
    await protect(healthy, "Deployment", { tokenRestart: {} });
    await sleep(QUIET_MS);
    expect(writesOf(earlier).filter(write => !write.includes("controllerresiliences/status"))).toEqual([]);
    expect(writesOf(now)).toEqual([]);
    expect(await now.operator.leads()).toBe(false);
  });

  it("hand over to this version, which writes nothing that is not needed", async () => {
    forget(now);
    const lease = await leaseOf();
    const { all, looks } = await handOver(earlier, now, scenes.size);
    expect(all).toBe(0);
    expect(looks).toBeGreaterThan(0);
    await sleep(QUIET_MS);
    expectStatusOnce(writesOf(now));
    const [states, before] = await compared();
    expect(states).toEqual(before);
    expect(await leaseOf()).toEqual(lease);
    expect((await now.operator.probe("/metrics")).text).toMatch(/^controller_resilience_restart_breaker_tripped 1$/m);
  });

  it("let this version count the restart of the earlier one", async () => {
    const scene = sceneOf(staleToken);
    const pods = await podsOf(scene);
    await scene.admin.delete(`/api/v1/namespaces/${scene.namespace}/serviceaccounts/${NAME}`);
    await scene.admin.create(`/api/v1/namespaces/${scene.namespace}/serviceaccounts`, { metadata: { name: NAME } });
    await scene.node.reject(scene.namespace);
    const isDeferred = async (): Promise<boolean> =>
      says(await staleToken.describe(scene), "TokensAccepted", "RestartDeferred");
    await until("the restart to be deferred", isDeferred);
    await sleep(QUIET_MS);
    expect(await isDeferred()).toBe(true);
    expect(await podsOf(scene)).toEqual(pods);
    expect((await readObject(scene))?.status).toMatchObject({
      restartsTotal: 1,
      restarts: [{ cause: expect.any(String) as string }],
    });
    scenes.set(staleToken, { scene, state: await staleToken.describe(scene) });
  });

  it("let the earlier version wait while this one leads", async () => {
    earlier = await rig.replica();
    forget(earlier, now);
    const { scene, state } = await play(tokenTrial, now);
    scenes.set(tokenTrial, { scene, state });
    expect(state).toMatchObject({ generation: 2, pods: 1, daemonSets: ["web Trial"] });
    expect(writesOf(earlier)).toEqual([]);
    expect(await earlier.operator.leads()).toBe(false);
  });

  it("hand back to the earlier version, which counts all that was written meanwhile", async () => {
    await rollback(lab);
    forget(earlier);
    const lease = await leaseOf();
    const pods = await podsOf(sceneOf(staleToken));
    const { all } = await handOver(now, earlier, scenes.size);
    expect(all).toBe(0);
    await sleep(QUIET_MS);
    // The status of the pod that is still rejected follows the time of its last 401.
    const status = `PUT controllerresiliences/status in ${sceneOf(staleToken).namespace}`;
    expectStatusOnce(writesOf(earlier).filter(write => write !== status));
    const [states, before] = await compared();
    expect(states).toEqual(before);
    expect(await podsOf(sceneOf(staleToken))).toEqual(pods);
    expect(await leaseOf()).toEqual(lease);
  });

  it("leave nothing that the last version does not clean up", async () => {
    await untilLed(earlier, scenes.size);
    await rig.clear([...scenes.values()].map(({ scene }) => scene.namespace));
  });
});
