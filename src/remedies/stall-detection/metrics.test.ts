import { beforeEach, describe, expect, it } from "vitest";
import { type DueObject, type KindReading, UNREAD_KIND } from "../../core/progress";
import type { LogRounds } from "../../core/readers";
import type { Program } from "../../evidence/metrics/testing/page";
import { Scene, type ScenePass, workload } from "./testing/scene";

const PROGRESS = { progress: [{ apiVersion: "example.com/v1", kind: "Widget", for: "15m" }] };

let scene: Scene;
beforeEach(() => {
  scene = new Scene({ metrics: {}, onStall: "Restart" });
});

const POD = "web-5d-a";

/** A leader with the queue of a kind. */
const page = (depth: number, done = 90, over: Partial<NonNullable<Program["queues"]>[number]> = {}) => ({
  ...{ isLeader: true, queues: [{ name: "widget", depth, done, slowestSeconds: 1, ...over }] },
});
const STUCK = page(12);

/** Passes go on while a pod serves this. */
function serve(seconds: number, program: Program | (() => Program), pod = POD): Promise<ScenePass> {
  const next = (): void => void scene.pages.set(pod, typeof program === "function" ? program() : program);
  next();
  return scene.run(seconds, next);
}

/** Watches are opened again for an hour and ten minutes, and then no more; the Lease is always renewed. */
async function hang(seconds: number, then = (): void => undefined): Promise<ScenePass> {
  let [gets, puts] = [0, 0];
  const healthy = (): Program => ({ isLeader: true, requests: { gets: ++gets, puts: ++puts, accepted: puts } });
  await serve(4_200, healthy);
  then();
  return serve(seconds, () => ({ isLeader: true, requests: { gets, puts: ++puts, accepted: puts } }));
}

/** A Widget is due since a moment, nothing of its kind moves, and it moved before. Returns what is known of it. */
function makeDue(): { movedMs: number; writtenMs: number } {
  const { clock } = scene;
  const sinceMs = clock.monotonicMs();
  const blue: DueObject = {
    ...{ namespace: "team", name: "blue", uid: "w1", createdMs: 0, generation: 7, observed: 6 },
    ...{ dueMs: sinceMs, wasDone: true, isLookedAt: false },
  };
  const found = { movedMs: -Infinity, writtenMs: -Infinity };
  scene.kind = (): Promise<KindReading> =>
    Promise.resolve({
      ...{ ...UNREAD_KIND, due: [blue], movedMs: sinceMs - 60_000, steadyMs: 0 },
      find: () => found,
    });
  return found;
}

/** The evicted pod is replaced. */
function replace(name = "web-5d-b"): void {
  scene.replace(name);
  scene.logs.write(name, "main");
  scene.lead(`${name}_1`);
}

/** Said, and left to a person. */
const REPORTED = { status: "False", reason: "QueueStuck", intents: [], stalled: { reason: "QueueStuck" } };

/** Outcomes of the restarts in status, once this time has passed. */
const outcomesAfter = async (passes: Promise<ScenePass>): Promise<unknown[]> =>
  (await passes).restarts.map(({ outcome }) => outcome);

describe("a pod whose queue has items and finishes none", () => {
  it("is reported with its queue and since when, by a sentence that changes with no reading", async () => {
    scene = new Scene({ metrics: {} });
    expect(await serve(890, STUCK)).toMatchObject({ status: "True", reason: "Active" });
    const pass = await serve(30, STUCK);
    expect(pass).toMatchObject(REPORTED);
    expect(pass.message).toBe(
      "Queue widget of pod web-5d-a has 10 or more items and has finished none since 2025-01-01T12:00:00Z.",
    );
    expect(pass.lists).toMatchObject({ stalls: [{ evidence: "Metrics", pod: POD, podUID: "uid-web-5d-a" }] });
    expect((await serve(60, page(97))).message).toBe(pass.message);
    expect((await serve(30, page(12, 91))).status).toBe("True");
  });

  it.each(["without the block", "as a standby", "while its container restarts", "that is being deleted"])(
    "is not accused %s",
    async how => {
      if (how === "without the block") scene = new Scene();
      if (how === "while its container restarts") scene.podList = [scene.pod(POD, {}, { running: false })];
      if (how === "that is being deleted") scene.podList = [scene.pod(POD, { deletedAtMs: scene.nowMs })];
      const pass = await serve(1_200, { ...STUCK, isLeader: how !== "as a standby" });
      expect(pass).toMatchObject({ status: "True", intents: [] });
    },
  );

  it("is restarted, once", async () => {
    const pass = await serve(920, STUCK);
    expect(pass).toMatchObject({ reason: "QueueStuck", progressing: true });
    expect(pass.intents).toMatchObject([
      {
        why: "Queue widget of pod web-5d-a has 10 or more items and has finished none since 2025-01-01T12:00:00Z.",
        restart: { pod: POD, cause: "ProgressStopped", limits: { cooldownMs: 600_000, maxRestarts: 1 } },
      },
    ]);
  });

  it("is restarted for its queue, and not for a Lease that it has released", async () => {
    await scene.hang();
    scene.release();
    const { message } = await serve(920, { queues: STUCK.queues });
    expect(message).toMatch(/^Pod web-5d-a released Lease team\/web, and no pod has taken it since\. Queue widget /);
    expect(message).toMatch(/ has finished none since .*\. The operator is about to evict the pod\.$/);
  });

  it.each(["401", "403", "422"])("is restarted only a quarter of an hour after its requests got %s", async code => {
    let count = 0;
    const requests = { gets: 1, puts: 1, accepted: 1 };
    const more = (): Program => ({
      ...STUCK,
      requests: { ...requests, [code === "401" ? "unauthorized" : code === "403" ? "forbidden" : "invalid"]: ++count },
    });
    const pass = await serve(920, more);
    expect(pass).toMatchObject({ reason: "QueueStuck", intents: [] });
    expect(pass.message).toContain("Not restarted: its requests get 401, 403 or 422 responses");
    const last = more();
    expect(await serve(890, last)).toMatchObject({ reason: "QueueStuck", intents: [] });
    expect((await serve(30, last)).intents).toHaveLength(1);
  });

  it("is reported where all workers are busy with items that they do not finish, and restarted once work waits", async () => {
    const busy = (depth: number, workers = 2): Program =>
      page(depth, 90, { longestSeconds: 3_600, workers: [workers, 2] });
    expect(await serve(2_000, busy(0, 1))).toMatchObject({ status: "True", reason: "WorkerStuck" });
    const pass = await serve(1_830, busy(0));
    expect(pass).toMatchObject(REPORTED);
    expect(pass.message).toBe(
      "All workers of queue widget of pod web-5d-a are busy, and have finished nothing since 2025-01-01T12:33:00Z.",
    );
    expect(await serve(880, busy(1))).toMatchObject({ reason: "QueueStuck", intents: [] });
    expect((await serve(40, busy(1))).intents).toHaveLength(1);
  });

  it("is restarted where all workers are busy and an object is due that none has touched", async () => {
    scene = new Scene({ ...PROGRESS, metrics: {}, onStall: "Restart" });
    makeDue();
    const pass = await serve(1_830, page(0, 90, { workers: [2, 2] }));
    expect(pass).toMatchObject({ intents: [{ restart: { cause: "ProgressStopped" } }] });
  });

  it("is a standby if another pod renews the Lease, although its page does not tell who leads", async () => {
    scene.workloadList = [workload({ replicas: 2 })];
    scene.podList = [scene.pod(POD), scene.pod("web-5d-b")];
    scene.logs.write("web-5d-b", "main");
    let done = 90;
    const silent = (depth: number, count: number): Program => ({ queues: page(depth, count).queues });
    await serve(300, () => silent(0, ++done));
    scene.lead("web-5d-b_1");
    const left = done;
    const pass = await scene.run(1_200, () => {
      scene.pages.set(POD, silent(5, left));
      scene.pages.set("web-5d-b", silent(0, ++done));
    });
    expect(pass).toMatchObject({ reason: "Active", intents: [] });
    scene.isDown = true;
    const unknown = await scene.run(90, () => scene.pages.set("web-5d-b", silent(0, ++done)));
    expect(unknown).toMatchObject({ reason: "ObserveFailed", intents: [] });
    scene.isDown = false;
    scene.object.spec.stallDetection!.evidence = [];
    expect(await scene.pass()).toMatchObject({ reason: "Active", intents: [] });
  });

  it("is not restarted while its log shows 401s, but of a program that logs those of others", async () => {
    const unauthorized =
      'level=error msg="Unauthorized" error="the server has asked for the client to provide credentials"';
    scene.pages.set(POD, STUCK);
    const pass = await scene.run(920, () => scene.log(unauthorized));
    expect(pass.intents).toEqual([]);
    expect(pass.message).toContain("Not restarted: its requests get 401");
    scene.workloadList = [workload({ logsForeign401s: true })];
    expect((await scene.run(10, () => scene.log(unauthorized))).intents).toHaveLength(1);
  });

  it("is not restarted while its log shows refused writes, which no counter of an API server has", async () => {
    let readMs = -Infinity;
    const keep: LogRounds["keep"] = async (_owner, _key, logs) => {
      if (scene.nowMs - readMs < (logs.every(log => log.rest()) ? 300_000 : 30_000)) return;
      readMs = scene.nowMs;
      await Promise.all(logs.map(log => log.read()));
    };
    Object.assign(scene, { rounds: { keep, drop: () => undefined } });
    scene.pages.set(POD, STUCK);
    const isMinute = () => scene.nowMs % 60_000 === 0;
    const refused = 'E0101 12:00:00 a.go:1] Widget.example.com "blue" is invalid: spec.size: Invalid value: 3';
    const pass = await scene.run(1_100, () => isMinute() && scene.log(refused));
    expect(pass).toMatchObject({ reason: "QueueStuck", intents: [] });
    expect(pass.message).toContain("Not restarted: its requests get 401, 403 or 422 responses");
    expect((await scene.run(520)).intents).toHaveLength(1);
  });

  it("is restarted although its log shows 403s of others, such as of a tenant that it acts for", async () => {
    const denied =
      'User "system:serviceaccount:tenant:flux" cannot patch resource "deployments" in API group "apps" in the namespace "tenant"';
    scene.pages.set(POD, STUCK);
    const pass = await scene.run(920, () =>
      scene.log(`E0101 12:00:00 a.go:1] deployments.apps "x" is forbidden: ${denied}`),
    );
    expect(pass.intents).toHaveLength(1);
  });

  it("is Recovered once its successor finishes items", async () => {
    scene.executed(await serve(920, STUCK));
    replace();
    expect(await outcomesAfter(serve(40, page(0, 9), "web-5d-b"))).toEqual(["Restarted"]);
    expect(await outcomesAfter(scene.run(30))).toEqual(["Recovered"]);
  });

  it("did not recover if its successor finishes none within ten minutes; then no further restart follows", async () => {
    scene.executed(await serve(920, STUCK));
    replace();
    expect(await outcomesAfter(serve(610, page(9, 0), "web-5d-b"))).toEqual(["Ineffective"]);
    const pass = await serve(6_000, STUCK, "web-5d-b");
    expect(pass).toMatchObject({ reason: "RestartsExhausted", intents: [], stalled: { reason: "RestartsExhausted" } });
    expect(pass.message).toContain("Restarts did not help; find out why it does nothing.");
  });

  it("has recovered once a standby that takes over finishes items, whatever that did as a leader before", async () => {
    scene.workloadList = [workload({ replicas: 2 })];
    scene.podList.push(scene.pod("web-5d-b"));
    scene.pages.set("web-5d-b", { ...page(12, 50), isLeader: false });
    scene.executed(await serve(920, STUCK));
    scene.replace("web-5d-c");
    scene.pages.set("web-5d-c", { ...page(12, 0), isLeader: false });
    scene.lead("web-5d-b_1");
    expect(await outcomesAfter(serve(200, page(12, 50), "web-5d-b"))).toEqual(["Restarted"]);
    expect(await outcomesAfter(serve(60, page(12, 51), "web-5d-b"))).toEqual(["Recovered"]);
  });

  it("had not recovered if its successor blocks again", async () => {
    scene.executed(await serve(920, STUCK));
    replace();
    expect(await outcomesAfter(serve(1_000, STUCK, "web-5d-b"))).toEqual(["Ineffective"]);
  });
});

describe("a pod whose watches are dead", () => {
  it("is only reported while nothing is due", async () => {
    const pass = await hang(680);
    expect(pass).toMatchObject({ reason: "WatchesDead", intents: [] });
    expect(pass.message).toMatch(
      /^Pod web-5d-a renews its Lease and has sent no GET since 2025-.*, so it sees no change\.$/,
    );
  });

  it("is restarted if work is due", async () => {
    scene = new Scene({ metrics: {}, onStall: "Restart", ...PROGRESS });
    const later = await hang(960, makeDue);
    expect(later.intents).toMatchObject([{ restart: { pod: POD, cause: "ProgressStopped" } }]);
    expect(later.message).toContain("Widget blue");
  });

  describe("after its restart", () => {
    let blue: ReturnType<typeof makeDue>;
    beforeEach(async () => {
      scene = new Scene({ metrics: {}, onStall: "Restart", ...PROGRESS });
      scene.executed(await hang(960, () => (blue = makeDue())));
      replace();
    });
    /** The successor works on other objects. */
    const work = (seconds: number): Promise<ScenePass> => {
      let done = 1;
      return serve(seconds, () => page(0, ++done, { name: "gadget" }), "web-5d-b");
    };

    it("has recovered when the very object moves, also if another leader of the operator saw that", async () => {
      expect(await outcomesAfter(work(30))).toEqual(["Restarted"]);
      blue.movedMs = scene.clock.monotonicMs();
      expect(await outcomesAfter(work(40))).toEqual(["Recovered"]);
    });

    it("has recovered if the API server says that the object was written since", async () => {
      await work(30);
      [blue.movedMs, blue.writtenMs] = [-Infinity, scene.nowMs];
      scene.failOver();
      expect(await outcomesAfter(work(40))).toEqual(["Recovered"]);
    });

    it("has not recovered by work on other objects: workers block again on those that blocked them", async () => {
      const kind = scene.kind.bind(scene);
      scene.kind = async question => ({ ...(await kind(question)), movedMs: scene.clock.monotonicMs() });
      expect(await outcomesAfter(work(300))).toEqual(["Restarted"]);
      expect(scene.object.status?.stalls).toMatchObject([{ object: "Widget blue" }]);
      expect(await outcomesAfter(work(310))).toEqual(["Ineffective"]);
      expect(scene.object.status?.stalls).toEqual([]);
    });
  });

  it("is not restarted if another workload may handle what is due", async () => {
    scene = new Scene({ metrics: {}, onStall: "Restart", ...PROGRESS });
    scene.workloadList = [workload(), workload({ name: "db", uid: "d" })];
    scene.object.spec.targets.push({ kind: "Deployment", name: "db" });
    scene.podList.push({ ...scene.pod("db-7"), owner: { kind: "ReplicaSet", name: "db-5d", uid: "rd" } });
    const pass = await hang(960, makeDue);
    expect(pass).toMatchObject({ reason: "ProgressStopped", intents: [] });
    expect(pass.message).toContain("Deployment/web or Deployment/db should handle it.");
  });
});

describe("a worker that is stuck", () => {
  it("is a warning, and no stall: no entry, no alert", async () => {
    const pass = await serve(30, page(0, 90, { longestSeconds: 1_860 }));
    expect(pass).toMatchObject({ status: "True", reason: "WorkerStuck", intents: [], lists: { stalls: [] } });
    expect(pass).not.toHaveProperty("stalled");
    expect(pass.message).toMatch(/^A worker of queue widget of pod web-5d-a has been busy with one item since /);
  });
});

describe("work", () => {
  const kindReason = async (queue: string): Promise<string> => {
    scene = new Scene({ metrics: {}, ...PROGRESS });
    makeDue();
    let done = 1;
    await serve(1_000, () => page(1, ++done, { name: queue }));
    return (await scene.pass()).reason;
  };

  it("on another object of the kind speaks against Progress, and that of another queue does not", async () => {
    expect(await kindReason("widget")).toBe("Active");
    expect(await kindReason("gadget")).toBe("ProgressStopped");
  });

  it("that fails speaks against Progress, however long the controller waits before it tries again", async () => {
    scene = new Scene({ metrics: {}, ...PROGRESS });
    makeDue();
    let done = 1;
    await serve(300, () => page(0, ++done));
    expect(await serve(1_000, page(0, done))).toMatchObject({ status: "True", reason: "Active" });
  });

  it("that was done before the object became due does not speak against Progress", async () => {
    scene = new Scene({ metrics: {}, ...PROGRESS });
    await serve(60, page(0, 1));
    makeDue();
    expect((await serve(930, page(0, 2))).reason).toBe("ProgressStopped");
  });

  it("that waits in the queue of the kind is named beside what is due", async () => {
    scene = new Scene({ metrics: {}, progress: [{ ...PROGRESS.progress[0]!, for: "5m" }] });
    makeDue();
    const { message } = await serve(400, STUCK);
    expect(message).toMatch(
      /^Widget blue \(generation 7, observed 6\) is due since .* moved since .*\. Queue widget of pod web-5d-a has 10 or more items and has finished none since 2025-01-01T12:00:00Z\.$/,
    );
  });
});

describe("metrics that cannot be read", () => {
  it("are said once for a workload, and accuse nobody", async () => {
    scene.podList.push(scene.pod("web-5d-b"));
    const message = "the metrics of pod web-5d-a cannot be read: it declares no TCP port metrics";
    scene.pages.set(POD, message);
    scene.pages.set("web-5d-b", "the metrics of pod web-5d-b cannot be read");
    expect(await scene.run(20)).toMatchObject({
      ...{ status: "Unknown", reason: "ObserveFailed", intents: [] },
      message: `Observation incomplete: ${message}.`,
    });
  });
});
