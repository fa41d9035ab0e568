import { describe, expect, it } from "vitest";
import { ForbiddenError, TransientError } from "../../core/errors";
import { Scene, UNAUTHORIZED, workload } from "./testing/scene";

/** A pod that logs a 401 every five seconds until it is condemned. */
async function sick(scene = new Scene()): Promise<{ scene: Scene; decision: Awaited<ReturnType<Scene["pass"]>> }> {
  scene.log(UNAUTHORIZED);
  const decision = await scene.passes(12, () => scene.log(UNAUTHORIZED));
  return { scene, decision };
}

describe("evidence in logs", () => {
  it("is Accepted without, Suspected at first, and Rejected with an eviction once it is persistent", async () => {
    const scene = new Scene();
    expect(await scene.pass()).toMatchObject({
      status: "True",
      reason: "Accepted",
      intents: [],
      recheckAfterMs: expect.any(Number) as number,
    });
    scene.clock.advance(35_000);
    const decision = await scene.passes(13, () => scene.log(UNAUTHORIZED));
    expect(decision).toMatchObject({ status: "False", reason: "Rejected", progressing: true });
    expect(decision.intents).toMatchObject([
      {
        verb: "evict",
        target: { apiVersion: "v1", kind: "Pod", namespace: "team", name: "web-5d-a", uid: "uid-a" },
        restart: { workload: "Deployment/web", pod: "web-5d-a", podUID: "uid-a", cause: "Unknown" },
      },
    ]);
    expect(decision.parts?.targets).toMatchObject([{ kind: "Deployment", name: "web", pods: 1, rejectedPods: 1 }]);
    expect(decision.message).not.toContain("reflector");
  });

  it("says Suspected while it is not persistent, and looks again in five seconds", async () => {
    const scene = new Scene();
    scene.log(UNAUTHORIZED);
    expect(await scene.pass()).toMatchObject({
      status: "True",
      reason: "Suspected",
      intents: [],
      recheckAfterMs: 5_000,
    });
  });

  it("never acts on 401s that have ended", async () => {
    const scene = new Scene();
    for (let s = 0; s <= 100; s += 10) {
      scene.log(UNAUTHORIZED);
      scene.clock.advance(10_000);
    }
    scene.clock.advance(120_000);
    expect(await scene.pass()).toMatchObject({ reason: "Accepted", intents: [] });
  });

  it("restarts no pod without a token of its own, since that would renew nothing", async () => {
    const scene = new Scene();
    scene.podList = [scene.podAt(-3_600_000, { mountsToken: false })];
    const { decision } = await sick(scene);
    expect(decision).toMatchObject({
      status: "False",
      reason: "Rejected",
      intents: [],
      stalled: { reason: "Rejected" },
    });
    expect(decision.message).toContain("other credentials");
  });

  it("only reports in Observe mode, with the very plan", async () => {
    const scene = new Scene();
    scene.object = { ...scene.object, spec: { ...scene.object.spec, mode: "Observe" } };
    const { decision } = await sick(scene);
    expect(decision).toMatchObject({ reason: "WouldRestart", intents: [{ verb: "evict" }], progressing: false });
  });

  it("leaves terminating pods, other workloads' pods and skipped ones alone", async () => {
    const terminating = new Scene();
    terminating.podList = [terminating.podAt(-3_600_000, { deletedAtMs: terminating.clock.now().getTime() })];
    expect((await sick(terminating)).decision.intents).toEqual([]);
    const foreign = new Scene();
    foreign.podList = [foreign.podAt(-3_600_000, { owner: { kind: "ReplicaSet", name: "web-api-5d", uid: "x" } })];
    expect((await sick(foreign)).decision).toMatchObject({ reason: "NoPods", intents: [] });
    const skipped = new Scene();
    skipped.podList = [skipped.podAt(-3_600_000, { skip: true })];
    expect((await sick(skipped)).decision).toMatchObject({ status: "False", reason: "Rejected", intents: [] });
  });

  it("matches user patterns, and refuses an invalid one with its position", async () => {
    const scene = new Scene({ extraPatterns: ["my-token-is-d.ad"] });
    scene.log("my-token-is-dead");
    expect(await scene.passes(12, () => scene.log("my-token-is-dead"))).toMatchObject({ reason: "Rejected" });
    const decision = await new Scene({ extraPatterns: ["ok", "a(b"] }).pass();
    expect(decision).toMatchObject({ status: "False", reason: "InvalidPattern", intents: [], stalled: {} });
    expect(decision.message).toContain("extraPatterns[1] is not valid at position 1");
  });

  it("rolls the workload where that is the strategy", async () => {
    const { decision } = await sick(new Scene({ strategy: "RolloutRestart" }));
    expect(decision.intents).toMatchObject([
      {
        verb: "patch",
        target: { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "w", resourceVersion: "7" },
      },
    ]);
    expect(JSON.stringify(decision.intents[0]?.body)).toContain("controller-resilience.io/restarted-at");
  });
});

describe("the age of the ServiceAccount", () => {
  it("condemns a pod by its first 401", async () => {
    const scene = new Scene();
    scene.accounts.set("web", scene.account("sa-2", 0));
    scene.clock.advance(2_000);
    expect(await scene.pass()).toMatchObject({ reason: "Accepted" });
    scene.clock.advance(5_000);
    scene.log(UNAUTHORIZED);
    const decision = await scene.pass();
    expect(decision).toMatchObject({
      reason: "Rejected",
      intents: [{ restart: { cause: "ServiceAccountRecreated", serviceAccountUID: "sa-2" } }],
    });
  });

  it("condemns it after 60 s without a line, also where logs can't be read", async () => {
    const scene = new Scene();
    scene.logs.before = () => Promise.reject(new ForbiddenError("pods/log may not be read"));
    scene.accounts.set("web", scene.account("sa-2", 0));
    scene.clock.advance(59_000);
    expect(await scene.pass()).toMatchObject({ status: "Unknown", reason: "Forbidden", intents: [] });
    scene.clock.advance(1_000);
    const decision = await scene.pass();
    expect(decision.intents).toHaveLength(1);
    expect(decision.message).toContain("pods/log may not be read");
  });

  it("spares a pod whose log shows that it healed", async () => {
    const scene = new Scene();
    const nowMs = scene.clock.now().getTime();
    scene.podList = [scene.podAt(-2_400_000, {})];
    scene.accounts.set("web", scene.account("sa-2", -2_000_000));
    for (let ms = nowMs - 800_000; ms < nowMs; ms += 10_000)
      scene.logs.write("web-5d-a", "main", { ms, text: ms < nowMs - 400_000 ? UNAUTHORIZED : "all is well" });
    expect(await scene.pass()).toMatchObject({ reason: "Accepted", intents: [] });
  });

  it("is no evidence where the spec says so", async () => {
    const scene = new Scene({ evidence: ["Logs"] });
    scene.accounts.set("web", scene.account("sa-2", -120_000));
    expect(await scene.pass()).toMatchObject({ reason: "Accepted" });
  });

  it("says that a missing ServiceAccount can't be healed by a restart", async () => {
    const scene = new Scene();
    scene.accounts.clear();
    const { decision } = await sick(scene);
    expect(decision).toMatchObject({
      status: "False",
      reason: "ServiceAccountMissing",
      intents: [],
      stalled: { reason: "ServiceAccountMissing" },
    });
  });

  it("says of a missing ServiceAccount nothing where no token of it is mounted, or somebody wants to be left alone", async () => {
    const [tokenless, skipped, left] = [new Scene(), new Scene(), new Scene()];
    tokenless.podList = [tokenless.podAt(-3_600_000, { mountsToken: false })];
    skipped.podList = [skipped.podAt(-3_600_000, { skip: true })];
    left.workloadList = [workload({ skip: true })];
    for (const scene of [tokenless, skipped, left]) {
      scene.accounts.clear();
      expect(await scene.pass()).toMatchObject({ status: "True", reason: "Accepted", intents: [] });
    }
  });

  it("does not let a missing ServiceAccount hide what there is to say of other pods", async () => {
    const scene = new Scene();
    scene.podList.push(
      scene.podAt(-3_600_000, { name: "web-5d-o", uid: "uid-o", serviceAccountName: "old", mountsToken: false }),
    );
    scene.logs.write("web-5d-o", "main");
    const { decision } = await sick(scene);
    expect(decision.intents).toMatchObject([{ target: { name: "web-5d-a" } }]);
  });
});

describe("after a restart", () => {
  it("watches the successor until its tokens are accepted", async () => {
    const { scene, decision } = await sick();
    scene.noteRestart(decision.intents[0]!);
    scene.clock.advance(1_000);
    scene.replacePod("web-5d-a", "web-5d-b");
    const watching = await scene.passes(10);
    expect(watching).toMatchObject({
      status: "False",
      reason: "Restarting",
      intents: [],
      progressing: true,
      recheckAfterMs: 5_000,
    });
    const recovered = await scene.passes(10);
    expect(recovered).toMatchObject({
      status: "True",
      reason: "Accepted",
      parts: { restarts: [{ outcome: "Recovered" }] },
    });
  });

  it("says Ineffective when the successor is rejected too, and waits for the doubled cooldown", async () => {
    const { scene, decision } = await sick();
    scene.noteRestart(decision.intents[0]!);
    scene.clock.advance(1_000);
    scene.replacePod("web-5d-a", "web-5d-b");
    const again = await scene.passes(14, () => scene.log(UNAUTHORIZED, "web-5d-b"));
    expect(again).toMatchObject({
      reason: "RestartDeferred",
      intents: [],
      parts: { restarts: [{ outcome: "Ineffective" }] },
    });
    await scene.passes(220, () => scene.log(UNAUTHORIZED, "web-5d-b"));
    expect((await scene.pass()).intents).toEqual([]);
    const later = await scene.passes(12, () => scene.log(UNAUTHORIZED, "web-5d-b"));
    expect(later.intents).toHaveLength(1);
  });

  it("gives up after maxRestarts until the generation is newer", async () => {
    const { scene } = await sick();
    const entry = (minutesAgo: number): object => ({
      pod: "web-x",
      podUID: `uid-${minutesAgo}`,
      workload: "Deployment/web",
      time: new Date(scene.clock.now().getTime() - minutesAgo * 60_000).toISOString(),
      cause: "Unknown",
      outcome: "Ineffective",
    });
    scene.object = { ...scene.object, status: { restarts: [entry(110), entry(90), entry(50)] as never } };
    const exhausted = await scene.pass();
    expect(exhausted).toMatchObject({
      reason: "RestartsExhausted",
      intents: [],
      stalled: { reason: "RestartsExhausted" },
      parts: { targets: [{ exhaustedGeneration: 1 }] },
    });
    scene.object = { ...scene.object, status: { ...scene.object.status, restarts: [] } };
    expect(await scene.pass()).toMatchObject({ reason: "RestartsExhausted" });
    scene.object = { ...scene.object, metadata: { ...scene.object.metadata, generation: 2 } };
    expect((await scene.pass()).intents).toHaveLength(1);
  });

  it("settles what is open of a workload that is no target any more, and is not kept awake by it", async () => {
    const scene = new Scene();
    const open = (minutesAgo: number): object => ({
      pod: "gone-a",
      podUID: `uid-${minutesAgo}`,
      workload: "Deployment/gone",
      time: new Date(scene.clock.now().getTime() - minutesAgo * 60_000).toISOString(),
      cause: "Unknown",
      outcome: "Restarted",
    });
    scene.object = { ...scene.object, status: { restarts: [open(11), open(9)] as never } };
    const decision = await scene.pass();
    expect(decision.parts?.restarts).toMatchObject([{ outcome: "Ineffective" }, { outcome: "Restarted" }]);
    expect(decision.recheckAfterMs).toBeGreaterThan(20_000);
  });

  it("does not say of restarts that helped that they did not", async () => {
    const { scene } = await sick();
    const restarts = [50, 35, 20].map(minutesAgo => ({
      pod: "web-x",
      podUID: `uid-${minutesAgo}`,
      workload: "Deployment/web",
      time: new Date(scene.clock.now().getTime() - minutesAgo * 60_000).toISOString(),
      cause: "Unknown",
      outcome: "Recovered",
    }));
    scene.object = { ...scene.object, status: { restarts: restarts as never } };
    expect((await scene.pass()).message).toContain("3 restarts did not cure it for good");
  });

  it("drops a request that a crash left behind, if the very pod is still there, and counts it if not", async () => {
    const { scene, decision } = await sick();
    scene.noteRestart(decision.intents[0]!, "Requested");
    expect(await scene.pass()).toMatchObject({ intents: [], reason: "RestartDeferred" });
    const doubtful = await scene.passes(59, () => scene.log(UNAUTHORIZED));
    expect(doubtful).toMatchObject({ intents: [], parts: { restarts: [{ outcome: "Requested" }] } });
    const dropped = await scene.passes(1, () => scene.log(UNAUTHORIZED));
    expect(dropped.parts?.restarts).toEqual([]);
    expect(dropped.intents).toHaveLength(1);
    scene.noteRestart(dropped.intents[0]!, "Requested");
    scene.podList = [];
    expect(await scene.pass()).toMatchObject({ reason: "Restarting", parts: { restarts: [{ outcome: "Restarted" }] } });
  });

  it("heals the pods of one incident one after the other, without waiting for the cooldown", async () => {
    const scene = new Scene();
    scene.workloadList = [workload({ replicas: 2 })];
    scene.podList.push(scene.podAt(-3_600_000, { name: "web-5d-z", uid: "uid-z" }));
    scene.logs.write("web-5d-z", "main");
    scene.accounts.set("web", scene.account("sa-2", -61_000));
    const first = await scene.pass();
    expect(first.intents).toHaveLength(1);
    scene.noteRestart(first.intents[0]!);
    scene.replacePod("web-5d-a", "web-5d-b");
    expect(await scene.passes(3)).toMatchObject({ reason: "RestartDeferred", intents: [] });
    const second = await scene.passes(6);
    expect(second.intents).toMatchObject([{ target: { name: "web-5d-z" } }]);
  });
});

describe("a PodDisruptionBudget's no", () => {
  it("is told with the time of the next try, and waited for just as long as the outcome says", async () => {
    const { scene, decision } = await sick();
    const message = "evict pods: 429: it would violate the pod's disruption budget";
    const blocked = scene.conclude(decision, { result: "Blocked", message, retryAfterMs: 20_000 });
    expect(blocked.message).toContain("Its PodDisruptionBudget does not allow");
    expect(blocked).toMatchObject({ reason: "RestartBlocked", status: "False" });
    expect(blocked.message).toContain("2025-01-01T12:01:20Z");
    expect(await scene.passes(3, () => scene.log(UNAUTHORIZED))).toMatchObject({
      reason: "RestartBlocked",
      intents: [],
    });
    const retried = await scene.passes(1, () => scene.log(UNAUTHORIZED));
    expect(retried.intents).toHaveLength(1);
    expect(scene.conclude(retried, { result: "Blocked", message: "no", retryAfterMs: 5_000 }).message).toContain(
      "12:01:25Z",
    );
    expect((await scene.passes(1, () => scene.log(UNAUTHORIZED))).intents).toHaveLength(1);
  });

  it("is not blamed for other refusals, and a restart that waits is not told as being under way", async () => {
    const { scene, decision } = await sick();
    const refused = scene.conclude(decision, { result: "Blocked", message: "too many requests", retryAfterMs: 1_000 });
    expect(refused.message).not.toMatch(/PodDisruptionBudget|too many/);
    const outcome = { result: "Limited", limit: "RestartPacer", retryAfterMs: 5_000 } as const;
    expect(decision.message).toContain("is being evicted");
    expect(scene.conclude(decision, outcome).message).not.toContain("is being evicted");
  });

  it.each([
    [{ result: "Limited", limit: "RestartPacer", retryAfterMs: 5_000 }, "RestartDeferred"],
    [{ result: "Limited", limit: "LeaderWarmup", retryAfterMs: 2_000 }, "RestartDeferred"],
    [{ result: "Executed" }, "Restarting"],
    [{ result: "Forbidden", message: "may not create pods/eviction" }, "Forbidden"],
    [{ result: "Observed" }, "Rejected"],
  ] as const)("and other outcomes: %j", async (outcome, reason) => {
    const { scene, decision } = await sick();
    expect(scene.conclude(decision, outcome)).toMatchObject({ reason });
  });
});

describe("what can't be read", () => {
  it("names a 403 and restarts nothing whose ServiceAccount it can't see", async () => {
    const scene = new Scene();
    scene.failing.serviceAccount = new ForbiddenError("the operator may not get serviceaccounts in team");
    const { decision } = await sick(scene);
    expect(decision).toMatchObject({ status: "Unknown", reason: "Forbidden", intents: [] });
    expect(decision.message).toContain("ServiceAccount web of pod web-5d-a can't be read");
    expect(decision.message).toContain("may not get serviceaccounts");
    const healthy = new Scene();
    healthy.failing.serviceAccount = new ForbiddenError("the operator may not get serviceaccounts in team");
    expect(await healthy.pass()).toMatchObject({ status: "Unknown", reason: "Forbidden", intents: [] });
  });

  it("says that nothing is known before the logs were read, and does not take that for a cure", async () => {
    const scene = new Scene();
    const target = { kind: "Deployment", name: "web", pods: 1, rejectedPods: 1, exhaustedGeneration: 1 } as const;
    scene.object = { ...scene.object, status: { targets: [target] } };
    scene.logs.before = () => Promise.reject(new TransientError("the kubelet does not answer"));
    const blind = await scene.pass();
    expect(blind).toMatchObject({ status: "Unknown", reason: "ObserveFailed" });
    expect(blind.message).toContain("not been read yet");
    expect((await scene.passes(5)).parts).toMatchObject({ targets: [{ exhaustedGeneration: 1 }] });
    scene.logs.before = () => undefined;
    const seen = await scene.passes(10);
    expect(seen.reason).toBe("Accepted");
    expect(seen.parts?.targets?.[0]).not.toHaveProperty("exhaustedGeneration");
  });

  it("names a container that no pod has", async () => {
    const { decision } = await sick(new Scene({ containers: ["mian"] }));
    expect(decision).toMatchObject({ status: "Unknown", reason: "ObserveFailed", intents: [] });
    expect(decision.message).toContain("a container mian");
    expect((await sick(new Scene({ containers: ["main", "mian"] }))).decision.message).toContain("a container mian");
    expect((await sick(new Scene({ containers: ["main"] }))).decision.message).not.toContain("containers names");
  });

  it("throws on anything else, so that nothing is done", async () => {
    const scene = new Scene();
    scene.failing.pods = new TransientError("the cache is too old");
    await expect(scene.pass()).rejects.toThrow("too old");
  });

  it("is not held up by one log that hangs", async () => {
    const scene = new Scene();
    scene.podList.push(scene.podAt(-3_600_000, { name: "web-5d-h", uid: "uid-h" }));
    scene.logs.write("web-5d-h", "main");
    scene.logs.before = request => (request.pod === "web-5d-h" ? new Promise<void>(() => undefined) : undefined);
    scene.log(UNAUTHORIZED);
    const passing = scene.pass();
    await scene.clock.run(3_000);
    expect(await passing).toMatchObject({ reason: "Suspected" });
    expect(await scene.passes(12, () => scene.log(UNAUTHORIZED))).toMatchObject({
      intents: [{ target: { name: "web-5d-a" } }],
    });
  });

  it("reports a target that does not exist, and none of its pods", async () => {
    const scene = new Scene();
    scene.workloadList = [];
    const decision = await scene.pass();
    expect(decision).toMatchObject({ status: "False", reason: "TargetNotFound", intents: [] });
    expect(decision.message).toContain("Deployment/web");
  });
});

describe("several workloads", () => {
  function withDatabase(): Scene {
    const scene = new Scene();
    scene.workloadList.push(workload({ name: "db", uid: "w2", serviceAccountName: "db" }));
    const owner = { kind: "ReplicaSet", name: "db-5d", uid: "rs2" };
    scene.podList.push(scene.podAt(-3_600_000, { name: "db-5d-a", uid: "uid-db", serviceAccountName: "db", owner }));
    scene.accounts.set("db", scene.account("sa-db", -86_400_000, "db"));
    scene.logs.write("db-5d-a", "main");
    scene.object = {
      ...scene.object,
      spec: {
        ...scene.object.spec,
        targets: [{ kind: "Deployment", selector: { matchExpressions: [{ key: "app", operator: "Exists" }] } }],
      },
    };
    return scene;
  }

  it("names a changed signing key when workloads of different ServiceAccounts fail at once", async () => {
    const scene = withDatabase();
    const both = (): void => {
      scene.log(UNAUTHORIZED);
      scene.log(UNAUTHORIZED, "db-5d-a");
    };
    both();
    const decision = await scene.passes(12, both);
    expect(decision.intents.map(intent => intent.restart?.cause)).toEqual(["SigningKeyRotated", "SigningKeyRotated"]);
  });

  it("restarts a pod without a token of its own when another is rejected for certain, and not for a stray 401", async () => {
    const scene = withDatabase();
    scene.podList = scene.podList.map(pod => (pod.name === "web-5d-a" ? { ...pod, mountsToken: false } : pod));
    scene.log(UNAUTHORIZED, "db-5d-a");
    const { decision } = await sick(scene);
    expect(decision).toMatchObject({ reason: "Rejected", intents: [], stalled: { reason: "Rejected" } });
    const both = await scene.passes(14, () => ["web-5d-a", "db-5d-a"].forEach(name => scene.log(UNAUTHORIZED, name)));
    const restarts = both.intents.map(({ restart }) => [restart?.workload, restart?.cause]);
    expect(restarts.sort()).toEqual([
      ["Deployment/db", "SigningKeyRotated"],
      ["Deployment/web", "SigningKeyRotated"],
    ]);
  });
});
