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
  expect(stdout).toContain("Ready was False ObjectsNotReady");
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

it("says which workloads use a ServiceAccount, what binds it, and what is said of them", async () => {
  const account = (name: string): object => ({ kind: "ServiceAccount", name, namespace: "shop" });
  const binding = (name: string, subject: object, kind: string): object => ({
    metadata: { name, ...(kind === "Role" && { namespace: "shop" }), ...identity },
    subjects: [subject],
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name: `role-${name}` },
  });
  const workload = (name: string, serviceAccountName: string, annotations = {}): object => ({
    metadata: { name, namespace: "shop", annotations, ...identity },
    spec: { replicas: 2, template: { spec: { serviceAccountName, containers: [] } } },
  });
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const skip = { "controller-resilience.io/skip": "true" };
  const flows = [{ serviceAccount: "web", state: "Normal", requestsPerSecond: 3 }];
  const targets = [{ kind: "Deployment", name: "web", pods: 2, rejectedPods: 1 }];
  const own = {
    metadata: { name: "app", namespace: "shop", ...identity },
    spec: { mode: "Enforce", suspend: false, targets: [] },
    status: { flows, targets: [...targets, { kind: "Deployment", name: "other", pods: 1, rejectedPods: 0 }] },
  };
  Object.assign(answers, {
    "/api/v1/namespaces/shop/serviceaccounts/web": { metadata: { name: "web", namespace: "shop", ...identity } },
    "/apis/apps/v1/namespaces/shop/deployments": { items: [workload("web", "web"), workload("other", "default")] },
    "/apis/apps/v1/namespaces/shop/statefulsets": { items: [workload("db", "web", skip)] },
    "/apis/apps/v1/namespaces/shop/daemonsets": { items: [] },
    [`${rbac}/namespaces/shop/rolebindings`]: { items: [binding("a", account("web"), "Role")] },
    [`${rbac}/clusterrolebindings`]: { items: [binding("b", account("other"), "ClusterRole")] },
    [`${GROUP}/v1alpha1/namespaces/shop/controllerresiliences`]: { items: [own] },
    "/apis/events.k8s.io/v1/namespaces/shop/events": { items: [] },
  });
  const explain = async () => {
    const { stdout } = await run(["explain", "sa/web", "-n", "shop", "-o", "json", "--kubeconfig", kubeconfig]);
    return JSON.parse(stdout) as { live: string[]; objects: { evidence: string[] }[] };
  };
  const { live, objects } = await explain();
  expect(live.slice(1)).toEqual([
    "Workloads that use it: Deployment/web (replicas: 2), StatefulSet/db (replicas: 2).",
    "Bindings that name it: RoleBinding/a (Role role-a).",
    "The operator does not act on StatefulSet/db: annotation controller-resilience.io/skip.",
  ]);
  expect(objects.map(({ evidence }) => evidence)).toEqual([
    ["Deployment/web: 1 of 2 pods rejected", "ServiceAccount/web: Normal; 3 requests/s"],
  ]);
  Reflect.deleteProperty(answers, `${rbac}/clusterrolebindings`);
  expect((await explain()).live).toContain("Bindings that name it: RoleBinding/a (Role role-a), others are unknown.");
});
