import { describe, expect, it } from "vitest";
import { TransientError } from "../../core/errors";
import { binding, pod } from "../../core/testing/views";
import type { Scene } from "./testing/scene";
import { MINUTES, provisioned, QUARANTINE_LEVEL, SHARED, throttled, throttling } from "./testing/scene";

describe("the threshold", () => {
  it("counts per running pod of the ServiceAccount", async () => {
    const scene = throttling();
    scene.running.set("app", 200).set("other", 1_000);
    await provisioned(scene);
    scene.perSecond.set("app", 19_000);
    expect(await scene.run(5 * MINUTES)).toMatchObject({ reason: "Isolated" });
    expect(scene.written).toEqual([]);
    scene.perSecond.set("app", 21_000);
    await scene.run(61);
    expect(scene.level()).toBe(QUARANTINE_LEVEL);
    expect(scene.written[0]?.why).toBe(
      "ServiceAccount app is throttled for 5m: 21000 requests/s, threshold 20000 requests/s (100 for each of 200 pods) for 30s.",
    );
  });

  it("follows the largest number of pods while their requests still count", async () => {
    const scene = throttling();
    scene.running.set("app", 20);
    await provisioned(scene);
    scene.perSecond.set("app", 2_100);
    await scene.run(10);
    scene.perSecond.set("app", 1_900);
    await scene.run(60);
    scene.running.set("app", 18);
    await scene.run(60);
    scene.perSecond.set("app", 1_700);
    expect(await scene.run(5 * MINUTES)).toMatchObject({ status: "True" });
    expect(scene.written).toEqual([]);
    scene.perSecond.set("app", 1_900);
    await scene.run(120);
    expect(scene.level()).toBe(QUARANTINE_LEVEL);
  });

  it("counts pods whose init containers run, which are Pending", async () => {
    const scene = throttling();
    const init = { name: "wait", role: "init", restartCount: 0, running: true } as const;
    const pods = Array.from({ length: 100 }, (_, i) =>
      pod({ uid: `uid-${i}`, serviceAccountName: "app", phase: "Pending", containers: [init] }),
    );
    scene.pods = () => Promise.resolve(pods);
    await provisioned(scene);
    scene.perSecond.set("app", 200);
    await scene.run(5 * MINUTES);
    expect(scene.level()).toBe(SHARED);
  });

  it("is unknown while the pods cannot be read: no throttle begins, and one that is over ends", async () => {
    const scene = await provisioned();
    scene.failing.pods = new TransientError("the cache of pods is not filled");
    scene.perSecond.set("app", 5_000);
    const decision = await scene.run(3 * MINUTES);
    expect(decision).toMatchObject({ status: "Unknown", reason: "ObserveFailed", intents: [] });
    expect(decision.message).toContain("the pods");
    scene.failing = {};
    await scene.run(61);
    expect(scene.level()).toBe(QUARANTINE_LEVEL);
    scene.failing.pods = new TransientError("the cache of pods is not filled");
    await scene.run(6 * MINUTES);
    expect(scene.level()).toBe(SHARED);
  });
});

describe("a fleet that lists anew after a change of the API servers", () => {
  const settling = (scene: Scene, seconds: number): void => {
    scene.settlingUntilMs = scene.clock.now().getTime() + seconds * 1_000;
  };

  it("is not throttled before the clients have settled; a flood that outlasts that is", async () => {
    const scene = await provisioned();
    settling(scene, 5 * MINUTES);
    scene.perSecond.set("app", 5_000);
    const decision = await scene.run(4 * MINUTES);
    expect(decision).toMatchObject({ status: "True" });
    expect(decision).not.toHaveProperty("stalled");
    expect(decision.message).toBe(
      "ServiceAccount app is near or above its threshold: 5000 requests/s, threshold 100 requests/s for 30s. An API server started, appeared or left: no throttle begins before 2025-01-01T00:05:00Z, since clients list everything anew.",
    );
    expect(scene.written).toEqual([]);
    await scene.run(70);
    expect(scene.level()).toBe(QUARANTINE_LEVEL);
  });

  it("does not relapse on probation, and a throttle that is over ends", async () => {
    const scene = await throttled();
    await scene.run(4 * MINUTES);
    settling(scene, 5 * MINUTES);
    await scene.run(4 * MINUTES);
    expect(scene.entry()).toMatchObject({ state: "Probation" });
    expect(scene.level()).toBe(SHARED);
    scene.perSecond.set("app", 10);
    await scene.run(10 * MINUTES);
    expect(scene.entry()).toMatchObject({ state: "Normal" });
  });
});

/** Its targets change: another generation. */
function edited(scene: Scene): Scene {
  const { metadata } = scene.object;
  scene.object = { ...scene.object, metadata: { ...metadata, generation: metadata.generation + 1 } };
  return scene;
}

describe("a ServiceAccount that relapses after each throttle", () => {
  it("is given up and released after six throttles; a person is needed until the block changes", async () => {
    const scene = await throttled(throttling());
    scene.perSecond.set("app", 120);
    const decision = await scene.run(6 * 60 * MINUTES);
    expect(scene.written.filter(({ eventReason }) => eventReason === "FlowThrottled")).toHaveLength(6);
    expect(scene.level()).toBe(SHARED);
    expect(decision).toMatchObject({ status: "False", reason: "Runaway", stalled: { reason: "Runaway" } });
    expect(decision.message).toBe(
      "ServiceAccount app is not throttled again before spec.flowIsolation changes, or it has been calm for a day: it relapsed after each of 6 throttles. Now: 120 requests/s, threshold 100 requests/s for 30s.",
    );
    await scene.run(10 * MINUTES);
    expect(scene.entry()).toMatchObject({ state: "GivenUp" });
    // As with each new workload of the namespace of a generated object.
    scene.object.spec.targets.push({ kind: "Deployment", name: "app" });
    // As by a default of a newer definition.
    scene.object.spec.suspend = false;
    edited(scene);
    await scene.run(2 * MINUTES);
    expect(scene.entry()).toMatchObject({ state: "GivenUp" });
    scene.change({ requestRate: { ...scene.object.spec.flowIsolation!.requestRate, threshold: 110 } });
    await scene.run(2 * MINUTES);
    expect(scene.level()).toBe(QUARANTINE_LEVEL);
    expect(scene.entry()).not.toHaveProperty("relapses");
  });
});

interface Case {
  readonly why: string;
  readonly key?: string;
  readonly before?: (scene: Scene) => void;
  /** After all objects exist. */
  readonly after?: (scene: Scene) => void;
}

/** Changes the quarantine level, and lets nobody write it. */
function spoilt(change: (scene: Scene) => void): (scene: Scene) => void {
  return scene => {
    change(scene);
    scene.isRefused = ({ target }) => target.name === QUARANTINE_LEVEL;
  };
}

describe("a runaway is only reported, with the reason, and Stalled is True, if it is", () => {
  const COMPONENT =
    "It is not throttled: it is a component of the cluster. To throttle it by hand: docs/runbook-runaway.md.";
  const NOT_IN_PLACE = "It is not throttled: the quarantine level or its own FlowSchemas are not in place.";
  const component = (scene: Scene): void => scene.put("Deployment", "app", { isComponent: true });

  const delegator = (scene: Scene): void => {
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:auth-delegator" };
    const subjects = [{ kind: "ServiceAccount", namespace: "team", name: "app" }];
    scene.bindingList = [binding({ kind: "ClusterRoleBinding", roleRef, subjects })];
  };
  const MISSING = "neither its workloads nor its pods are there, so it may be a component of the cluster";
  const OPERATOR = "It is not throttled: it is the operator's own.";
  const isOperator = (scene: Scene): void => void (scene.operator = "system:serviceaccount:team:app");
  const unplaced = (after: NonNullable<Case["after"]>): Case => ({ why: NOT_IN_PLACE, after });
  const skippedAgent = (scene: Scene): void => {
    scene.object.spec.targets.push({ kind: "DaemonSet", name: "agent" });
    scene.put("DaemonSet", "agent", { isComponent: true, skip: true });
  };
  const SPARED = "It is not throttled: a workload or pod that uses it has the skip annotation.";
  const skipped = (scene: Scene): void => {
    scene.object.spec.targets.push({ kind: "Deployment", name: "worker" });
    scene.put("Deployment", "worker", { skip: true });
  };
  const skippedPod = (scene: Scene): void => void scene.podList.push(pod({ serviceAccountName: "app", skip: true }));
  const foreignLeases = (scene: Scene): void => {
    scene.edit([...scene.world.cluster.keys()].find(name => name.includes("leases-team"))!, { labels: {} });
  };
  const recreated: Case = { why: MISSING, before: component, after: scene => scene.world.workloads.clear() };
  const noLevel = spoilt(scene => void scene.world.cluster.delete(QUARANTINE_LEVEL));

  it.each<[string, Case]>([
    ["in kube-system", { why: COMPONENT, key: "kube-system/it" }],
    ["a component by its template", { why: COMPONENT, before: component }],
    ["an extension of the API server, whatever its name", { why: COMPONENT, before: delegator }],
    ["a component with the skip annotation, beside a workload without", { why: COMPONENT, before: skippedAgent }],
    ["the account of a workload with the skip annotation, beside one without", { why: SPARED, before: skipped }],
    ["the account of a pod with the skip annotation", { why: SPARED, before: skippedPod }],
    ["a component whose workload is missing, such as one that is recreated with its pods kept", recreated],
    ["the operator itself", { why: OPERATOR, before: isOperator }],
    ["a client whose leases would be throttled, too", unplaced(foreignLeases)],
    ["without a quarantine level", unplaced(noLevel)],
    ["with one that another writer has changed", unplaced(spoilt(scene => scene.edit(QUARANTINE_LEVEL, { spec: {} })))],
    ["with one that is being deleted", unplaced(spoilt(scene => scene.edit(QUARANTINE_LEVEL, { deletedAtMs: 1 })))],
  ])("%s", async (_, { why, key, before, after }) => {
    const scene = throttling(key);
    before?.(scene);
    await provisioned(scene);
    after?.(scene);
    scene.perSecond.set("app", 5_000);
    const decision = await scene.run(5 * MINUTES);
    expect(decision).toMatchObject({ reason: "Runaway", stalled: { reason: "Runaway" } });
    expect(decision.message).toContain(why);
    if (why !== NOT_IN_PLACE || after === foreignLeases)
      expect(decision).toMatchObject({ intents: [], recheckAfterMs: 30_000 });
    expect(scene.level()).toBe(SHARED);
  });
});

it("throttles the account of a pod with the skip annotation that has ended, such as of a Job", async () => {
  const scene = throttling();
  scene.podList.push(pod({ serviceAccountName: "app", skip: true, phase: "Succeeded", containers: [] }));
  await throttled(scene);
});

it("releases a ServiceAccount at once that a component of the cluster uses since it was throttled", async () => {
  const scene = await throttled();
  scene.put("Deployment", "app", { isComponent: true });
  await scene.run(5);
  expect(scene.level()).toBe(SHARED);
  expect(scene.written.at(-1)?.why).toContain("on probation: it is a component of the cluster");
});

describe("the operator's own ServiceAccount", () => {
  it("is released at once if it is throttled", async () => {
    const scene = await throttled();
    scene.operator = "system:serviceaccount:team:app";
    await scene.run(5);
    expect(scene.level()).toBe(SHARED);
    expect(scene.written.at(-1)?.why).toContain("on probation: it is the operator's own");
  });

  it("is that of the operator's namespace only", async () => {
    const scene = throttling();
    scene.operator = "system:serviceaccount:other:app";
    await throttled(scene);
    expect(scene.level()).toBe(QUARANTINE_LEVEL);
  });
});

describe("a flood of requests that are answered 401", () => {
  it("is no flow's, and the message says so", async () => {
    const scene = await provisioned();
    scene.perSecond.set("401", 5_000);
    const decision = await scene.run(3 * MINUTES);
    expect(decision).toMatchObject({ status: "True", reason: "Unauthenticated", intents: [] });
    expect(decision).not.toHaveProperty("stalled");
    expect(decision.message).toContain("The API servers answer 401 to more than 100 requests/s.");
    scene.perSecond.set("401", 50);
    expect(await scene.run(MINUTES)).toMatchObject({ status: "True", reason: "Isolated" });
  });
});

it("counts nothing of a FlowSchema that another writer has widened, nor what was counted before it was restored", async () => {
  const scene = await provisioned();
  scene.perSecond.set("app", 105);
  await scene.run(10);
  const { name, spec } = scene.world.cluster.get(scene.schema())!;
  scene.edit(name, { spec: { ...spec, rules: [{ subjects: [{ kind: "Group", group: { name: "team" } }] }] } });
  scene.isRefused = ({ eventReason }) => eventReason === "FlowProvisioned";
  scene.perSecond.set("app", 5_000);
  await scene.run(2 * MINUTES);
  expect(scene.level()).toBe(SHARED);
  scene.isRefused = () => false;
  for (let passes = 0; passes < 4; passes++) await scene.pass();
  scene.perSecond.set("app", 10);
  await scene.run(MINUTES);
  expect(scene.written.map(({ eventReason }) => eventReason)).toEqual(["FlowProvisioned"]);
});

it.each<[string, (scene: Scene) => void, (scene: Scene) => void]>([
  ["a person restores", () => undefined, () => undefined],
  [
    "a person restores while its ServiceAccount is no target",
    scene => scene.put("Deployment", "app", { skip: true }),
    scene => scene.put("Deployment", "app"),
  ],
])("counts nothing from before the first look at a widened FlowSchema that %s", async (_, leave, comeBack) => {
  const scene = await provisioned();
  const { name, spec } = scene.world.cluster.get(scene.schema())!;
  scene.edit(name, { spec: { ...spec, rules: [] } });
  scene.isRefused = () => true;
  await scene.pass();
  leave(scene);
  await scene.pass();
  scene.perSecond.set("app", 5_000);
  for (let reading = 0; reading < 12; reading++) await scene.wait(5);
  scene.edit(name, { spec });
  comeBack(scene);
  scene.isRefused = () => false;
  for (let passes = 0; passes < 4; passes++) await scene.pass();
  expect([scene.level(), scene.entry()?.state]).toEqual([SHARED, "Normal"]);
});
