import { expect, it } from "vitest";
import { PLAIN, Scene, withToken } from "./testing/scene";

// What admission adds to pods besides what their template asks for, and what it refuses.

it("no template is changed where the default token's volume has more files, as on OpenShift, which the operator's volume would hide", async () => {
  const scene = new Scene();
  for (const pod of scene.podList) Object.assign(pod, { hasDefaultTokenExtras: true });
  await scene.run(500);
  expect(scene.lines).toEqual([]);
  expect(scene.last).toMatchObject({ reason: "Unsupported", stalled: { reason: "Unsupported" } });
  expect(scene.last.message).toContain("set defaultToken: Leave");
});

it("a trial without an eviction says what may have refused it, also at its end", async () => {
  const scene = new Scene();
  scene.evictionOutcome = { result: "Blocked", message: "a budget", retryAfterMs: 10_000 };
  await scene.run(4);
  await scene.clock.run(80 * 60_000);
  await scene.run(2);
  expect(scene.written.at(-1)?.why).toMatch(/no proof: no pod has .* does a PodDisruptionBudget refuse the eviction\?/);
  expect(scene.last.message).toContain(
    "gave no proof that the shorter token works: see the Event TokenLifetimeRestored",
  );
});

it("a trial ends once a pod of the changed template has a longer token besides, as a webhook's sidecar has; no second pod is evicted", async () => {
  const scene = withSidecars(new Scene());
  await scene.run(500);
  expect(scene.lines).toEqual(["apply DaemonSet", "evict Pod", "apply DaemonSet"]);
  expect(scene.entry()).toMatchObject({ outcome: "Unproven" });
  expect(scene.set().template).toEqual(PLAIN);
});

it.each([
  ["once all pods have it, as where a webhook adds another token", {}, "or delete the pod if nothing does any more"],
  ["with OnDelete", { updateStrategy: "OnDelete", updatedPods: 0 }, "delete the others by hand"],
])("a token that the author of the template has shortened is not waited for in vain %s", async (_, view, words) => {
  const scene = withSidecars(new Scene());
  scene.put("agent", withToken(600));
  scene.roll("agent", 600);
  scene.edit(view);
  const { reason, stalled } = await scene.pass();
  expect([reason, stalled?.message]).toEqual(["Unsupported", expect.stringContaining(words)]);
});

/** All new pods get a longer token besides. */
function withSidecars(scene: Scene): Scene {
  const makePod = scene.makePod.bind(scene);
  scene.makePod = (name, seconds) => ({
    ...makePod(name, seconds),
    ...{ labels: { generation: "2" }, maxTokenExpirationSeconds: 3607 },
  });
  const currentLabel = { key: "generation", value: "2" };
  scene.edit({ rollout: { strategy: "RollingUpdate", isComplete: true, isInProgress: false, currentLabel } });
  return scene;
}
