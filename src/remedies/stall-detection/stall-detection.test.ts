import { beforeEach, describe, expect, it } from "vitest";
import type { PodView } from "../../core/views";
import { Holders } from "./lease-judge";
import { lease, Scene, workload } from "./testing/scene";

let scene: Scene;
beforeEach(() => {
  scene = new Scene();
});

const owner = { kind: "StatefulSet", name: "web", uid: "s" };
const LONG = "w".repeat(62);
const UNAUTHORIZED = "E0101 12:00:00.000000       1 reflector.go:147] Failed to watch *v1.Pod: Unauthorized";

describe("a Lease that is no longer renewed", () => {
  it("is reported after `for`, within one reading, and not before", async () => {
    await scene.hang();
    expect(await scene.run(290)).toMatchObject({ status: "True", reason: "Active" });
    const pass = await scene.run(20);
    expect(pass).toMatchObject({ status: "False", reason: "LeaseNotRenewed", intents: [] });
    expect(pass.message).toBe("Pod web-5d-a holds Lease team/web and no longer renews it.");
    expect(scene.object.status?.stalls).toMatchObject([
      { workload: "Deployment/web", evidence: "Lease", pod: "web-5d-a", lease: "team/web" },
    ]);
  });

  it("asks for a pass at the time when it may be stale", async () => {
    await scene.hang();
    expect((await scene.run(200)).recheckAfterMs).toBe(301_000 - 200_000);
  });

  it("needs four durations of the Lease, however short `for` is", async () => {
    scene = new Scene({ for: "1m" });
    scene.leaseList = [lease({ holder: "web-5d-a_0b5c", durationMs: 60_000 })];
    await scene.hang();
    expect((await scene.run(230)).reason).toBe("Active");
    expect((await scene.run(20)).reason).toBe("LeaseNotRenewed");
  });

  it("tells of 401s in the log of its holder, which need no duration of their own", async () => {
    await scene.hang();
    await scene.run(300);
    scene.log(UNAUTHORIZED);
    expect((await scene.run(30)).message).toContain("and its requests get 401 responses");
  });

  it("does not take the 401s of others for its own, such as those that Cluster API gets from other clusters", async () => {
    scene.workloadList = [workload({ logsForeign401s: true })];
    await scene.hang();
    await scene.run(300);
    scene.log(UNAUTHORIZED);
    expect((await scene.run(30)).message).toMatch(/no longer renews it\.$/);
  });

  it.each<[string, string, readonly [string, Partial<PodView>?][]]>([
    ["web-5d-a", "web-5d-a-external-web-controller", [["web-5d-a"]]],
    ["web-5d-a", "worker-1-k8mxq2zplw", [["web-5d-a", { hostNetwork: true, nodeName: "worker-1" }]]],
    [`${LONG}-5d-a`, `${LONG}_0b5c`, [[`${LONG}-5d-a`]]],
    ["nobody", "web-5d-abc", [["web-5d-a"]]],
    ["nobody", "web-5d-a.external", [["web-5d-a"]]],
    ["nobody", "web-5d-a-x", [["web-5d"], ["web-5d-a"]]],
    ["nobody", "web-0-0_1f", [["web-0", { owner }]]],
    ["nobody", "web-0-5d9c7b-k2xq8_1f", [["web-0", { owner }]]],
    ["nobody", "web-0-proxy-5d9c7b-k2xq8_1f", [["web-0", { owner }]]],
  ])("is held by %s if its holder is %s, of the pods %j", (found, holder, pods) => {
    const views = pods.map(([name, over]) => scene.pod(name, over));
    expect(new Holders(views, views).of({ holder }, true)?.name ?? "nobody").toBe(found);
  });

  it("is held by nobody if a pod that is no target has the same host name, which was cut", async () => {
    const other = { owner: { kind: "ReplicaSet", name: "other-77", uid: "rs-other" } };
    scene.podList = [scene.pod(`${LONG}-5d-a`), scene.pod(`${LONG}-77-x`, other)];
    scene.renewer = `${LONG}_0b5c`;
    scene.leaseList = [lease({ holder: scene.renewer })];
    await scene.hang();
    expect(await scene.run(320)).toMatchObject({ status: "True", intents: [] });
  });

  it("of a pod in the network of its node counts only if the spec lists it", async () => {
    const agent = scene.pod("web-5d-a", { hostNetwork: true, nodeName: "node-1" });
    for (const leases of [[], [{ namespace: "team", name: "web" }]]) {
      scene = new Scene({ leases });
      scene.podList = [agent];
      scene.renewer = "node-1_0b5c";
      scene.leaseList = [lease({ holder: "node-1_0b5c" })];
      await scene.hang();
      expect((await scene.run(320)).reason).toBe(leases.length === 0 ? "Active" : "LeaseNotRenewed");
    }
  });

  it("is reported, and causes no restart, if it was released after an hour and no pod takes it, also by a new leader", async () => {
    scene = new Scene({ onStall: "Restart" });
    scene.podList.push(scene.pod("web-5d-b"));
    scene.logs.write("web-5d-b", "main");
    await scene.run(120);
    scene.log("INFO  Elector - web-5d-a_0b5c stopped leading, releasing lease team/web");
    scene.renewer = undefined;
    scene.release();
    expect(await scene.run(290)).toMatchObject({ status: "True", reason: "Active" });
    const accused = {
      ...{ status: "False", reason: "LeaseNotRenewed", stalled: { reason: "LeaseNotRenewed" }, intents: [] },
      message: "Pod web-5d-a released Lease team/web, and no pod has taken it since.",
    };
    expect(await scene.run(20)).toMatchObject(accused);
    scene.failOver();
    expect(await scene.run(3_600)).toMatchObject(accused);
    scene.lead("web-5d-b_77aa");
    expect(await scene.run(10)).toMatchObject({ status: "True", reason: "Active" });
  });

  it("is told of if it stands still since before the operator leads, unless its pod renews another one", async () => {
    const note = "holds Lease team/web, and has not renewed it since the operator leads";
    await scene.hang();
    scene.failOver();
    expect((await scene.run(200)).message).not.toContain(note);
    const pass = await scene.run(200);
    expect(pass).toMatchObject({ status: "True", reason: "Active", intents: [] });
    expect(pass.message).toContain(note);
    scene.leaseList.push(lease({ name: "shard", uid: "s", holder: "web-5d-a_1" }));
    scene.renewer = "web-5d-a_1";
    expect((await scene.run(60)).message).not.toContain(note);
  });

  it("is not excused by another one that its pod has released", async () => {
    scene.leaseList.push(lease({ name: "shard", uid: "s", holder: "web-5d-a_0b5c" }));
    await scene.hang();
    await scene.run(280);
    scene.take("", "shard");
    expect((await scene.run(30)).reason).toBe("LeaseNotRenewed");
  });

  it("is reported until it is renewed", async () => {
    await scene.hang();
    await scene.run(320);
    scene.renewer = "web-5d-a_0b5c";
    expect(await scene.run(10)).toMatchObject({ status: "True", reason: "Active" });
    expect(scene.object.status?.stalls).toEqual([]);
  });
});

describe("innocent", () => {
  const isInnocent = async (seconds = 900): Promise<void> => {
    const pass = await scene.run(seconds, () => undefined);
    expect(pass).toMatchObject({ status: "True", intents: [] });
  };

  it("a rolling update: the holder is gone, and a new pod takes over", async () => {
    await scene.hang();
    scene.podList = [
      { ...scene.pod("web-5d-a"), deletedAtMs: scene.nowMs },
      scene.pod("web-5d-b", { createdAtMs: scene.nowMs }),
    ];
    await scene.run(300);
    scene.podList = scene.podList.slice(1);
    await isInnocent();
    scene.lead("web-5d-b_77aa");
    await isInnocent();
  });

  it("scale to zero and back, also of a StatefulSet whose pod has the same name", async () => {
    scene.workloadList = [workload({ kind: "StatefulSet", uid: "s" })];
    scene.object = { ...scene.object, spec: { ...scene.object.spec, targets: [{ kind: "StatefulSet", name: "web" }] } };
    scene.renewer = "web-0";
    scene.leaseList = [lease({ holder: "web-0" })];
    scene.podList = [scene.pod("web-0", { owner })];
    await scene.hang();
    scene.podList = [];
    await isInnocent();
    scene.podList = [scene.pod("web-0", { owner, uid: "again", createdAtMs: scene.nowMs })];
    scene.logs.write("web-0", "main");
    const pass = await scene.run(600, () => scene.log(UNAUTHORIZED, "web-0"));
    expect(pass).toMatchObject({ status: "True", intents: [] });
  });

  it("a leader that hands over to another pod, or to nobody", async () => {
    scene.podList.push(scene.pod("web-5d-b"));
    await scene.run(120);
    scene.lead("web-5d-b_77aa");
    await isInnocent();
    scene.take("");
    scene.renewer = undefined;
    await isInnocent();
  });

  it.each<[string, () => void, string?]>([
    ["that ends", () => (scene.podList = scene.podList.map(pod => ({ ...pod, deletedAtMs: scene.nowMs })))],
    ["that is gone", () => (scene.podList = [scene.pod("web-5d-b", { createdAtMs: scene.nowMs })])],
    ["whose container starts again, perhaps without leader election", () => scene.restartContainer("web-5d-a")],
    ["that renews another", () => (scene.renewer = "web-5d-a_1")],
    ["that took it less than an hour ago", () => undefined, "2025-01-01T11:30:00.000000Z"],
  ])("a Lease that is released and not taken, by a pod %s", async (_, change, acquired = lease().acquired ?? "") => {
    scene.leaseList = [lease({ holder: "web-5d-a_0b5c", acquired })];
    scene.leaseList.push(lease({ name: "shard", uid: "s", holder: "web-5d-a_1" }));
    await scene.hang();
    scene.release();
    change();
    await isInnocent(3_600);
  });

  it("unknown: while Leases can't be read nothing new is accused, and time does not count", async () => {
    await scene.hang();
    await scene.run(200);
    scene.isDown = true;
    expect(await scene.run(900)).toMatchObject({ status: "Unknown", reason: "ObserveFailed", intents: [] });
    scene.isDown = false;
    expect(await scene.run(60)).toMatchObject({ status: "True" });
  });

  it("a lock: a Lease that is taken and released, and never renewed", async () => {
    scene.renewer = undefined;
    await scene.run(120);
    for (const process of ["1", "2", "3", "3", "3", "3", "3", "3"]) {
      scene.take("");
      await scene.run(20);
      scene.take(`web-5d-a_${process}`);
      await scene.run(30);
    }
    // Taken back by the same process between two readings.
    for (let i = 0; i < 6; i++) {
      scene.take("web-5d-a_3");
      await scene.run(10);
    }
    await isInnocent(3_600);
  });

  it("a Lease that the operator has seen renewed fewer than four times", async () => {
    await scene.run(30);
    scene.renewer = undefined;
    await isInnocent(3_600);
  });

  it("a Lease without a duration, which nobody could take over", async () => {
    const { durationMs, ...rest } = lease({ holder: "web-5d-a_0b5c" });
    expect(durationMs).toBe(15_000);
    scene.leaseList = [rest];
    await scene.hang();
    await isInnocent();
  });

  it("leader election switched off by an upgrade: the old Lease stays, by a new pod or a new process", async () => {
    await scene.hang();
    scene.restartContainer("web-5d-a");
    const pass = await scene.run(900);
    expect(pass).toMatchObject({ status: "True", reason: "Active", intents: [] });
    expect(pass.message).toContain(
      "Lease team/web is no longer renewed, and pod web-5d-a restarted a container or was away since",
    );
    scene.podList = [
      scene.pod("web-77-a", { createdAtMs: scene.nowMs, owner: { kind: "ReplicaSet", name: "web-77", uid: "r" } }),
    ];
    await isInnocent();
  });

  it("another program with a Lease in the same namespace", async () => {
    scene.leaseList.push(lease({ name: "other", uid: "o", holder: "other-5d-a_1" }));
    await isInnocent();
  });
});

describe("a program whose process restarted after it lost its Lease", () => {
  it("is reported once its log shows that its requests fail", async () => {
    await scene.hang();
    scene.restartContainer("web-5d-a");
    const pass = await scene.run(320, () => scene.log(UNAUTHORIZED));
    expect(pass).toMatchObject({ status: "False", reason: "LeaseNotRenewed" });
  });
});

describe("a new leader of the operator", () => {
  it("takes a stale Lease for no other that the pod renews, if an API server first shows it as it was before", async () => {
    await scene.hang();
    expect(await scene.run(320)).toMatchObject({ reason: "LeaseNotRenewed" });
    const now = scene.leaseList;
    scene.failOver();
    scene.leaseList = now.map(one => ({ ...one, holder: "gone", resourceVersion: "1" }));
    await scene.leases("team");
    scene.leaseList = now;
    scene.time.advance(10_000);
    await scene.leases("team", 0);
    expect(await scene.pass()).toMatchObject({ status: "False", reason: "LeaseNotRenewed" });
  });

  it("drops entries of evidence that this version does not know, since the API server would refuse the status", async () => {
    const entry = { workload: "Deployment/web", since: "2025-01-01T12:00:00Z", lease: "team/web" };
    const [stale, later] = [
      { ...entry, evidence: "Lease" },
      { ...entry, evidence: "Later" },
    ];
    scene.object.status = { stalls: [stale, later] } as never;
    scene.isDown = true;
    expect((await scene.run(900)).lists).toEqual({ stalls: [stale] });
  });
});
