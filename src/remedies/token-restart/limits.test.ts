import { describe, expect, it } from "vitest";
import type { RestartStatus, TokenRestartSpec } from "../../api/controller-resilience";
import { Scene, UNAUTHORIZED, workload } from "./testing/scene";

const MINUTE = 60_000;

/** A Deployment whose ServiceAccount was recreated 61 s ago. */
function recreated(spec: Partial<TokenRestartSpec>, pods = 3): Scene {
  const scene = new Scene(spec);
  scene.workloadList = [workload({ replicas: pods })];
  scene.podList = Array.from({ length: pods }, (_, i) =>
    scene.podAt(-3_600_000 - i, { name: `web-5d-${i}`, uid: `uid-${i}` }),
  );
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
    expect(waiting.lists?.targets?.[0]).not.toHaveProperty("exhaustedGeneration");
    expect((await scene.passes(6)).intents).toMatchObject([{ restart: { serviceAccountUID: "sa-2" } }]);
  });

  it("counts a third incident as one restart from its first replacement on", async () => {
    const scene = recreated({});
    addRestart(scene, 50);
    addRestart(scene, 20);
    expect(await replaceFirst(scene)).toMatchObject(DEFERRED);
  });

  it("waits for the outcome of a request with a lost answer", async () => {
    const scene = recreated({ maxRestarts: 1 }, 1);
    scene.noteRestart((await scene.pass()).intents[0]!, "Requested");
    expect(await scene.pass()).toMatchObject(DEFERRED);
  });

  it("is named in the message when the cooldown would allow the restart", async () => {
    const scene = recreated({ maxRestarts: 1, maxUnavailable: 2, cooldown: "1m" });
    await replaceFirst(scene);
    scene.podList = scene.podList.map(pod => (pod.name === "web-5d-new" ? { ...pod, ready: false } : pod));
    const message = (await scene.passes(20)).message;
    expect(message).toContain("pod web-5d-2 to recover, at most until 2025-01-01T13:00:00Z (maxRestarts)");
  });

  it.each<[string, Partial<RestartStatus>]>([
    ["a replacement of the same incident that did not help", { serviceAccountUID: "sa-2", outcome: "Ineffective" }],
  ])("is used up by %s", async (_, over) => {
    const scene = recreated({ maxRestarts: 1, maxUnavailable: 2 });
    addRestart(scene, 9, over);
    expect(await scene.pass()).toMatchObject({ reason: "RestartsExhausted", intents: [] });
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
    const scene = new Scene({ maxUnavailable: 2 });
    scene.workloadList = [workload({ replicas: 3 })];
    scene.podList = [0, 1, 2].map(i => scene.podAt(-3_600_000 - i, { name: `web-5d-${i}`, uid: `uid-${i}` }));
    const log = (): void => scene.podList.forEach(({ name }) => scene.log(UNAUTHORIZED, name));
    const [intent] = (await scene.passes(15, log)).intents;
    scene.noteRestart(intent!);
    scene.replacePod(intent!.target.name, "web-5d-new");
    scene.clock.advance(5_000);
    log();
    const waiting = await scene.pass();
    expect(waiting).toMatchObject(DEFERRED);
    expect(waiting.message).toContain(
      `waiting for the restart of pod ${intent!.target.name} to recover, at most until 2025-01-01T12:1`,
    );
  });
});

describe("a change of the spec after the restarts were used up", () => {
  const ineffective = { outcome: "Ineffective", serviceAccountUID: "sa-2" } as const;

  function change(scene: Scene): void {
    const { metadata } = scene.object;
    scene.object = { ...scene.object, metadata: { ...metadata, generation: metadata.generation + 1 } };
  }

  it("allows more restarts after one plain cooldown, without its doublings", async () => {
    const scene = recreated({ maxRestarts: 1, cooldown: "2m" });
    addRestart(scene, 1, ineffective);
    expect(await scene.pass()).toMatchObject({ reason: "RestartsExhausted" });
    change(scene);
    const waiting = await scene.passes(11);
    expect(waiting).toMatchObject(DEFERRED);
    expect(waiting.message).toContain("possible at 2025-01-01T12:01:00Z (cooldown)");
    expect(waiting).toMatchObject({ restarts: [ineffective], lists: { targets: [{ exhaustedGeneration: 1 }] } });
    const allowed = await scene.passes(1);
    expect(allowed.intents).toHaveLength(1);
    expect(allowed.lists?.targets?.[0]).not.toHaveProperty("exhaustedGeneration");
  });

  it("reports the outcome of a restart before it is forgotten", async () => {
    const scene = new Scene();
    scene.podList = [scene.podAt(-660_000, {})];
    scene.log("started");
    addRestart(scene, 12, { cause: "Unknown", outcome: "Restarted" });
    scene.clock.advance(95_000);
    const target = { kind: "Deployment", name: "web", pods: 1, rejectedPods: 1, exhaustedGeneration: 1 } as const;
    scene.object = { ...scene.object, status: { ...scene.object.status, targets: [target] } };
    change(scene);
    const { events, restarts } = await scene.pass();
    expect(events).toMatchObject([{ reason: "PodRecovered" }]);
    expect(restarts).toMatchObject([{ outcome: "Recovered" }]);
  });

  it("does not count forgiven restarts again after the next one failed", async () => {
    const scene = recreated({ maxRestarts: 2, cooldown: "1m" });
    for (const minutesAgo of [12, 9]) addRestart(scene, minutesAgo, ineffective);
    expect(await scene.pass()).toMatchObject({ reason: "RestartsExhausted" });
    change(scene);
    scene.noteRestart((await scene.pass()).intents[0]!, "Ineffective");
    expect(await scene.pass()).toMatchObject({ ...DEFERRED, restarts: [ineffective] });
  });
});
