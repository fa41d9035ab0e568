import type { Outcome } from "../../core/intent";
import { describe, expect, it } from "vitest";
import type { RestartStatus, TokenRestartSpec } from "../../api/controller-resilience";
import type { PodView, RolloutView } from "../../core/views";
import { workload } from "../../core/testing/views";
import { replicated, type Scene, UNAUTHORIZED } from "./testing/scene";
import { restartAt } from "../../restarts/testing/history";

const MINUTE = 60_000;

function logAll(scene: Scene): void {
  for (const { name } of scene.podList) scene.log(UNAUTHORIZED, name);
}

it("the pod of the lowest number is restarted first in a StatefulSet, which creates no successor behind one that is not Ready", async () => {
  const scene = replicated(2);
  const view = workload({ kind: "StatefulSet", replicas: 2 });
  scene.workloadList = [view];
  scene.object.spec.targets = [{ kind: "StatefulSet", name: view.name }];
  const owner = { kind: "StatefulSet", name: view.name, uid: view.uid };
  scene.podList = scene.podList.map(pod => ({ ...pod, owner, ready: false }));
  const pass = await scene.passes(15, () => logAll(scene));
  expect(pass.intents).toMatchObject([{ restart: { pod: "web-5d-0" } }]);
});

it("a field that the definition in the cluster does not know has its default", async () => {
  const scene = replicated(1);
  Reflect.deleteProperty(scene.object.spec.tokenRestart!, "maxRestarts");
  const pass = await scene.passes(15, () => logAll(scene));
  expect(pass.intents).toMatchObject([{ restart: { limits: { maxRestarts: 3 } } }]);
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

  it.each([1, 2])("does not wait for one that is proven dead, Ready, and waits for it: %d more", async more => {
    const scene = replicated(1 + more);
    scene.accounts.set("other", scene.account("sa-9", 0, "other"));
    scene.podList = scene.podList.map((pod, i) =>
      i === 0 ? { ...pod, serviceAccountName: "other" } : { ...pod, ready: false },
    );
    const pass = await scene.passes(15, () => logAll(scene));
    expect(pass.intents).toMatchObject([{ restart: { pod: `web-5d-${more}`, cause: "Unknown" } }]);
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

/** A Deployment whose pods have their first tokens, and whose ServiceAccount was recreated 61 s ago. */
function recreated(spec: Partial<TokenRestartSpec>, pods = 3): Scene {
  const scene = replicated(pods, spec, i => ({ volumesReadyMs: Date.parse("2025-01-01T11:30:00Z") - i }));
  for (const { name } of scene.podList) scene.logs.write(name, "main");
  scene.accounts.set("web", scene.account("sa-2", -61_000));
  return scene;
}

/** Adds a restart of another pod to status. */
function addRestart(scene: Scene, minutesAgo: number, over: Partial<RestartStatus> = {}): void {
  const incident = { cause: "ServiceAccountRecreated", serviceAccountUID: `sa of ${minutesAgo} minutes ago` };
  const of = { pod: "web-5d-x", workload: "Deployment/web", ...incident, ...over };
  const entry = restartAt(scene.nowMs - minutesAgo * MINUTE, of);
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

describe("maxUnavailable", () => {
  it("is the number of pods that a proven incident may have down at a time", async () => {
    const scene = recreated({ maxUnavailable: 2 });
    const second = await replaceFirst(scene);
    expect(second.intents).toMatchObject([{ restart: { pod: "web-5d-1" } }]);
    scene.noteRestart(second.intents[0]!);
    scene.replacePod("web-5d-1", "web-5d-new-2");
    scene.clock.advance(5_000);
    const third = await scene.pass();
    expect(third).toMatchObject({ status: "False", reason: "RestartDeferred", intents: [], progressing: true });
    expect(third.message).toContain("(maxUnavailable 2)");
  });
});

describe("a workload that waits", () => {
  it("for a PodDisruptionBudget is Stalled after an hour, and says what a person can do", async () => {
    const scene = replicated(1);
    let pass = await scene.live(2);
    const refused = {
      result: "Blocked",
      message: "429: Cannot evict pod. The disruption budget web-pdb needs 1 healthy pods and has 1 currently",
      retryAfterMs: 300_000,
    } as const;
    const stalledAfter: number[] = [];
    for (let minutes = 0; minutes <= 70; minutes += 5) {
      expect(pass.intents).toHaveLength(1);
      scene.report(pass, refused);
      if (pass.stalled !== undefined) stalledAfter.push(minutes);
      expect(await scene.live(4.5)).toMatchObject({ reason: "RestartBlocked", intents: [] });
      pass = await scene.live(0.5);
    }
    expect(stalledAfter).toEqual([60, 65, 70]);
    expect(pass.stalled?.message).toContain("Waiting since 2025-01-01T12:01:05Z");
    const { stalled } = scene.report(pass, refused);
    expect(stalled?.message).toContain(
      "PodDisruptionBudget web-pdb does not allow the eviction of pod web-5d-0, next try at",
    );
    expect(stalled?.message).toContain("if the eviction is refused, check the PodDisruptionBudget");
    const executed = scene.report(pass, { result: "Executed" });
    expect(executed).not.toHaveProperty("stalled");
  });
});

describe("the rollout of a workload", () => {
  /** The only pod has an older template. */
  async function update(
    rollout: Omit<RolloutView, "isComplete">,
    over: Partial<PodView> = {},
  ): ReturnType<Scene["pass"]> {
    const scene = replicated(1, {}, () => ({ labels: { revision: "old", "pod-template-hash": "5d" }, ...over }));
    scene.workloadList = [workload({ rollout: { isComplete: false, ...rollout } })];
    return scene.live(2);
  }

  it("in progress delays a restart, and the message says until when", async () => {
    const pass = await update({ strategy: "RollingUpdate", isInProgress: true });
    expect(pass).toMatchObject({ intents: [], reason: "RestartDeferred", progressing: true });
    expect(pass.message).toBe(
      "Deployment/web: 1 of 1 pod rejected; waiting for the rollout in progress, until 2025-01-01T12:11:05Z at the latest.",
    );
  });

  const current = { strategy: "OnDelete", isInProgress: false, currentLabel: { key: "revision", value: "new" } };

  it.each<[string, Partial<PodView>]>([
    ["an older template, and with update strategy OnDelete a restart would upgrade it", {}],
    ["mounts no ServiceAccount token", { mountsToken: false }],
    ["no action because of the annotation", { mountsToken: false, skip: true }],
  ])("with the update strategy OnDelete gives the pod its own message: %s", async (words, over) => {
    const pass = await update(current, over);
    expect(pass).toMatchObject({ intents: [], reason: "Rejected" });
    expect(pass.message).toContain(words);
  });
});
