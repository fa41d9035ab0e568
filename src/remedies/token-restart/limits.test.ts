import type { Outcome } from "../../core/intent";
import { nextGeneration } from "../../core/testing/objects";
import { describe, expect, it } from "vitest";
import type { RestartStatus, TokenRestartSpec } from "../../api/controller-resilience";
import type { PodView } from "../../core/views";
import { replicated, Scene, UNAUTHORIZED, workload, type ScenePass } from "./testing/scene";

const MINUTE = 60_000;

function logAll(scene: Scene): void {
  for (const { name } of scene.podList) scene.log(UNAUTHORIZED, name);
}

/** Runs passes for some minutes; `isDead` pods log 401s, and each restart is executed. Returns the last pass and the restarted pods. */
async function heal(
  scene: Scene,
  minutes: number,
  isDead: (pod: string, second: number) => boolean,
): Promise<{ pass: ScenePass; restarted: string[] }> {
  const restarted: string[] = [];
  let pass = await scene.pass();
  for (let second = 5; second <= minutes * 60; second += 5) {
    scene.clock.advance(5_000);
    for (const { name } of scene.podList) scene.log(isDead(name, second) ? UNAUTHORIZED : "working", name);
    pass = await scene.pass();
    for (const intent of pass.intents) {
      const name = intent.restart!.pod;
      scene.noteRestart(intent);
      scene.replacePod(name, `${name}x`);
      restarted.push(name);
    }
  }
  return { pass, restarted };
}

describe("one incident", () => {
  it("is healed in every pod of a workload although the cause is not proven", async () => {
    const scene = replicated(5);
    const { pass, restarted } = await heal(scene, 20, pod => !pod.endsWith("x"));
    expect(new Set(restarted).size).toBe(5);
    expect(restarted).toHaveLength(5);
    expect(pass).toMatchObject({ reason: "Accepted" });
  });

  it("of short rejections that come back ends after two restarts, and then needs a person", async () => {
    const scene = replicated(1);
    const { pass, restarted } = await heal(scene, 242, (_, second) => second % 720 < 120);
    expect(restarted).toHaveLength(2);
    expect(pass).toMatchObject({ reason: "RestartsExhausted" });
  });

  it("that restarts do not help does not stop the healing of a proven one", async () => {
    const scene = replicated(1);
    const first = await heal(scene, 60, () => true);
    expect(first.pass).toMatchObject({ reason: "RestartsExhausted", stalled: { reason: "RestartsExhausted" } });
    expect(first.restarted).toHaveLength(2);
    scene.accounts.set("web", scene.account("sa-2", 0));
    const second = await heal(scene, 5, () => true);
    expect(second.restarted).toHaveLength(1);
    expect(second.pass.restarts.at(-1)).toMatchObject({ cause: "ServiceAccountRecreated", serviceAccountUID: "sa-2" });
  });

  it("of which a ServiceAccount is recreated again and again is bounded by maxRestarts, and goes on by itself", async () => {
    const scene = replicated(1);
    const accounts = [50, 35, 20].map((minutesAgo): RestartStatus => {
      return {
        pod: "web-5d-x",
        podUID: `uid of ${minutesAgo}`,
        workload: "Deployment/web",
        time: new Date(scene.clock.now().getTime() - minutesAgo * MINUTE).toISOString(),
        cause: "ServiceAccountRecreated",
        serviceAccountUID: `sa of ${minutesAgo}`,
        outcome: "Recovered",
      };
    });
    scene.object = { ...scene.object, status: { restarts: accounts } };
    scene.accounts.set("web", scene.account("sa-2", 0));
    const waiting = await heal(scene, 9, () => true);
    expect(waiting.restarted).toEqual([]);
    expect(waiting.pass).toMatchObject({ reason: "RestartDeferred", progressing: true });
    expect((await heal(scene, 2, () => true)).restarted).toHaveLength(1);
  });
});

describe("a pod that cannot be healed", () => {
  it("does not keep its siblings from their turn once the restarts of its incident are used up", async () => {
    const scene = replicated(2);
    scene.accounts.set("other", scene.account("sa-9", 0, "other"));
    scene.podList = scene.podList.map((pod, i) =>
      i === 0 ? { ...pod, serviceAccountName: "other", ready: false } : pod,
    );
    for (const minutesAgo of [300, 240, 180])
      addRestart(scene, minutesAgo, { serviceAccountUID: "sa-9", outcome: "Ineffective" });
    const pass = await scene.passes(15, () => logAll(scene));
    expect(pass.intents).toMatchObject([]);
    expect(pass).toMatchObject({ reason: "RestartDeferred" });
    scene.podList = scene.podList.map(pod => ({ ...pod, ready: true }));
    const next = await scene.passes(1, () => logAll(scene));
    expect(next.intents).toMatchObject([{ restart: { pod: "web-5d-1" } }]);
  });

  it.each<Outcome>([
    { result: "Blocked", message: "it would violate the disruption budget", retryAfterMs: 60_000 },
    { result: "Forbidden", message: "a webhook denied the request" },
    { result: "Failed", message: "HTTP 500" },
  ])("does not keep its siblings from their turn while its own is $result", async outcome => {
    const scene = replicated(2);
    const ill = await scene.passes(15, () => logAll(scene));
    expect(ill.intents).toMatchObject([{ restart: { pod: "web-5d-1" } }]);
    scene.report(ill, outcome, 60_000);
    scene.clock.advance(5_000);
    expect((await scene.pass()).intents).toMatchObject([{ restart: { pod: "web-5d-0" } }]);
  });

  it("does not hide the others while its ServiceAccount is missing", async () => {
    const scene = replicated(2);
    scene.podList = scene.podList.map((pod, i) => (i === 0 ? { ...pod, serviceAccountName: "old" } : pod));
    const pass = await scene.passes(15, () => logAll(scene));
    expect(pass.intents).toMatchObject([{ restart: { pod: "web-5d-1" } }]);
  });

  it("stops the others when their successors would lack the same ServiceAccount", async () => {
    const scene = replicated(2);
    scene.workloadList = [workload({ replicas: 2, serviceAccountName: "new" })];
    scene.podList = scene.podList.map((pod, i) => (i === 0 ? { ...pod, serviceAccountName: "new" } : pod));
    const pass = await scene.passes(15, () => logAll(scene));
    expect(pass).toMatchObject({ reason: "ServiceAccountMissing", intents: [] });
  });
});

describe("an API server that rejected everybody for a minute and recovered", () => {
  it("leads to no restart afterwards", async () => {
    const scene = replicated(3);
    const { pass, restarted } = await heal(scene, 10, (_, second) => second <= 75 && second >= 15);
    expect(restarted.length).toBeLessThanOrEqual(1);
    expect(pass).toMatchObject({ reason: "Accepted" });
  });
});

/** A Deployment whose ServiceAccount was recreated 61 s ago. */
function recreated(spec: Partial<TokenRestartSpec>, pods = 3): Scene {
  const scene = replicated(pods, spec);
  for (const { name } of scene.podList) scene.logs.write(name, "main");
  scene.accounts.set("web", scene.account("sa-2", -61_000));
  return scene;
}

/** Adds a restart of another pod to status. */
function addRestart(scene: Scene, minutesAgo: number, over: Partial<RestartStatus> = {}): void {
  const entry: RestartStatus = {
    pod: "web-5d-x",
    podUID: `uid-${minutesAgo} minutes ago`,
    workload: "Deployment/web",
    time: new Date(scene.clock.now().getTime() - minutesAgo * MINUTE).toISOString(),
    cause: "ServiceAccountRecreated",
    serviceAccountUID: `sa of ${minutesAgo} minutes ago`,
    outcome: "Recovered",
    ...over,
  };
  const restarts = [...(scene.object.status?.restarts ?? []), entry];
  scene.object = { ...scene.object, status: { ...scene.object.status, restarts } };
}

/** Replaces the first pod, and returns the next pass. */
async function replaceFirst(scene: Scene): ReturnType<Scene["pass"]> {
  const [intent] = (await scene.pass()).intents;
  scene.noteRestart(intent!);
  scene.replacePod(intent!.target.name, "web-5d-new");
  scene.clock.advance(5_000);
  return scene.pass();
}

const DEFERRED = { status: "False", reason: "RestartDeferred", intents: [], progressing: true };

describe("maxRestarts", () => {
  it("is not used up by the incident's own replacement while its outcome is open", async () => {
    const scene = recreated({ maxRestarts: 1 });
    const waiting = await replaceFirst(scene);
    expect(waiting).toMatchObject(DEFERRED);
    expect(waiting).not.toHaveProperty("stalled");
    expect((await scene.passes(6)).intents).toMatchObject([{ restart: { serviceAccountUID: "sa-2" } }]);
  });

  it("counts a third incident as one restart from its first replacement on", async () => {
    const scene = recreated({});
    addRestart(scene, 50);
    addRestart(scene, 20);
    expect(await replaceFirst(scene)).toMatchObject(DEFERRED);
  });

  it("is named in the message when the cooldown would allow the restart", async () => {
    const scene = recreated({ maxRestarts: 1, maxUnavailable: 2, cooldown: "1m" });
    await replaceFirst(scene);
    scene.podList = scene.podList.map(pod => (pod.name === "web-5d-new" ? { ...pod, ready: false } : pod));
    const message = (await scene.passes(20)).message;
    expect(message).toContain("pod web-5d-2 to recover, at most until 2025-01-01T13:00:00Z (maxRestarts)");
  });
});

describe("maxUnavailable", () => {
  it("is the number of pods that a proven incident may have down at a time", async () => {
    const scene = recreated({ maxUnavailable: 2 });
    const second = await replaceFirst(scene);
    expect(second.intents).toMatchObject([{ restart: { pod: "web-5d-1" } }]);
    scene.noteRestart(second.intents[0]!);
    scene.replacePod("web-5d-1", "web-5d-new-2");
    scene.clock.advance(5_000);
    const third = await scene.pass();
    expect(third).toMatchObject(DEFERRED);
    expect(third.message).toContain("(maxUnavailable 2)");
  });

  it("counts a pod that is down for another reason beside a restarted one", async () => {
    const scene = recreated({ maxUnavailable: 2 }, 4);
    const name = "web-5d-0";
    const pending = scene.podAt(-120_000, { name, uid: "uid-0", ready: false, serviceAccountName: "new" });
    scene.podList = [pending, ...scene.podList.slice(1)];
    scene.accounts.set("new", scene.account("sa-9", -86_400_000, "new"));
    const [intent] = (await scene.pass()).intents;
    scene.noteRestart(intent!);
    scene.podList = scene.podList.filter(pod => pod.name !== intent!.target.name);
    scene.clock.advance(5_000);
    const waiting = await scene.pass();
    expect(waiting).toMatchObject(DEFERRED);
    expect(waiting.message).toContain("(maxUnavailable 2)");
  });

  it("does not let pods that are rejected by their logs alone go together, and names what they wait for", async () => {
    const scene = replicated(3, { maxUnavailable: 2 });
    const [intent] = (await scene.passes(15, () => logAll(scene))).intents;
    scene.noteRestart(intent!);
    scene.replacePod(intent!.target.name, "web-5d-new");
    scene.clock.advance(5_000);
    logAll(scene);
    const waiting = await scene.pass();
    expect(waiting).toMatchObject(DEFERRED);
    expect(waiting.message).toContain(
      `waiting for the restart of pod ${intent!.target.name} to recover, at most until 2025-01-01T12:1`,
    );
  });
});

describe("a change of the spec after the restarts were used up", () => {
  const ineffective = { outcome: "Ineffective", serviceAccountUID: "sa-2", generation: 1 } as const;

  it("allows more restarts after one plain cooldown, without its doublings", async () => {
    const scene = recreated({ maxRestarts: 1, cooldown: "2m" });
    addRestart(scene, 1, ineffective);
    expect(await scene.pass()).toMatchObject({ reason: "RestartsExhausted" });
    scene.object = nextGeneration(scene.object);
    const waiting = await scene.passes(11);
    expect(waiting).toMatchObject(DEFERRED);
    expect(waiting.message).toContain("possible at 2025-01-01T12:01:00Z (cooldown)");
    expect((await scene.passes(1)).intents).toMatchObject([{ restart: { generation: 2 } }]);
  });

  it("forgives no restart that helped, or whose generation is not known", async () => {
    for (const change of [{ outcome: "Recovered" }, { generation: undefined as never }] as const) {
      const scene = recreated({ maxRestarts: 1, cooldown: "2m" });
      addRestart(scene, 5, { ...ineffective, serviceAccountUID: "sa-1", ...change });
      scene.object = nextGeneration(scene.object);
      expect(await scene.pass()).toMatchObject(DEFERRED);
    }
  });
});

const NAMES = ["web-a", "web-b", "web-c"];

/** Seconds until a successor is Ready. */
const READY_AFTER = 11;

/** A successor `age` seconds after it became Ready. */
function grow(scene: Scene, name: string, age: number, log: (age: number) => string | undefined): void {
  const text = age < 0 ? undefined : log(age);
  if (text !== undefined) scene.log(text, name);
  if (age === 0) change(scene, name, { ready: true, readySinceMs: scene.clock.now().getTime() });
}

function change(scene: Scene, name: string, changes: Partial<PodView>): void {
  scene.podList = scene.podList.map(one => (one.name === name ? { ...one, ...changes } : one));
}

/** Three replicas that are older than their ServiceAccount. Returns the seconds of the evictions, with a pass per second. */
async function evictionsIn(seconds: number, log: (age: number) => string | undefined): Promise<number[]> {
  const scene = new Scene({ evidence: ["Logs", "ServiceAccountAge"] });
  scene.workloadList = [workload({ replicas: 3 })];
  scene.podList = NAMES.map(name => scene.podAt(-3_600_000, { name, uid: `uid-${name}` }));
  for (const name of NAMES) scene.logs.write(name, "main");
  scene.accounts.set("web", scene.account("sa-2", -1_000));
  const born = new Map<string, number>();
  const evictions: number[] = [];
  for (let second = 0; second < seconds; second++) {
    for (const { name } of scene.podList) if (!born.has(name) && second % 2 === 0) scene.log(UNAUTHORIZED, name);
    for (const [name, at] of born) grow(scene, name, second - at - READY_AFTER, log);
    const { intents } = await scene.pass();
    for (const intent of intents) {
      const successor = `new-${intent.target.name}`;
      scene.noteRestart(intent);
      scene.replacePod(intent.target.name, successor);
      change(scene, successor, { ready: false });
      born.set(successor, second);
      evictions.push(second);
    }
    scene.clock.advance(1_000);
  }
  return evictions;
}

const gaps = (times: readonly number[]): number[] => times.slice(1).map((time, i) => time - (times[i] ?? 0));

describe("replicas that are older than their ServiceAccount", () => {
  it("follow each other once the successor logs without a 401", async () => {
    const times = await evictionsIn(180, () => "synced");
    expect(times).toHaveLength(3);
    for (const gap of gaps(times)) {
      expect(gap).toBeGreaterThanOrEqual(READY_AFTER + 10);
      expect(gap).toBeLessThanOrEqual(READY_AFTER + 17);
    }
  });

  it.each<[string, (age: number) => string | undefined]>([
    ["logs nothing", () => undefined],
    ["logs its start only", age => (age < 3 ? "starting" : undefined)],
  ])("wait for half a minute if the successor %s", async (_, log) => {
    const times = await evictionsIn(240, log);
    for (const gap of gaps(times)) expect(gap).toBeGreaterThanOrEqual(READY_AFTER + 30);
    expect(times).toHaveLength(3);
  });

  it("follow the first line that shows that the successor works", async () => {
    const times = await evictionsIn(180, age => (age % 20 === 19 ? "still here" : undefined));
    expect(times).toHaveLength(3);
    for (const gap of gaps(times)) {
      expect(gap).toBeGreaterThanOrEqual(READY_AFTER + 19);
      expect(gap).toBeLessThanOrEqual(READY_AFTER + 26);
    }
  });

  it("wait if the successor gets a 401", async () => {
    const times = await evictionsIn(120, age => (age === 7 ? UNAUTHORIZED : "synced"));
    for (const gap of gaps(times)) expect(gap).toBeGreaterThanOrEqual(READY_AFTER + 30);
  });
});
