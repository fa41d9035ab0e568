import { beforeEach, describe, expect, it } from "vitest";
import { ForbiddenError, NotYetError, TransientError } from "../../core/errors";
import type { Outcome } from "../../core/intent";
import type { LeaseView } from "../../core/leases";
import type { PodView } from "../../core/views";
import { restartAt } from "../../restarts/testing/history";
import { binding, lease, Scene, workload, type ScenePass } from "./testing/scene";

let scene: Scene;
beforeEach(() => {
  scene = new Scene({ onStall: "Restart" });
});

/** The process hangs, and its Lease is stale. */
async function stall(): Promise<ScenePass> {
  await scene.hang();
  return scene.run(310);
}

/** The API server denies the renewal. */
const DENIED =
  'error retrieving resource lock team/web: leases.coordination.k8s.io "web" is forbidden: User "system:serviceaccount:team:web" cannot get resource "leases" in API group "coordination.k8s.io" in the namespace "team"';

/** The Deployment is rolled out. */
function rollOut(): void {
  const rollout = { strategy: "RollingUpdate", isComplete: false, isInProgress: true } as const;
  scene.workloadList = [workload({ rollout })];
}

/** The evicted pod is replaced; the successor takes the Lease, and renews it if it works. */
function replace(name: string, works: boolean): void {
  scene.replace(name);
  if (works) scene.lead(`${name}_1`);
}

/** The pod is evicted. */
async function evicted(): Promise<void> {
  scene.executed(await stall());
}

/** Time passes; then the restarts in status have this outcome. */
async function after(seconds: number, outcome: string, each?: () => void): Promise<ScenePass> {
  const pass = await scene.run(seconds, each);
  expect(scene.object.status?.restarts?.map(one => one.outcome)).toEqual([outcome]);
  return pass;
}

/** The targets are this workload instead. Returns the owner of its pods. */
function become(kind: "StatefulSet" | "DaemonSet", replicas: number) {
  scene.object.spec.targets = [{ kind, name: "web" }];
  scene.workloadList = [workload({ kind, replicas })];
  return { owner: { kind, name: "web", uid: "w" } };
}

const renewSecond = (): void => scene.renew("web-5d-b_1");

/** Another pod holds a Lease of its own, and both have renewed theirs for two minutes. */
async function withSecond(): Promise<void> {
  scene.podList.push(scene.pod("web-5d-b"));
  scene.leaseList.push(lease({ name: "b", uid: "lb", holder: "web-5d-b_1" }));
  await scene.run(120, renewSecond);
}

describe("onStall: Restart", () => {
  it("leaves the pods of a workload to an older object that restarts them, and names it", async () => {
    scene.share("older");
    const pass = await stall();
    expect(pass).toMatchObject({ reason: "Conflict", intents: [], stalled: { reason: "Conflict" } });
    expect(pass.message).toContain("ControllerResilience older acts on its pods");
    scene.objects = () => Promise.resolve([scene.object]);
    expect((await scene.pass()).intents).toHaveLength(1);
  });

  it("waits while the restart of another pod of the workload by tokenRestart has no outcome, and tells of none", async () => {
    const time = new Date(scene.nowMs).toISOString();
    const open = { pod: "web-5d-x", podUID: "x", workload: "Deployment/web", time, cause: "SigningKeyRotated" };
    scene.object = { ...scene.object, status: { restarts: [{ ...open, outcome: "Restarted" }] } };
    expect((await scene.pass()).reason).toBe("Active");
    const pass = await stall();
    expect(pass).toMatchObject({ reason: "RestartDeferred", intents: [] });
    expect(pass.message).toContain("Waiting until the successor of pod web-5d-x is healthy");
    scene.object = { ...scene.object, status: { restarts: [{ ...open, outcome: "Recovered" }] } };
    expect((await scene.pass()).intents).toHaveLength(1);
  });

  it("evicts the pod with uid, cause and the limits of tokenRestart's defaults", async () => {
    const pass = await stall();
    expect(pass.intents).toMatchObject([
      {
        verb: "evict",
        target: { name: "web-5d-a", uid: "uid-web-5d-a" },
        restart: {
          ...{ workload: "Deployment/web", cause: "LeaseNotRenewed", workedMs: expect.any(Number) as number },
          limits: { cooldownMs: 600_000, maxRestarts: 3 },
        },
      },
    ]);
    const report = (outcome: Outcome) => scene.report(pass, outcome);
    expect(report({ result: "Executed" })).toMatchObject({ status: "False", reason: "Restarting", progressing: true });
    expect(report({ result: "Blocked", message: "budget", retryAfterMs: 1 }).reason).toBe("RestartBlocked");
    expect(report({ result: "Limited", limit: "Breaker", retryAfterMs: 1 }).reason).toBe("BreakerTripped");
    expect(report({ result: "Limited", limit: "UnprovenRestart", retryAfterMs: 1 }).reason).toBe("RestartDeferred");
    expect(report({ result: "Forbidden", message: "no" }).reason).toBe("Forbidden");
  });

  it("of a pod that is refused gives its turn to the next, and each reason is said of its own pod", async () => {
    await withSecond();
    const { intents } = await stall();
    expect(intents).toMatchObject([{ target: { name: "web-5d-b" } }]);
    const refused = { outcome: { result: "Failed", message: "webhook" }, untilMs: Infinity } as const;
    scene.pending = intents.map(({ restart }) => ({ restart: restart!, ...refused }));
    const next = await scene.pass();
    expect(next.intents).toMatchObject([{ target: { name: "web-5d-a" } }]);
    expect(next.message).toContain("Lease team/web and no longer renews it. The operator is about to evict the pod.");
  });

  it("of a pod that is denied its Lease keeps the next from its turn, which has the same ServiceAccount", async () => {
    await withSecond();
    scene.logs.write("web-5d-b", "main");
    scene.renewer = undefined;
    await scene.run(30, renewSecond);
    const pass = await scene.run(600, () => scene.log(DENIED));
    expect(pass).toMatchObject({ intents: [], stalled: { reason: "LeaseNotRenewed" } });
  });

  it("of a pod that is denied its Lease names the binding that went", async () => {
    scene.bindingList = [binding()];
    await scene.hang();
    scene.bindingList = [];
    const pass = await scene.run(320, () => scene.log(DENIED));
    expect(pass.message).toContain(
      "restore its permissions on Leases: RoleBinding web-rights (Role rights) was deleted",
    );
  });

  it("of a pod without a log waits while a binding is gone that went as its renewals stopped, also under a new leader", async () => {
    scene.bindingList = [binding()];
    await scene.hang();
    scene.bindingList = [];
    const pass = await scene.run(320);
    expect(pass).toMatchObject({ intents: [], stalled: { reason: "LeaseNotRenewed" } });
    expect(pass.message).toContain(
      "Not restarted: RoleBinding web-rights (Role rights) was deleted at 2025-01-01T12:02:00Z as it stopped. Restore it, or delete the pod.",
    );
    expect(scene.object.status?.stalls).toMatchObject([{ evidence: "Lease", lost: "RoleBinding web-rights" }]);
    scene.failOver();
    const next = await scene.run(120);
    expect(next).toMatchObject({ intents: [], stalled: { reason: "LeaseNotRenewed" } });
    expect(next.message).toContain("Not restarted: RoleBinding web-rights was lost as it stopped.");
    scene.bindingList = [binding()];
    const back = await scene.run(290);
    expect(back.intents).toEqual([]);
    expect(back.message).toContain("was lost as it stopped. It is back: the pod has time to renew.");
    expect((await scene.run(20)).intents).toHaveLength(1);
  });

  it("needs no bindings where neither Leases nor 403s are evidence", async () => {
    scene = new Scene({ onStall: "Restart", evidence: ["LeaderLoss"] });
    scene.failing = { RoleBinding: new ForbiddenError("list rolebindings") };
    expect(await scene.run(20)).toMatchObject({ status: "True" });
  });

  it("does not wait for a binding that another one of its role has followed", async () => {
    scene.bindingList = [binding()];
    await scene.hang();
    scene.bindingList = [binding({ name: "renamed" })];
    expect((await scene.run(320)).intents).toHaveLength(1);
  });

  it("does not wait for a binding without which the pod has renewed its Lease", async () => {
    const kept = binding({ name: "kept" });
    scene.bindingList = [binding(), kept];
    await scene.run(120);
    scene.bindingList = [kept];
    await scene.hang();
    expect((await scene.run(320)).intents).toHaveLength(1);
  });

  it("of a pod whose container keeps restarting gives its turn to the next", async () => {
    await withSecond();
    scene.logs.write("web-5d-b", "main");
    scene.renewer = undefined;
    await scene.run(320, renewSecond);
    const pass = await scene.run(620, () => scene.restartContainer("web-5d-a"));
    expect(pass.intents).toMatchObject([{ target: { name: "web-5d-b" } }]);
  });

  it("for a Lease gives its turn to one for a queue once it is used up", async () => {
    scene = new Scene({ onStall: "Restart", metrics: {} });
    await withSecond();
    scene.logs.write("web-5d-b", "main");
    const inVain = [300, 200].map(minutes =>
      restartAt(scene.nowMs - 60_000 * minutes, {
        ...{ workload: "Deployment/web", cause: "LeaseNotRenewed", outcome: "Ineffective" },
      }),
    );
    scene.object = { ...scene.object, status: { restarts: inVain } };
    scene.renewer = undefined;
    scene.pages.set("web-5d-b", { isLeader: true, queues: [{ name: "a", depth: 12, done: 90, slowestSeconds: 1 }] });
    const pass = await scene.run(1_000, renewSecond);
    expect(pass.intents).toMatchObject([{ restart: { pod: "web-5d-b", cause: "ProgressStopped" } }]);
  });

  it("waits while Leases that the pod may renew cannot be listed", async () => {
    scene = new Scene({ onStall: "Restart", leases: [{ namespace: "other", name: "b" }] });
    scene.leaseList.push(lease({ namespace: "other", name: "b", uid: "lb", holder: "web-5d-b_1" }));
    await scene.hang();
    expect((await scene.run(320)).intents).toHaveLength(1);
    const list = scene.leases.bind(scene);
    const unread = { leases: [], intervalMs: 10_000, unknown: { forbidden: false, message: "timed out" } };
    scene.leases = (namespace, ageMs) => (namespace === "other" ? Promise.resolve(unread) : list(namespace, ageMs));
    const pass = await scene.run(20);
    expect(pass.intents).toEqual([]);
    expect(pass.message).toContain("Restart deferred: the operator has not watched the Lease for long enough");
  });

  it("of a pod whose log cannot be read gives its turn to the next", async () => {
    await withSecond();
    scene.logs.before = ({ pod }) => (pod === "web-5d-a" ? Promise.reject(new TransientError("timed out")) : undefined);
    await scene.run(620, renewSecond);
    scene.renewer = undefined;
    await scene.run(20, renewSecond);
    expect((await scene.run(320)).intents).toMatchObject([{ target: { name: "web-5d-b" } }]);
  });

  it("does not begin with the next while the requests of the first are refused", async () => {
    await withSecond();
    scene.renewer = undefined;
    const tooMany = "kubernetes.client.exceptions.ApiException: (429) Reason: Too Many Requests";
    const pass = await scene.run(320, () => scene.log(tooMany));
    expect(pass.intents).toEqual([]);
    expect(pass.message).toContain("Restart deferred: the API server refuses its requests with 429");
  });

  it.each([new TransientError("get pods/log: timed out"), new ForbiddenError("get pods/log: forbidden (403)")])(
    "waits until a new leader of the operator has read the log, which may show why requests fail: %s",
    async error => {
      await scene.hang();
      const tooMany = "kubernetes.client.exceptions.ApiException: (429) Reason: Too Many Requests";
      expect((await scene.run(320, () => scene.log(tooMany))).message).toContain("refuses its requests with 429");
      scene.failOver();
      scene.logs.before = () => Promise.reject(error);
      await scene.pass().catch((notYet: unknown) => expect(notYet).toBeInstanceOf(NotYetError));
      scene.time.advance(3_000);
      const pass = await scene.run(120);
      expect(pass).toMatchObject({ reason: "RestartDeferred", intents: [] });
      scene.logs.before = () => undefined;
      expect((await scene.run(60)).intents).toHaveLength(1);
    },
  );

  it("is Restarting, not Active, until the successor renews a Lease", async () => {
    await evicted();
    replace("web-5d-b", false);
    expect(await scene.run(10)).toMatchObject({ status: "False", reason: "Restarting", progressing: true });
    replace("web-5d-b", true);
    expect(await scene.run(60)).toMatchObject({ status: "True", reason: "Active" });
  });

  it("is Stalled after an hour if no successor is created", async () => {
    await evicted();
    scene.podList = [];
    expect((await scene.wait(3_500)).stalled).toBeUndefined();
    expect(await scene.wait(200)).toMatchObject({ reason: "Restarting", progressing: false });
    expect((await scene.pass()).stalled?.message).toContain("see kubectl describe");
  });

  it("is not Recovered by the first renewals, since some programs hang right after each start", async () => {
    await evicted();
    replace("web-5d-b", true);
    await scene.run(40);
    scene.renewer = undefined;
    await after(550, "Restarted");
    await after(10, "Ineffective");
  });

  it("is not Ineffective while a pod that took the Lease late has the time to renew it, but after half an hour", async () => {
    await evicted();
    replace("web-5d-b", false);
    await scene.run(590);
    scene.take("web-5d-b_1");
    await after(10, "Restarted");
    let takes = 0;
    await after(1_190, "Restarted", () => scene.take(`web-5d-b_${++takes}`));
    await after(20, "Ineffective", () => scene.take(`web-5d-b_${++takes}`));
  });

  it("that did not help is told for a day, until a pod holds a Lease: no holder shows that none leads", async () => {
    await evicted();
    replace("web-5d-b", false);
    const pass = await scene.run(610);
    expect(pass).toMatchObject({ status: "False", reason: "LeaseNotRenewed", stalled: { reason: "LeaseNotRenewed" } });
    expect(pass.message).toBe(
      "Restarting pod web-5d-a of Deployment/web did not help: no pod of it has taken its Lease since; see why in their logs.",
    );
    scene.isDown = true;
    expect((await scene.run(200)).message).not.toContain("did not help");
    scene.isDown = false;
    scene.failOver();
    expect((await scene.run(20)).reason).toBe("LeaseNotRenewed");
    const [left] = scene.leaseList as [LeaseView];
    scene.take("web-5d-b_1");
    expect((await scene.run(10)).reason).toBe("Active");
    scene.leaseList = [left];
    scene.replace("web-5d-c");
    expect((await scene.run(10)).reason).toBe("LeaseNotRenewed");
    scene.release();
    expect((await scene.run(10)).reason).toBe("LeaseNotRenewed");
    const replaced = scene.podList;
    scene.podList = [];
    expect((await scene.run(10)).reason).toBe("NothingToDo");
    scene.podList = replaced;
    scene.time.advance(86_400_000);
    expect((await scene.run(10)).reason).toBe("Active");
  });

  it("that did not help is not told of a standby whose Lease a pod of another workload has taken", async () => {
    await evicted();
    replace("web-5d-b", false);
    scene.lead("green-6f-a_1");
    expect((await after(610, "Ineffective")).reason).toBe("Active");
  });

  it("that did not help is not told for the Lease of a pod whose name begins with that of the restarted one", async () => {
    const { owner } = become("StatefulSet", 1);
    scene.podList = [scene.pod("web-1", { owner })];
    scene.lead("web-1");
    await evicted();
    scene.leaseList.push(lease({ name: "task", uid: "lt", holder: "web-10" }));
    scene.podList = [
      scene.pod("web-1", { owner, uid: "successor", createdAtMs: scene.nowMs }),
      scene.pod("web-10", { owner }),
    ];
    scene.lead("green-6f-a_1");
    expect((await after(610, "Ineffective")).reason).toBe("Active");
  });

  it("that did not help is told although its successor has the name of the holder", async () => {
    await evicted();
    scene.podList = [scene.pod("web-5d-a", { createdAtMs: scene.nowMs, uid: "successor" })];
    expect((await scene.run(610)).message).toContain("did not help");
    scene.renewer = "web-5d-a_0b5c";
    expect((await scene.run(10)).reason).toBe("Active");
  });

  it("is not Recovered while the pod that renews is not Ready", async () => {
    await evicted();
    replace("web-5d-b", true);
    const setReady = (ready: boolean): void => void (scene.podList = scene.podList.map(pod => ({ ...pod, ready })));
    setReady(false);
    await after(120, "Restarted");
    setReady(true);
    await after(10, "Recovered");
  });

  it("says nothing about whether restarts help if a person scales the workload to zero meanwhile", async () => {
    await evicted();
    scene.podList = [];
    scene.workloadList = [workload({ replicas: 0 })];
    const pass = await after(0, "Replaced");
    expect(pass.events).toMatchObject([{ type: "Normal", reason: "PodReplaced" }]);
    scene.workloadList = [workload()];
    await after(700, "Replaced");
  });

  it.each<[string, string, (pod: Partial<PodView>) => void]>([
    ["the node of a DaemonSet goes", "Replaced", () => become("DaemonSet", 1)],
    [
      "its successor finds no room on the node",
      "Ineffective",
      pod => scene.podList.push(scene.pod("web-5d-c", { ...pod, createdAtMs: scene.nowMs, ready: false })),
    ],
    ["a person deletes the workload", "Replaced", () => ([scene.podList, scene.workloadList] = [[], []])],
  ])("has an outcome after ten minutes if %s meanwhile: %s", async (_, outcome, happens) => {
    const pod = { ...become("DaemonSet", 2), nodeName: "node-1" };
    scene.podList = [scene.pod("web-5d-a", pod), scene.pod("web-5d-b", { ...pod, nodeName: "node-2" })];
    await evicted();
    scene.podList = scene.podList.slice(1);
    happens(pod);
    await after(590, "Restarted");
    const { events } = await after(10, outcome);
    expect(events).toMatchObject([{ reason: outcome === "Replaced" ? "PodReplaced" : "RestartIneffective" }]);
  });

  it.each<[string, () => void, string]>([
    ["the skip annotation", () => (scene.podList = [{ ...scene.podList[0]!, skip: true }]), "LeaseNotRenewed"],
    ["a rollout", rollOut, "RestartDeferred"],
  ])("waits or leaves the pod alone: %s", async (_, arrange, reason) => {
    arrange();
    expect(await stall()).toMatchObject({ status: "False", reason, intents: [] });
  });

  const TOO_MANY = "the server has received too many requests and has asked us to try again later";

  it.each<[string, object, string]>([
    [DENIED, { reason: "LeaseNotRenewed" }, "A restart cannot help"],
    [
      `error retrieving resource lock team/web: ${TOO_MANY} (get leases.coordination.k8s.io web)`,
      { reason: "RestartDeferred", progressing: true },
      "refuses its requests with 429",
    ],
  ])(
    "waits while the API server answers the pod with errors, and follows if that ends: %s",
    async (line, expected, message) => {
      await scene.hang();
      const pass = await scene.run(320, () =>
        scene.log(`E0101 12:00:00.000000       1 leaderelection.go:330] ${line}`),
      );
      expect(pass).toMatchObject({ status: "False", intents: [], ...expected });
      expect(pass.message).toContain(message);
      expect((await scene.run(120)).intents).toHaveLength(1);
    },
  );

  it("that waits for the end of refusals needs a person after an hour", async () => {
    await scene.hang();
    const pass = await scene.run(4_000, () => scene.log(`failed to list *v1.Pod: ${TOO_MANY} (get pods)`));
    expect(pass).toMatchObject({ reason: "RestartDeferred", stalled: { reason: "RestartDeferred" }, intents: [] });
  });

  it("does not wait because of a single refusal", async () => {
    await scene.hang();
    await scene.run(280);
    scene.log(`failed to list *v1.Pod: ${TOO_MANY} (get pods)`);
    expect((await scene.run(30)).intents).toHaveLength(1);
  });

  it("in Observe mode says what it would do", async () => {
    scene.object = { ...scene.object, spec: { ...scene.object.spec, mode: "Observe" } };
    const pass = await stall();
    expect(pass).toMatchObject({ reason: "WouldRestart" });
    expect(pass.message).toContain("In Enforce mode the operator would evict the pod.");
    rollOut();
    const waiting = await scene.run(30);
    expect(waiting).toMatchObject({ reason: "WouldRestart", progressing: false });
    expect(waiting.message).toMatch(/In Enforce mode the operator would evict pod web-5d-a then\.$/);
  });

  it("that a limit of the cluster holds back is Stalled after an hour in Enforce mode, however long the Lease stood still before", async () => {
    const { spec } = scene.object;
    scene.object = { ...scene.object, spec: { ...spec, mode: "Observe" } };
    await stall();
    expect(await scene.wait(7_200)).toMatchObject({ reason: "WouldRestart" });
    scene.object = { ...scene.object, spec };
    const limited = { result: "Limited", limit: "UnprovenRestart", retryAfterMs: 10_000 } as const;
    expect(scene.report(await scene.pass(), limited)).toMatchObject({ reason: "RestartDeferred", progressing: true });
    expect(scene.report(await scene.wait(3_580), limited).stalled).toBeUndefined();
    const waited = await scene.run(20);
    expect(scene.report(waited, limited).stalled?.message).toContain("delete the pod by hand");
    expect(scene.report(waited, { result: "Executed" }).stalled).toBeUndefined();
  });

  it("by a new leader of the operator follows only when it has seen the Lease stand still itself", async () => {
    await stall();
    scene.failOver();
    expect(await scene.run(50)).toMatchObject({ reason: "RestartDeferred", intents: [] });
    expect((await scene.run(20)).intents).toHaveLength(1);
  });
});
