import { afterAll, beforeAll, expect, it } from "vitest";
import { type FakeAnswer, FakeServer, run } from "../testing/run";

const time = "2026-01-31T12:00:00Z";
const identity = { uid: "u", resourceVersion: "1", creationTimestamp: time };
const condition = (type: string, status: string, reason: string): object => ({
  ...{ type, status, reason, message: `message of ${reason}.` },
  lastTransitionTime: time,
});
const all = {
  metadata: { name: "all", ...identity },
  spec: { mode: "Observe", suspend: true, template: {} },
  status: {
    ...{ namespaces: 2, enforced: 1, workloads: 5, protected: 4, objects: 2 },
    excluded: [{ reason: "OptedOut", count: 3 }],
    conflicts: [{ namespace: "shop", reason: "Refused", message: "quota" }],
    conditions: [condition("Ready", "False", "ObjectsNotReady"), condition("Stalled", "True", "Refused")],
  },
};
const generated = (name: string, ready: string): object => ({
  metadata: { name, namespace: "shop", labels: { "controller-resilience.io/generated-for": "all" }, ...identity },
  spec: { mode: "Observe", suspend: false, targets: [] },
  status: { conditions: [condition("Ready", ready, "Rejected")] },
});
const GROUP = "/apis/controller-resilience.io";
const answers: Record<string, unknown> = {
  [GROUP]: { versions: [{ version: "v1alpha1" }] },
  [`${GROUP}/v1alpha1/clustercontrollerresiliences/all`]: all,
  [`${GROUP}/v1alpha1/controllerresiliences`]: { items: [generated("good", "True"), generated("bad", "False")] },
  "/apis/events.k8s.io/v1/events": { items: [] },
};
const server = new FakeServer(({ url = "" }): FakeAnswer => {
  const body = answers[url.split("?")[0] ?? ""];
  return body === undefined ? { code: 404, body: { kind: "Status", code: 404, message: "not found" } } : { body };
});
let kubeconfig: string;
beforeAll(async () => (kubeconfig = await server.start()));
afterAll(() => server.stop());

it("explains a ClusterControllerResilience by its status and by the objects that are not Ready", async () => {
  const { code, stdout, stderr } = await run(["explain", "ccres/all", "--kubeconfig", kubeconfig]);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^ClusterControllerResilience all\n/);
  expect(stdout).toContain("mode Observe, suspended");
  expect(stdout).toContain("Ready False ObjectsNotReady");
  expect(stdout).toContain("it selects 5 workloads in 2 namespaces; 4 of them protected, by 2");
  expect(stdout).toContain("the operator acts in 1 namespace\n");
  expect(stdout).toContain("in no generated object: 3 OptedOut");
  expect(stdout).toContain("conflict in shop: Refused: quota");
  expect(stdout).toContain("not Ready: shop/bad: Rejected: message of Rejected.");
  expect(stdout).not.toContain("shop/good");
  expect(stdout).toContain("    kubectl resilience resume ccres/all\n");
  expect(stdout).toContain("    kubectl resilience explain bad -n shop\n");
  expect(stdout).toContain("no replica leads");
  expect(Math.max(...stdout.split("\n").map(line => line.length))).toBeLessThanOrEqual(80);
});

it("counts one of each", async () => {
  const path = `${GROUP}/v1alpha1/clustercontrollerresiliences/one`;
  const counts = { namespaces: 1, workloads: 1, protected: 1, objects: 1 };
  answers[path] = { ...all, metadata: { ...all.metadata, name: "one" }, status: { ...all.status, ...counts } };
  const { stdout } = await run(["explain", "ccres/one", "--kubeconfig", kubeconfig]);
  expect(stdout.replaceAll(/\s+/g, " ")).toContain(
    "it selects 1 workload in 1 namespace; 1 of them protected, by 1 generated object and by hand-written ones",
  );
});

it("prints the same as data, and names one that does not exist", async () => {
  const { stdout } = await run(["explain", "ccres/all", "-o", "json", "--kubeconfig", kubeconfig]);
  expect(JSON.parse(stdout)).toMatchObject({
    subject: "ClusterControllerResilience all",
    objects: [
      {
        mode: "Observe",
        evidence: expect.arrayContaining(["not Ready: shop/bad: Rejected: message of Rejected."]) as unknown,
      },
    ],
  });
  const gone = await run(["explain", "ccres/gone", "--kubeconfig", kubeconfig]);
  expect(gone).toMatchObject({ code: 1, stderr: "ClusterControllerResilience gone does not exist\n" });
});
