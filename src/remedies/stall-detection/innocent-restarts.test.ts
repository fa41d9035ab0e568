import { beforeEach, describe, expect, it } from "vitest";
import type { LogRounds } from "../../core/readers";
import type { ContainerView, PodView } from "../../core/views";
import { lease, Scene, workload } from "./testing/scene";

let scene: Scene;
beforeEach(() => {
  scene = new Scene({ onStall: "Restart" });
});

/** It is accused, and was not restarted only because of the skip annotation. */
async function accused(): Promise<void> {
  await scene.hang();
  const setSkip = (skip: boolean): void => void (scene.podList = scene.podList.map(pod => ({ ...pod, skip })));
  setSkip(true);
  await scene.run(320);
  setSkip(false);
}

describe("a pod that could not renew", () => {
  it("has time to renew once its node answers again, and is restarted only if it does not", async () => {
    await scene.hang();
    const setUnreachable = (nodeUnreachable: boolean): void => {
      scene.podList = scene.podList.map(pod => ({ ...pod, nodeUnreachable }));
    };
    setUnreachable(true);
    await scene.run(600);
    setUnreachable(false);
    expect(await scene.run(290)).toMatchObject({ status: "True", reason: "Active", intents: [] });
    expect((await scene.run(20)).intents).toHaveLength(1);
    // The first pass is a minute later, as one before it waited for a log.
    setUnreachable(true);
    await scene.run(20);
    scene.time.advance(60_000);
    setUnreachable(false);
    expect((await scene.run(290)).intents).toEqual([]);
    expect((await scene.run(20)).intents).toHaveLength(1);
  });

  it.each([
    ["main", 0],
    ["main", 180],
    ["sidecar", 0],
  ] as const)(
    "has time while its %s container waits for its next life, %d s after the last renewal",
    async (role, after) => {
      await scene.hang();
      await scene.run(after);
      const lastFinishedAtMs = scene.nowMs;
      const waiting = { name: "manager", role, restartCount: 1, running: false, lastFinishedAtMs };
      scene.podList = scene.podList.map(pod => ({ ...pod, containers: [...pod.containers, waiting] }));
      scene.logs.write("web-5d-a", "manager");
      expect(await scene.run(320)).toMatchObject({ status: "True", reason: "Active", intents: [] });
    },
  );

  it.each<[number, number]>([
    [40, 3_600],
    [180, 300],
  ])("has none left, %d s after its last renewal a sidecar has restarted, and %d s later", async (after, seconds) => {
    await scene.hang();
    await scene.run(after);
    const proxy = { name: "proxy", role: "main", restartCount: 1, running: true, startedAtMs: scene.nowMs } as const;
    scene.podList = scene.podList.map(pod => ({ ...pod, containers: [...pod.containers, proxy] }));
    scene.logs.write("web-5d-a", "proxy");
    expect(await scene.run(seconds - 20)).toMatchObject({ status: "True", reason: "Active", intents: [] });
    expect((await scene.run(30)).intents).toHaveLength(after < 60 ? 0 : 1);
  });

  it("needs a person if its container keeps restarting for an hour", async () => {
    await accused();
    const restart = (): void => scene.restartContainer("web-5d-a");
    expect(await scene.run(60, restart)).toMatchObject({ reason: "RestartDeferred", progressing: true, intents: [] });
    const pass = await scene.run(3_600, restart);
    expect(pass).toMatchObject({ reason: "RestartDeferred", stalled: { reason: "RestartDeferred" }, intents: [] });
    expect(pass.message).toContain("has not watched the Lease for long enough while the containers run");
  });

  /** The clock of its node is behind. */
  const restartBehind = (): void => {
    scene.restartContainer("web-5d-a");
    const startedAtMs = scene.nowMs - 80_000;
    const behind = (one: ContainerView): ContainerView => ({ ...one, startedAtMs });
    scene.podList = scene.podList.map(pod => ({ ...pod, containers: pod.containers.map(behind) }));
  };

  it("need not if its container restarted then, also by the clock of a node that is behind", async () => {
    await scene.hang();
    restartBehind();
    expect(await scene.run(600)).toMatchObject({ status: "True", reason: "Active", intents: [] });
  });

  it("has time after a start of its container, also by the clock of a node that is behind", async () => {
    await scene.hang();
    await scene.run(280);
    restartBehind();
    expect(await scene.run(290)).toMatchObject({ status: "True", reason: "Active", intents: [] });
    expect((await scene.run(20)).intents).toHaveLength(1);
  });

  it("is accused after an hour, and restarted by no one, if a container of it restarts again and again all the time", async () => {
    await scene.hang();
    const proxy = { name: "proxy", role: "sidecar", restartCount: 1, running: true } as const;
    const [{ containers, ...pod }] = scene.podList as [PodView];
    scene.logs.write("web-5d-a", "proxy");
    await scene.run(60);
    const restart = (): void => {
      if ((scene.nowMs / 1_000) % 240 > 0) return;
      scene.podList = [{ ...pod, containers: [...containers, { ...proxy, startedAtMs: scene.nowMs }] }];
    };
    expect(await scene.run(3_200, restart)).toMatchObject({ status: "True", reason: "Active" });
    expect(await scene.run(600, restart)).toMatchObject({ reason: "RestartDeferred", intents: [] });
  });

  it("and is accused already has time, too, when its container starts again", async () => {
    await accused();
    scene.restartContainer("web-5d-a");
    expect(await scene.run(290)).toMatchObject({ reason: "RestartDeferred", intents: [] });
    expect((await scene.run(20)).intents).toHaveLength(1);
  });
});

it("has four times as long as it has paused once before it is restarted", async () => {
  const { renewer } = scene;
  await scene.hang();
  await scene.run(200);
  scene.renewer = renewer;
  await scene.run(600);
  scene.renewer = undefined;
  expect(await scene.run(780)).toMatchObject({ status: "True", reason: "Active", intents: [] });
  expect((await scene.run(70)).intents).toHaveLength(1);
});

it("is left alone if its container restarted without leader election after it lost its Lease, also while its log rests", async () => {
  let readMs = -Infinity;
  const keep: LogRounds["keep"] = async (_owner, _key, logs) => {
    if (scene.nowMs - readMs < 450_000) return;
    readMs = scene.nowMs;
    await Promise.all(logs.map(log => log.read()));
  };
  Object.assign(scene, { rounds: { keep, drop: () => undefined } });
  await scene.hang();
  scene.log("E0101 12:00:00.000000       1 leaderelection.go:340] Failed to renew lease team/web: timed out");
  scene.restartContainer("web-5d-a");
  readMs = -Infinity;
  expect(await scene.run(400)).toMatchObject({ status: "True", reason: "Active", intents: [] });
});

describe("a restart", () => {
  it("does not follow from a reading that later ones have not confirmed", async () => {
    await accused();
    scene.isDown = true;
    expect(await scene.run(30)).toMatchObject({ reason: "RestartDeferred", intents: [] });
    scene.isDown = false;
    expect((await scene.run(10)).intents).toHaveLength(1);
  });

  it("rests on the stale Lease, not on another one that never was renewed", async () => {
    await scene.run(120);
    scene.leaseList.unshift(lease({ name: "a-lock", uid: "k", holder: "web-5d-a_lock" }));
    scene.renewer = undefined;
    const { intents } = await scene.run(320);
    expect(intents.map(({ why }) => why)).toEqual([
      "Pod web-5d-a of Deployment/web holds Lease team/web and no longer renews it.",
    ]);
    const { object } = scene;
    const [lock, stale] = scene.leaseList;
    scene.leaseList = [lock!];
    scene.failOver();
    await scene.run(70);
    scene.leaseList.push(stale!);
    await scene.run(10);
    scene.object = object;
    expect(await scene.run(30)).toMatchObject({ reason: "RestartDeferred", intents: [] });
    expect((await scene.run(40)).intents).toHaveLength(1);
  });

  it("is not Recovered for a new leader because another pod goes on renewing a Lease of its own", async () => {
    await scene.run(120);
    scene.workloadList = [workload({ replicas: 2 })];
    scene.podList.push(scene.pod("web-5d-b"));
    scene.leaseList.push(lease({ name: "shard-b", uid: "b", holder: "web-5d-b_1" }));
    const renewOther = (): void => scene.renew("web-5d-b_1");
    scene.renewer = undefined;
    scene.executed(await scene.run(320, renewOther));
    scene.replace("web-5d-c");
    scene.failOver();
    await scene.run(120, renewOther);
    expect(scene.object.status?.restarts).toMatchObject([{ outcome: "Restarted" }]);
    scene.take("web-5d-b_1");
    await scene.run(60, renewOther);
    expect(scene.object.status?.restarts).toMatchObject([{ outcome: "Recovered" }]);
  });
});

describe("a pod that renews one Lease and has stopped renewing another", () => {
  const TASK = "web-5d-a_task";

  /** The pod renews its main Lease all the time, and that of a task for two minutes, which it does not release. */
  beforeEach(async () => {
    scene.leaseList.push(lease({ name: "task", uid: "t", holder: TASK }));
    await scene.run(120, () => scene.renew(TASK));
  });

  it("is left alone, and the condition says so", async () => {
    const pass = await scene.run(1_200);
    expect(pass).toMatchObject({ status: "True", reason: "Active", intents: [], lists: { stalls: [] } });
    expect(pass.message).toBe(
      "Pod web-5d-a no longer renews Lease team/task but renews team/web: it may have finished with the first. The operator leaves it, and pods like it, alone.",
    );
  });

  it("is left alone by a new leader of the operator, although an earlier one has named it", async () => {
    const { renewer } = scene;
    scene.renewer = undefined;
    await scene.run(320);
    expect(scene.object.status?.stalls).toHaveLength(2);
    scene.renewer = renewer;
    scene.failOver();
    expect(await scene.run(30)).toMatchObject({ status: "True", reason: "Active", intents: [] });
  });
});

describe("a pod that renews its Lease after each restart, and stops again", () => {
  it("has not been helped if another pod took over its Lease, and stopped, too", async () => {
    await scene.run(120);
    scene.workloadList = [workload({ replicas: 2 })];
    scene.podList.push(scene.pod("web-5d-b"));
    scene.renewer = undefined;
    scene.executed(await scene.run(310));
    scene.replace("web-5d-c");
    scene.lead("web-5d-b_1");
    await scene.run(120);
    expect(scene.object.status?.restarts).toMatchObject([{ outcome: "Recovered" }]);
    scene.renewer = undefined;
    await scene.run(310);
    expect(scene.object.status?.restarts).toMatchObject([{ outcome: "Ineffective" }]);
  });
});
