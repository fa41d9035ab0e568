import { describe, expect, it } from "vitest";
import type { RestartStatus, TokenRestartSpec } from "../../api/controller-resilience";
import { Scene, workload } from "./testing/scene";

const MINUTE = 60_000;

/** A Deployment of so many pods, the ServiceAccount of which was recreated 61 s ago. */
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

/** What status tells of a restart of another pod. */
function told(scene: Scene, minutesAgo: number, over: Partial<RestartStatus> = {}): void {
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

/** The first pod is replaced; the pass after that. */
async function replaceFirst(scene: Scene): ReturnType<Scene["pass"]> {
  const [intent] = (await scene.pass()).intents;
  scene.noteRestart(intent!);
  scene.replacePod(intent!.target.name, "web-5d-new");
  scene.clock.advance(5_000);
  return scene.pass();
}

const DEFERRED = { status: "False", reason: "RestartDeferred", intents: [], progressing: true };

describe("maxRestarts", () => {
  it("is not used up by an incident's own replacement before it is known whether that helps", async () => {
    const scene = recreated({ maxRestarts: 1 });
    const waiting = await replaceFirst(scene);
    expect(waiting).toMatchObject(DEFERRED);
    expect(waiting).not.toHaveProperty("stalled");
    expect(waiting.parts?.targets?.[0]).not.toHaveProperty("exhaustedGeneration");
    expect((await scene.passes(6)).intents).toMatchObject([{ restart: { serviceAccountUID: "sa-2" } }]);
  });

  it("takes a third incident for one restart from its first replacement on", async () => {
    const scene = recreated({});
    told(scene, 50);
    told(scene, 20);
    expect(await replaceFirst(scene)).toMatchObject(DEFERRED);
  });

  it("waits for what became of a request whose answer was lost", async () => {
    const scene = recreated({ maxRestarts: 1 }, 1);
    scene.noteRestart((await scene.pass()).intents[0]!, "Requested");
    expect(await scene.pass()).toMatchObject(DEFERRED);
  });

  it("is told where it holds back what the cooldown does not", async () => {
    const scene = recreated({ maxRestarts: 1, maxUnavailable: 2, cooldown: "1m" });
    await replaceFirst(scene);
    scene.podList = scene.podList.map(pod => (pod.name === "web-5d-new" ? { ...pod, ready: false } : pod));
    const message = (await scene.passes(20)).message;
    expect(message).toContain("possible at 2025-01-01T13:00:00Z (maxRestarts)");
  });

  it.each<[string, Partial<RestartStatus>]>([
    ["a replacement of the same incident that did not help", { serviceAccountUID: "sa-2", outcome: "Ineffective" }],
    ["another incident's, though it is still watched", { outcome: "Restarted" }],
  ])("is used up by %s", async (_, over) => {
    const scene = recreated({ maxRestarts: 1, maxUnavailable: 2 });
    told(scene, 9, over);
    expect(await scene.pass()).toMatchObject({ reason: "RestartsExhausted", intents: [] });
  });
});

describe("a change of the spec after the restarts were used up", () => {
  const vain = { outcome: "Ineffective" } as const;

  function change(scene: Scene): void {
    const { metadata } = scene.object;
    scene.object = { ...scene.object, metadata: { ...metadata, generation: metadata.generation + 1 } };
  }

  it("allows further ones, but none before the cooldown is over, for which its doublings count no more", async () => {
    const scene = recreated({ maxRestarts: 1, cooldown: "2m" });
    told(scene, 1, vain);
    expect(await scene.pass()).toMatchObject({ reason: "RestartsExhausted" });
    change(scene);
    const waiting = await scene.passes(11);
    expect(waiting).toMatchObject(DEFERRED);
    expect(waiting.message).toContain("possible at 2025-01-01T12:01:00Z (cooldown)");
    expect(waiting.parts).toMatchObject({ restarts: [vain], targets: [{ exhaustedGeneration: 1 }] });
    const allowed = await scene.passes(1);
    expect(allowed.intents).toHaveLength(1);
    expect(allowed.parts?.targets?.[0]).not.toHaveProperty("exhaustedGeneration");
  });

  it("forgets no restart before it was told what became of it", async () => {
    const scene = new Scene();
    scene.podList = [scene.podAt(-660_000, {})];
    told(scene, 12, { cause: "Unknown", outcome: "Restarted" });
    const target = { kind: "Deployment", name: "web", pods: 1, rejectedPods: 1, exhaustedGeneration: 1 } as const;
    scene.object = { ...scene.object, status: { ...scene.object.status, targets: [target] } };
    change(scene);
    const { announcements, parts } = await scene.pass();
    expect(announcements).toMatchObject([{ reason: "PodRecovered" }]);
    expect(parts?.restarts).toMatchObject([{ outcome: "Recovered" }]);
  });

  it("grants them anew: the forgiven ones do not count once more when the next has failed", async () => {
    const scene = recreated({ maxRestarts: 2, cooldown: "1m" });
    for (const minutesAgo of [12, 9]) told(scene, minutesAgo, vain);
    expect(await scene.pass()).toMatchObject({ reason: "RestartsExhausted" });
    change(scene);
    scene.noteRestart((await scene.pass()).intents[0]!, "Ineffective");
    expect(await scene.pass()).toMatchObject({ ...DEFERRED, parts: { restarts: [vain] } });
  });
});
