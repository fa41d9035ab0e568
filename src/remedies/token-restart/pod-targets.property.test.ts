import fc from "fast-check";
import { expect, it } from "vitest";
import type { TargetSelector } from "../../api/controller-resilience";
import type { PodView } from "../../core/views";
import { Scene, workload } from "./testing/scene";

type Owner = PodView["owner"];

const KEPT: readonly Owner[] = [
  undefined,
  { group: "batch", kind: "Job", name: "web", uid: "job" },
  { group: "", kind: "Node", name: "web", uid: "node" },
  { group: "apps", kind: "StatefulSet", name: "gone", uid: "gone" },
];

const OTHERS: readonly Owner[] = [
  { group: "apps", kind: "ReplicaSet", name: "web-5d", uid: "rs-5d" },
  { group: "apps", kind: "ReplicaSet", name: "web-7c", uid: "rs-7c" },
  { group: "apps", kind: "ReplicaSet", name: "lost-5d", uid: "rs-lost" },
  { group: "apps", kind: "StatefulSet", name: "web", uid: "sts" },
  { group: "apps.kruise.io", kind: "StatefulSet", name: "web", uid: "kruise" },
  { group: "apps.kruise.io", kind: "CloneSet", name: "web", uid: "clones" },
];

const labels: fc.Arbitrary<Record<string, string>> = fc
  .record(
    {
      app: fc.constantFrom("web", "db"),
      "pod-template-hash": fc.constantFrom("5d", "7c"),
      "rollouts-pod-template-hash": fc.constantFrom("5d", "7c"),
    },
    { requiredKeys: [] },
  )
  .map(some => ({ ...some }));

const pods = fc.array(
  fc.record({ owner: fc.constantFrom(...KEPT, ...OTHERS), labels, runsOnce: fc.boolean(), ready: fc.boolean() }),
  { minLength: 1, maxLength: 8 },
);

const targets: fc.Arbitrary<TargetSelector[]> = fc.array(
  fc.constantFrom<TargetSelector>(
    { kind: "Pod", selector: { matchLabels: { app: "web" } } },
    { kind: "Pod", selector: { matchExpressions: [{ key: "app", operator: "Exists" }] } },
    { kind: "Pod", selector: { matchExpressions: [{ key: "none", operator: "DoesNotExist" }] } },
    { kind: "Deployment", name: "web" },
    { kind: "StatefulSet", name: "web" },
  ),
  { minLength: 1, maxLength: 4 },
);

interface Shape {
  readonly owner: Owner;
  readonly labels: PodView["labels"];
  readonly runsOnce: boolean;
  readonly ready: boolean;
}

/** Every pod is older than its ServiceAccount. */
function sceneOf(targetList: TargetSelector[], views: readonly Shape[]): Scene {
  const scene = new Scene();
  scene.accounts.set("web", scene.account("sa-2", -600_000));
  scene.workloadList = [workload(), workload({ kind: "StatefulSet", uid: "sts" })];
  scene.podList = views.map(({ owner, runsOnce, ...over }, i) => {
    const { owner: none, ...view } = scene.podAt(-1_800_000, { name: `p${i}`, uid: `uid-p${i}`, ...over });
    expect(none).toBeDefined();
    scene.logs.write(view.name, "main");
    return { ...view, ...(owner && { owner }), ...(runsOnce && { runsOnce }) };
  });
  scene.object = { ...scene.object, spec: { ...scene.object.spec, targets: targetList } };
  return scene;
}

/** The pod belongs to a workload whose pods run until they are deleted: its controller ignores restartPolicy. */
function isTyped({ owner, labels: own }: PodView): boolean {
  if (owner?.group !== "apps") return false;
  return owner.kind === "StatefulSet" || owner.name === `web-${own["pod-template-hash"] ?? ""}`;
}

it("pods that nothing recreates are never restarted, and no pod counts in two workloads", async () => {
  let evictions = 0;
  await fc.assert(
    fc.asyncProperty(targets, pods, async (targetList, views) => {
      const scene = sceneOf(targetList, views);
      const pass = await scene.pass();
      const watched = pass.lists?.targets ?? [];
      expect(new Set(watched.map(({ kind, name }) => `${kind}/${name}`)).size).toBe(watched.length);
      const counted = watched.reduce((sum, target) => sum + target.pods, 0);
      expect(counted).toBeLessThanOrEqual(scene.podList.length);
      if (targetList.some(({ selector }) => selector?.matchExpressions?.[0]?.operator === "DoesNotExist"))
        expect(counted).toBe(scene.podList.length);
      const evicted = pass.intents.map(({ target }) => scene.podList.find(({ uid }) => uid === target.uid));
      expect(new Set(evicted).size).toBe(evicted.length);
      for (const pod of evicted) {
        expect(pod).toBeDefined();
        expect(KEPT).not.toContainEqual(pod?.owner);
        expect(pod?.runsOnce === true && !isTyped(pod)).toBe(false);
      }
      evictions += evicted.length;
    }),
    { numRuns: 300 },
  );
  expect(evictions).toBeGreaterThan(50);
});
