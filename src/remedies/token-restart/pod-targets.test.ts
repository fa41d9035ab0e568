import { describe, expect, it } from "vitest";
import type { TargetSelector, TokenRestartSpec } from "../../api/controller-resilience";
import { ForbiddenError } from "../../core/errors";
import type { PodView } from "../../core/views";
import { UNAUTHORIZED, workload } from "./testing/scene";
import { CLONE_SET, Shop } from "./testing/shop";

const ROLLOUT = { app: "shop", "rollouts-pod-template-hash": "7c" };

function withoutOwner({ owner, ...rest }: PodView): PodView {
  expect(owner).toBeDefined();
  return rest;
}

describe("a target of kind Pod", () => {
  it.each<[string, Partial<PodView>, string, string]>([
    ["a CloneSet", {}, "CloneSet.apps.kruise.io", "shop"],
    [
      "an Argo Rollout, through its ReplicaSet",
      { labels: ROLLOUT, owner: { group: "apps", kind: "ReplicaSet", name: "shop-7c", uid: "rs" } },
      "Rollout.argoproj.io",
      "shop",
    ],
    [
      "a DeploymentConfig, through its ReplicationController",
      {
        labels: { app: "shop", deploymentconfig: "shop", deployment: "shop-3" },
        owner: { group: "", kind: "ReplicationController", name: "shop-3", uid: "rc" },
      },
      "DeploymentConfig.apps.openshift.io",
      "shop",
    ],
    [
      "a ReplicationController",
      {
        labels: { app: "shop", deploymentconfig: "shop" },
        owner: { group: "", kind: "ReplicationController", name: "shop-3", uid: "rc" },
      },
      "ReplicationController",
      "shop-3",
    ],
    [
      "a kind with a name that Kubernetes has too",
      { owner: { group: "apps.kruise.io", kind: "StatefulSet", name: "shop", uid: "ks" } },
      "StatefulSet.apps.kruise.io",
      "shop",
    ],
    [
      "a ReplicaSet that belongs to none of the targets",
      { owner: { group: "apps", kind: "ReplicaSet", name: "shop", uid: "rs" } },
      "ReplicaSet",
      "shop",
    ],
    [
      "a ReplicaSet whose Deployment is gone",
      {
        labels: { app: "shop", "pod-template-hash": "5d" },
        owner: { group: "apps", kind: "ReplicaSet", name: "shop-5d", uid: "rs" },
      },
      "ReplicaSet",
      "shop-5d",
    ],
  ])("evicts pods of %s", async (_, over, kind, name) => {
    const scene = new Shop();
    scene.add("a", over);
    scene.add("b", over);
    const pass = await scene.sick("a");
    expect(pass).toMatchObject({ status: "False", reason: "Rejected" });
    expect(pass.intents).toMatchObject([
      { verb: "evict", target: { name: "a", uid: "uid-a" }, restart: { workload: `${kind}/${name}` } },
    ]);
    expect(pass.lists?.targets).toMatchObject([{ kind, name, pods: 2, rejectedPods: 1 }]);
  });

  it("finds no workload where no pod matches", async () => {
    const scene = new Shop();
    scene.add("a", { labels: { app: "other" } });
    scene.add("b", { phase: "Succeeded" });
    expect(await scene.pass()).toMatchObject({
      status: "False",
      reason: "TargetNotFound",
      message: "Target not found: Pod matching spec.targets[0].selector.",
    });
  });

  it("lists owners in one order, whatever the order of the pods", async () => {
    const scene = new Shop();
    scene.add("a", { owner: { ...CLONE_SET, name: "x" } });
    scene.add("b", { owner: { ...CLONE_SET, name: "y" } });
    const before = (await scene.pass()).lists?.targets;
    scene.podList.reverse();
    expect((await scene.pass()).lists?.targets).toEqual(before);
    expect(before).toHaveLength(2);
  });

  it("waits for pods of the owner that are not Ready for any reason", async () => {
    const scene = new Shop();
    scene.add("a");
    scene.add("b", { ready: false, readySinceMs: scene.clock.now().getTime() });
    expect(await scene.sick("a")).toMatchObject({ reason: "RestartDeferred", intents: [] });
  });
});

describe("a pod that nothing recreates", () => {
  it.each<[string, Partial<PodView> | "bare", string, RegExp]>([
    ["a bare pod", "bare", "Pod/a", /nothing would recreate it/],
    [
      "a Job's pod",
      { owner: { group: "batch", kind: "Job", name: "j", uid: "j" } },
      "Job/j",
      /an eviction may fail the Job/,
    ],
    [
      "a Job's pod of another API group",
      { owner: { group: "batch.volcano.sh", kind: "Job", name: "j", uid: "j" } },
      "Job.batch.volcano.sh/j",
      /an eviction may fail the Job/,
    ],
    [
      "a static pod",
      { owner: { group: "", kind: "Node", name: "n", uid: "n" } },
      "Node/n",
      /it is a static pod of its node/,
    ],
    [
      "another pod's pod",
      { owner: { group: "", kind: "Pod", name: "driver", uid: "d" } },
      "Pod/a",
      /its owner Pod\/driver recreates no pods/,
    ],
    ["a pod that runs to completion", { runsOnce: true }, "CloneSet.apps.kruise.io/shop", /it runs to completion/],
    [
      "a pod whose StatefulSet is gone",
      { owner: { group: "apps", kind: "StatefulSet", name: "s", uid: "s" } },
      "Pod/a",
      /its owner StatefulSet\/s does not exist/,
    ],
  ])("is watched, and never restarted: %s", async (_, over, id, why) => {
    const scene = new Shop();
    scene.add("a", over === "bare" ? {} : over);
    if (over === "bare") scene.podList = scene.podList.map(withoutOwner);
    const calm = await scene.pass();
    expect(calm).toMatchObject({ status: "True", reason: "Accepted" });
    expect(calm.message).toMatch(why);
    const pass = await scene.sick("a");
    expect(pass).toMatchObject({ status: "False", reason: "Rejected", intents: [], stalled: { reason: "Rejected" } });
    expect(pass.message).toMatch(why);
    expect(pass.message).toContain(`${id}: 1 of 1 pod rejected; never restarted, because`);
  });

  it("does not keep the pods of others from being healed", async () => {
    const scene = new Shop();
    scene.add("a", { owner: { group: "batch", kind: "Job", name: "j", uid: "j" } });
    scene.add("b");
    expect((await scene.sick("a", "b")).intents).toMatchObject([{ target: { name: "b" } }]);
  });
});

describe("a pod whose workload a target can name", () => {
  const WEB: TargetSelector = { kind: "Pod", selector: { matchLabels: { tier: "web" } } };
  const labels = { tier: "web", "pod-template-hash": "5d" };
  const owner = { group: "apps", kind: "ReplicaSet", name: "web-5d", uid: "rs" };

  it("belongs to the target that names it", async () => {
    const scene = new Shop({}, [WEB, { kind: "Deployment", name: "web" }, WEB]);
    scene.workloadList = [workload({ replicas: 2 })];
    scene.add("a", { labels, owner });
    scene.add("b", { labels: { "pod-template-hash": "5d" }, owner });
    const pass = await scene.sick("b");
    expect(pass.lists?.targets).toMatchObject([{ kind: "Deployment", name: "web", pods: 2, rejectedPods: 1 }]);
    expect(pass.intents).toMatchObject([{ target: { name: "b" }, restart: { workload: "Deployment/web" } }]);
  });

  it("has the budgets of that workload, and its other pods are left alone", async () => {
    const scene = new Shop({}, [WEB]);
    scene.workloadList = [workload({ replicas: 2 })];
    scene.add("a", { labels, owner });
    scene.add("b", { labels: { "pod-template-hash": "5d" }, owner });
    const pass = await scene.sick("a", "b");
    expect(pass.lists?.targets).toMatchObject([{ kind: "Deployment", name: "web", pods: 1, rejectedPods: 1 }]);
    expect(pass.intents).toMatchObject([{ target: { name: "a" }, restart: { workload: "Deployment/web" } }]);
  });

  it("is not replaced by a pod that no target selects, and a person must act", async () => {
    const scene = new Shop({}, [WEB]);
    scene.workloadList = [workload({ replicas: 1 })];
    for (const name of ["a", "b"]) scene.add(name, { labels, owner });
    scene.add("c", { labels: { "pod-template-hash": "5d" }, owner });
    scene.execute(await scene.sick("a"));
    scene.add("d", { labels: { "pod-template-hash": "5d" }, owner }, 0);
    expect(await scene.passes(25)).toMatchObject({ reason: "NotRecreated", intents: [] });
  });

  it("keeps that workload's rules, such as the skip annotation", async () => {
    const scene = new Shop({}, [WEB]);
    scene.workloadList = [workload({ skip: true })];
    scene.add("a", { labels, owner });
    expect(await scene.sick("a")).toMatchObject({ reason: "Rejected", intents: [] });
  });

  it("costs one list of each kind, however many owners there are", async () => {
    const scene = new Shop({}, [WEB]);
    scene.workloadList = ["web", "api"].map(name => workload({ name, uid: name }));
    scene.add("a", { labels, owner });
    scene.add("b", { labels, owner: { ...owner, name: "api-5d" } });
    const lists: string[] = [];
    const list = scene.workloads.bind(scene);
    scene.workloads = kind => {
      lists.push(kind);
      return list(kind);
    };
    expect((await scene.pass()).lists?.targets).toMatchObject([{ name: "api" }, { name: "web" }]);
    expect(lists).toEqual(["Deployment"]);
  });

  it("is not restarted while that workload may not be read", async () => {
    const scene = new Shop({}, [WEB]);
    scene.add("a", { labels, owner });
    scene.failing.workload = new ForbiddenError("may not get deployments");
    const pass = await scene.sick("a");
    expect(pass).toMatchObject({ status: "Unknown", reason: "Forbidden", intents: [] });
  });
});

describe("an owner of unknown kind", () => {
  /** Two pods are rejected, and one was evicted. */
  async function evicted(spec: Partial<TokenRestartSpec> = {}): Promise<Shop> {
    const scene = new Shop({ cooldown: "30s", ...spec });
    for (const name of ["a", "b", "c"]) scene.add(name);
    scene.execute(await scene.sick("a", "b"));
    expect(scene.podList).toHaveLength(2);
    return scene;
  }

  it("that does not recreate a pod stops the restarts after two minutes, and a person must act", async () => {
    const scene = await evicted();
    const log = (): void => scene.log(UNAUTHORIZED, "b");
    expect(await scene.passes(22, log)).toMatchObject({ reason: "RestartDeferred", intents: [] });
    const pass = await scene.passes(3, log);
    expect(pass).toMatchObject({ reason: "NotRecreated", intents: [], stalled: { reason: "NotRecreated" } });
    expect(pass.message).toContain(
      "CloneSet.apps.kruise.io/shop: evicted pod a, and no pod that the targets select replaced it within 2m",
    );
    scene.clock.advance(3_600_000);
    expect(await scene.sick("b")).toMatchObject({ reason: "NotRecreated", intents: [] });
    scene.failOver();
    expect(await scene.sick("b")).toMatchObject({ reason: "NotRecreated", intents: [] });
  });

  it("may still recreate it, which ends the wait", async () => {
    const scene = await evicted();
    await scene.passes(30);
    scene.add("d", {}, 0);
    scene.log("started", "d");
    const pass = await scene.passes(30, () => {
      scene.log("fine", "d");
      scene.log(UNAUTHORIZED, "b");
    });
    expect(pass.restarts).toMatchObject([{ pod: "a", outcome: "Recovered" }]);
    expect(pass.intents).toMatchObject([{ target: { name: "b" } }]);
  });

  it("that was scaled down is restarted again after a change of the spec, and the restart counts as ineffective", async () => {
    const scene = await evicted();
    expect((await scene.sick("b")).reason).toBe("RestartDeferred");
    expect((await scene.sick("b")).reason).toBe("NotRecreated");
    scene.object = { ...scene.object, metadata: { ...scene.object.metadata, generation: 2 } };
    const pass = await scene.sick("b");
    expect(pass.restarts).toMatchObject([{ pod: "a", outcome: "Ineffective" }]);
    expect(pass.intents).toMatchObject([{ target: { name: "b" } }]);
  });

  it("is not believed before it has recreated one pod, whatever maxUnavailable is", async () => {
    const scene = await evicted({ maxUnavailable: 3 });
    const log = (): void => scene.log(UNAUTHORIZED, "b");
    const pass = await scene.passes(12, log);
    expect(pass).toMatchObject({ reason: "RestartDeferred", intents: [] });
    expect(pass.message).toContain("until the successor of pod a is healthy (its owner must replace one pod first)");
  });

  it("is not blamed while the evicted pod terminates", async () => {
    const scene = await evicted();
    scene.add("a", { deletedAtMs: scene.clock.now().getTime() });
    expect((await scene.passes(30)).reason).toBe("Restarting");
  });
});
