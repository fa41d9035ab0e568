import type { Mode } from "../../core/remedy";
import { describe, expect, it, vi } from "vitest";
import { ForbiddenError, NotYetError, TransientError } from "../../core/errors";
import { KEYS_RECHECK_MS } from "./proof";
import { workload } from "../../core/testing/views";
import { restartAt } from "../../restarts/testing/history";
import { Scene, UNAUTHORIZED } from "./testing/scene";

/** A pod that logs a 401 every five seconds until it is rejected. */
async function sick(scene = new Scene()): Promise<{ scene: Scene; pass: Awaited<ReturnType<Scene["pass"]>> }> {
  scene.log(UNAUTHORIZED);
  const pass = await scene.passes(12, () => scene.log(UNAUTHORIZED));
  return { scene, pass };
}

describe("evidence in logs", () => {
  it.each([
    [[], "asleep"],
    [["my own words"], "dozing"],
  ])("rests until a 401, with phrases of the user (%j) for a short time only", async (extraPhrases, as) => {
    const scene = new Scene({ extraPhrases });
    const keep = vi.spyOn(scene.rounds, "keep");
    await scene.passes(2);
    expect(keep.mock.lastCall?.[2][0]?.rest()).toEqual({ as, wokenBy: ["401"] });
  });

  it.each([
    ["Recovered", 59, "dozing"],
    ["Recovered", 61, "asleep"],
    ["Ineffective", 59, "asleep"],
  ] as const)(
    "rests for a short time only while a restart that no proof led to, %s %i minutes ago, may turn out to be in vain",
    async (outcome, minutes, as) => {
      const scene = new Scene();
      const restart = restartAt(scene.clock.now().getTime() - minutes * 60_000, { outcome });
      scene.object = { ...scene.object, status: { restarts: [restart] } };
      const keep = vi.spyOn(scene.rounds, "keep");
      await scene.passes(2);
      expect(keep.mock.lastCall?.[2][0]?.rest()).toEqual({ as, wokenBy: ["401"] });
    },
  );

  it("is Accepted without 401s, and Rejected with an eviction once they are persistent", async () => {
    const scene = new Scene();
    expect(await scene.pass()).toMatchObject({
      status: "True",
      reason: "Accepted",
      intents: [],
      recheckAfterMs: KEYS_RECHECK_MS,
    });
    scene.clock.advance(35_000);
    const pass = await scene.passes(13, () => scene.log(UNAUTHORIZED));
    expect(pass).toMatchObject({ status: "False", reason: "Rejected", progressing: true });
    expect(pass.intents).toMatchObject([
      {
        verb: "evict",
        target: { apiVersion: "v1", kind: "Pod", namespace: "team", name: "web-5d-a", uid: "uid-a" },
        restart: {
          workload: "Deployment/web",
          pod: "web-5d-a",
          podUID: "uid-a",
          cause: "Unknown",
          workedMs: 3_640_000,
        },
      },
    ]);
    expect(pass.lists?.targets).toMatchObject([{ kind: "Deployment", name: "web", pods: 1, rejectedPods: 1 }]);
    expect(pass.message).not.toContain("reflector");
  });

  it("counts as of a pod that never worked when it is older than what a new leader reads of the log", async () => {
    const scene = new Scene();
    for (let logged = 0; logged < 40; logged++) {
      scene.clock.advance(30_000);
      scene.log(UNAUTHORIZED);
    }
    expect((await scene.passes(2)).intents).toMatchObject([{ restart: { cause: "Unknown", workedMs: 0 } }]);
  });

  it("is Suspected while 401s are not persistent, and rechecks after five seconds", async () => {
    const scene = new Scene();
    scene.log(UNAUTHORIZED);
    expect(await scene.pass()).toMatchObject({
      status: "True",
      reason: "Suspected",
      intents: [],
      recheckAfterMs: 5_000,
    });
  });

  it.each<[Mode, string]>([
    ["Observe", "In Enforce mode the operator would evict the pod."],
    ["OperatorObserves", "The operator runs with --mode=Observe, else it would evict the pod."],
    [
      "NamespaceSkipped",
      "The Namespace has the annotation controller-resilience.io/skip, else the operator would evict the pod.",
    ],
  ])("plans the same in mode %s and reports WouldRestart", async (mode, words) => {
    const scene = new Scene();
    scene.judged = mode;
    const { pass } = await sick(scene);
    expect(pass).toMatchObject({ reason: "WouldRestart", intents: [{ verb: "evict" }], progressing: false });
    expect(pass.message).toContain(words);
  });

  it("does not restart terminating pods, other workloads' pods, or skipped pods", async () => {
    const terminating = new Scene();
    terminating.podList = [terminating.podAt(-3_600_000, { deletedAtMs: terminating.clock.now().getTime() })];
    expect((await sick(terminating)).pass).toMatchObject({ intents: [], lists: { targets: [{ pods: 0 }] } });
    const foreign = new Scene();
    foreign.podList = [foreign.podAt(-3_600_000, { owner: { kind: "ReplicaSet", name: "web-api-5d", uid: "x" } })];
    expect((await sick(foreign)).pass).toMatchObject({ reason: "NothingToDo", intents: [] });
    const skipped = new Scene();
    skipped.podList = [skipped.podAt(-3_600_000, { skip: true })];
    expect((await sick(skipped)).pass).toMatchObject({ status: "False", reason: "Rejected", intents: [] });
  });

  it("takes no log of a program that logs the 401s of others for evidence, but still the age of the ServiceAccount", async () => {
    const scene = new Scene();
    scene.workloadList = [workload({ logsForeign401s: true })];
    expect((await sick(scene)).pass).toMatchObject({ status: "True", intents: [] });
    scene.accounts.set("web", scene.account("sa-2", 0));
    expect(await scene.passes(12)).toMatchObject({ reason: "Rejected", intents: [{ verb: "evict" }] });
  });

  it("counts a record with one of extraPhrases as a 401", async () => {
    const scene = new Scene({ extraPhrases: ["Token is dead"] });
    scene.log("my TOKEN IS DEAD");
    expect(await scene.passes(12, () => scene.log("my TOKEN IS DEAD"))).toMatchObject({ reason: "Rejected" });
  });
});

describe("the age of the ServiceAccount", () => {
  it("rejects a pod after its first 401", async () => {
    const scene = new Scene();
    scene.accounts.set("web", scene.account("sa-2", 0));
    scene.clock.advance(2_000);
    const suspected = await scene.pass();
    expect(suspected).toMatchObject({ reason: "Suspected" });
    expect(suspected.message).toMatch(
      / is older than its ServiceAccount .*; no 401 response confirms it yet; without one/,
    );
    scene.clock.advance(5_000);
    scene.log(UNAUTHORIZED);
    const pass = await scene.pass();
    expect(pass).toMatchObject({
      reason: "Rejected",
      intents: [{ restart: { cause: "ServiceAccountRecreated", serviceAccountUID: "sa-2" } }],
    });
  });

  it("rejects a pod after 60 s without a log line, also when logs cannot be read", async () => {
    const scene = new Scene();
    scene.logs.before = () => Promise.reject(new ForbiddenError("pods/log may not be read"));
    await scene.passes(1);
    scene.accounts.set("web", scene.account("sa-2", 0));
    scene.clock.advance(59_000);
    expect(await scene.pass()).toMatchObject({ status: "Unknown", reason: "Forbidden", intents: [] });
    scene.clock.advance(1_000);
    const pass = await scene.pass();
    expect(pass.intents).toHaveLength(1);
    expect(pass.message).toContain("pods/log may not be read");
  });

  it.each([
    ["the ServiceAccount was missing for so long that the kubelet may have renewed the token since", 600_000, false],
    ["a new leader does not know how long it was missing", 1_000, true],
  ])("rejects no pod on a later token without a log line where %s", async (_, missingMs, failsOver) => {
    const scene = new Scene();
    await scene.passes(1);
    scene.accounts.delete("web");
    await scene.pass();
    if (failsOver) scene.failOver();
    scene.clock.advance(missingMs);
    scene.accounts.set("web", scene.account("sa-2", 0));
    const pass = await scene.passes(30);
    expect(pass).toMatchObject({ status: "True", reason: "Suspected", intents: [] });
    scene.log(UNAUTHORIZED);
    expect((await scene.passes(2)).intents).toMatchObject([{ restart: { cause: "ServiceAccountRecreated" } }]);
  });

  it("accepts a pod whose log shows that it has recovered", async () => {
    const scene = new Scene();
    const nowMs = scene.clock.now().getTime();
    scene.podList = [scene.podAt(-2_400_000, {})];
    scene.accounts.set("web", scene.account("sa-2", -2_000_000));
    for (let ms = nowMs - 800_000; ms < nowMs; ms += 10_000)
      scene.logs.write("web-5d-a", "main", { ms, text: ms < nowMs - 400_000 ? UNAUTHORIZED : "all is well" });
    expect(await scene.pass()).toMatchObject({ reason: "Accepted", intents: [] });
  });

  it("is no evidence when the spec does not list it", async () => {
    const scene = new Scene({ evidence: ["Logs"] });
    scene.accounts.set("web", scene.account("sa-2", -120_000));
    expect(await scene.pass()).toMatchObject({ reason: "Accepted" });
  });

  it("reports a missing ServiceAccount without a restart", async () => {
    const scene = new Scene();
    scene.accounts.clear();
    const { pass } = await sick(scene);
    expect(pass).toMatchObject({
      status: "False",
      reason: "ServiceAccountMissing",
      intents: [],
      stalled: { reason: "ServiceAccountMissing" },
    });
  });

  it("does not report a missing ServiceAccount for a pod without its token or with the skip annotation", async () => {
    const [tokenless, skipped, left] = [new Scene(), new Scene(), new Scene()];
    tokenless.podList = [tokenless.podAt(-3_600_000, { mountsToken: false })];
    skipped.podList = [skipped.podAt(-3_600_000, { skip: true })];
    left.workloadList = [workload({ skip: true })];
    for (const scene of [tokenless, skipped, left]) {
      scene.accounts.clear();
      expect(await scene.pass()).toMatchObject({ status: "True", reason: "Accepted", intents: [] });
    }
  });

  it("restarts other pods while one pod's ServiceAccount is missing", async () => {
    const scene = new Scene();
    scene.podList.push(
      scene.podAt(-3_600_000, { name: "web-5d-o", uid: "uid-o", serviceAccountName: "old", mountsToken: false }),
    );
    scene.logs.write("web-5d-o", "main");
    const { pass } = await sick(scene);
    expect(pass.intents).toMatchObject([{ target: { name: "web-5d-a" } }]);
  });
});

describe("after a restart", () => {
  it("settles open restarts of former targets without extra passes", async () => {
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
    const pass = await scene.pass();
    expect(pass.restarts).toMatchObject([{ outcome: "Replaced" }, { outcome: "Restarted" }]);
    expect(pass.recheckAfterMs).toBe(KEYS_RECHECK_MS);
  });
});

describe("failed reads", () => {
  it("reports a 403, and restarts no pod with an unreadable ServiceAccount", async () => {
    const scene = new Scene();
    scene.failing.serviceAccount = new ForbiddenError("the operator may not get serviceaccounts in team");
    const { pass } = await sick(scene);
    expect(pass).toMatchObject({ status: "Unknown", reason: "Forbidden", intents: [] });
    expect(pass.message).toContain("ServiceAccount web of pod web-5d-a cannot be read");
    expect(pass.message).toContain("may not get serviceaccounts");
    const healthy = new Scene();
    healthy.failing.serviceAccount = new ForbiddenError("the operator may not get serviceaccounts in team");
    expect(await healthy.pass()).toMatchObject({ status: "Unknown", reason: "Forbidden", intents: [] });
  });

  it("is Unknown before the logs were read", async () => {
    const scene = new Scene();
    scene.logs.before = () => Promise.reject(new TransientError("the kubelet does not answer"));
    await expect(scene.pass()).rejects.toThrow(new NotYetError("the logs are being read", 3_000));
    scene.clock.advance(3_000);
    const blind = await scene.pass();
    expect(blind).toMatchObject({ status: "Unknown", reason: "ObserveFailed" });
    expect(blind.message).toContain("not read yet");
    scene.logs.before = () => undefined;
    expect((await scene.passes(10)).reason).toBe("Accepted");
  });

  it("reports a container name that no pod has", async () => {
    const { pass } = await sick(new Scene({ containers: ["mian"] }));
    expect(pass).toMatchObject({ status: "Unknown", reason: "ObserveFailed", intents: [] });
    expect(pass.message).toContain("container mian");
    expect((await sick(new Scene({ containers: ["main", "mian"] }))).pass.message).toContain("container mian");
    expect((await sick(new Scene({ containers: ["main"] }))).pass.message).not.toContain(
      "spec.tokenRestart.containers",
    );
  });

  it("does not wait for one log that hangs", async () => {
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

  it("say which target is missing", async () => {
    const scene = new Scene();
    scene.workloadList = [];
    const pass = await scene.pass();
    expect(pass).toMatchObject({ status: "False", reason: "TargetNotFound", intents: [] });
    expect(pass.message).toContain("Deployment/web");
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
    const selector = { matchExpressions: [{ key: "app", operator: "Exists" as const }] };
    scene.object.spec.targets = [{ kind: "Deployment", selector }];
    return scene;
  }

  it("restarts no pod without a mounted token, also when another workload is persistently rejected", async () => {
    const scene = withDatabase();
    scene.podList = scene.podList.map(pod => (pod.name === "web-5d-a" ? { ...pod, mountsToken: false } : pod));
    scene.log(UNAUTHORIZED, "db-5d-a");
    const { pass } = await sick(scene);
    expect(pass).toMatchObject({ reason: "Rejected", intents: [], stalled: { reason: "Rejected" } });
    const both = await scene.passes(14, () => ["web-5d-a", "db-5d-a"].forEach(name => scene.log(UNAUTHORIZED, name)));
    const restarts = both.intents.map(({ restart }) => [restart?.workload, restart?.cause]);
    expect(restarts).toEqual([["Deployment/db", "Unknown"]]);
  });
});

describe("two objects with one workload", () => {
  it("restart its pods by the older one alone; the younger says so", async () => {
    const scene = new Scene();
    scene.podList.push(scene.podAt(-3_600_000, { name: "web-5d-z", uid: "z", deletedAtMs: 0 }));
    scene.share("older");
    const { pass } = await sick(scene);
    expect(pass).toMatchObject({ status: "False", reason: "Conflict", intents: [], stalled: { reason: "Conflict" } });
    expect(pass.message).toBe(
      "Deployment/web: 1 of 1 pod rejected; ControllerResilience older acts on its pods, and this one does not; remove the workload from the targets of one of them.",
    );
    scene.objects = () => Promise.resolve([scene.object]);
    expect((await scene.pass()).intents).toHaveLength(1);
  });
});

describe("the operator's own pods", () => {
  it("are reported and not restarted, whatever they log", async () => {
    const scene = new Scene();
    scene.operator = "system:serviceaccount:team:web";
    const pass = await scene.passes(13, () => scene.log(UNAUTHORIZED));
    expect(pass).toMatchObject({ status: "False", reason: "Rejected", intents: [], stalled: { reason: "Rejected" } });
    expect(pass.message).toContain("no restart of the operator's own pods");
    const other = new Scene();
    other.operator = "system:serviceaccount:other:web";
    expect((await other.passes(13, () => other.log(UNAUTHORIZED))).intents).toHaveLength(1);
  });
});

describe("a log that is written faster than it can be read", () => {
  it("is reported as partial, until the window has passed", async () => {
    const scene = new Scene();
    const flood = (): void => {
      const ms = scene.clock.now().getTime();
      const text = "x".repeat(60_000);
      for (let i = 0; i < 400; i++) scene.logs.write("web-5d-a", "main", { ms: ms - 200_000 + i, text });
    };
    expect((await scene.pass()).message).not.toContain("skipped");
    flood();
    const partial = await scene.passes(14);
    expect(partial).toMatchObject({ status: "True", reason: "Accepted" });
    expect(partial.message).toMatch(/log of pod web-5d-a was skipped: .*, or the clock of its node was set back/);
    scene.log("fine");
    scene.clock.advance(600_000);
    expect((await scene.passes(70, () => scene.log("fine"))).message).not.toContain("skipped");
  });
});
