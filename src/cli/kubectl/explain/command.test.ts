import { afterAll, beforeAll, expect, it } from "vitest";
import { FakeServer } from "../../../cluster/testing/fake-server";
import { run } from "../testing/run";
import { answerOf, binding, meta, pod, type World, workload } from "../testing/world";

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
    suggestions: [{ workload: "shop/Deployment/web", apiVersion: "e.io/v1", kind: "Widget" }],
    conditions: [condition("Ready", "False", "ObjectsNotReady"), condition("Stalled", "True", "Refused")],
  },
};
const served = { body: { versions: [{ version: "v1alpha1" }] } };
const world: World = { clustercontrollerresiliences: [all] };
const refused: string[] = [];
let date: string | undefined;
const server = new FakeServer(request => {
  const isGroup = request.url === "/apis/controller-resilience.io";
  const answer = isGroup ? served : answerOf(world, {}, refused)(request);
  return date === undefined ? answer : { ...answer, headers: { Date: date } };
});
let kubeconfig: string;
beforeAll(async () => (kubeconfig = await server.start()));
afterAll(() => server.stop());

const RESUME = `kubectl patch ccres all --type merge -p '{"spec":{"suspend":false}}'`;

it("explains a ClusterControllerResilience by its status", async () => {
  const { code, stdout, stderr } = await run(["explain", "ccres/all"], { KUBECONFIG: kubeconfig });
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^ClusterControllerResilience all\n/);
  expect(stdout).toContain("mode Enforce in 1 of 2 namespaces, suspended");
  expect(stdout).toContain("Ready was False ObjectsNotReady");
  expect(stdout).toContain("in all: namespaces: 2; enforced: 1; workloads: 5; protected: 4; objects: 2");
  expect(stdout).toContain("excluded: reason: OptedOut; count: 3");
  expect(stdout).toContain("conflict in shop: reason: Refused; message: quota");
  expect(stdout).toContain("shop/Deployment/web may handle Widget: api version: e.io/v1");
  expect(stdout).toContain(`    ${RESUME}\n`);
  expect(stdout).toContain("    kubectl get cres -A -l controller-resilience.io/generated-for=all\n");
  expect(stdout).toContain("no replica leads in controller-resilience-system");
  expect(stdout).toContain("--operator-namespace");
  const gone = await run(["explain", "ccres/gone", "--kubeconfig", kubeconfig]);
  expect(gone.code).toBe(1);
  expect(gone.stderr).toMatch(/^ClusterControllerResilience gone does not exist/);
  const { stderr: missing } = await run(["explain", "sa/gone", "-n", "shop", "--kubeconfig", kubeconfig]);
  expect(missing).toContain("shop/gone does not exist; see `kubectl get cres -A`");
});

it("prints commands for the cluster that was asked", async () => {
  const { stdout } = await run(["explain", "ccres/all", "--kubeconfig", kubeconfig, "--context", "there"]);
  expect(stdout).toContain(`    ${RESUME} --context there --kubeconfig '${kubeconfig}'\n`);
});

it.each([-60_000, 60_000])("finds the leader by the API server's clock, %d ms from its own", async offMs => {
  const nowMs = new Date().getTime() + offMs;
  date = new Date(nowMs).toUTCString();
  for (const [ageMs, words] of [
    [0, "Operator: works"],
    [18_000, "Operator: works"],
    [30_000, "no replica leads"],
  ] as const) {
    const renewTime = new Date(nowMs - ageMs).toISOString();
    world["leases"] = [{ metadata: meta("controller-resilience"), spec: { holderIdentity: "op", renewTime } }];
    expect((await run(["explain", "ccres/all", "--kubeconfig", kubeconfig])).stdout).toContain(words);
  }
  date = undefined;
});

it("says which workloads use a ServiceAccount, what binds it, and what is said of them", async () => {
  const skipped = meta("db", { annotations: { "controller-resilience.io/skip": "true" } });
  const flows = [{ serviceAccount: "web", state: "Normal", requestsPerSecond: 3 }];
  const targets = [{ kind: "Deployment", name: "web", pods: 2, rejectedPods: 1 }];
  const own = {
    metadata: meta("app"),
    spec: { mode: "Enforce", suspend: false, targets: [] },
    status: { flows, targets: [...targets, { kind: "Deployment", name: "other", pods: 1, rejectedPods: 0 }] },
  };
  Object.assign(world, {
    serviceaccounts: [{ metadata: meta("web") }],
    deployments: [workload("web", { replicas: 2 }), workload("other")],
    statefulsets: [{ ...workload("db", { replicas: 2 }, { serviceAccountName: "web" }), metadata: skipped }],
    rolebindings: [binding("web")],
    clusterrolebindings: [binding("other")],
    controllerresiliences: [own],
  });
  const explain = async () => {
    const { stdout } = await run(["explain", "sa/web", "-n", "shop", "-o", "json", "--kubeconfig", kubeconfig]);
    return JSON.parse(stdout) as { live: string[]; objects: { evidence: string[] }[] };
  };
  const { live, objects } = await explain();
  expect(live.slice(1)).toEqual([
    "Workloads that use it: Deployment/web (replicas: 2), StatefulSet/db (replicas: 2).",
    "Bindings that name it: RoleBinding/uses-web (ClusterRole view).",
    "The operator does not act on StatefulSet/db: annotation controller-resilience.io/skip.",
  ]);
  expect(objects.map(({ evidence }) => evidence)).toEqual([
    ["ServiceAccount/web: state: Normal; requests per second: 3", "Deployment/web: pods: 2; rejected pods: 1"],
  ]);
  refused.push("clusterrolebindings");
  expect((await explain()).live).toContain(
    "Bindings that name it: RoleBinding/uses-web (ClusterRole view), others are unknown.",
  );
});

it("finds the Deployment of a pod by the hash of its template, and says that its ServiceAccount is missing", async () => {
  const owner = { kind: "ReplicaSet", name: "web-7d", uid: "rs", controller: true };
  const target = { kind: "Deployment", selector: { matchLabels: { tier: "front" } } };
  Object.assign(world, {
    pods: [pod("web-7d-1", "web", { ownerReferences: [owner], labels: { "pod-template-hash": "7d" } })],
    deployments: [{ ...workload("web"), metadata: meta("web", { labels: { tier: "front" } }) }],
    serviceaccounts: [],
    controllerresiliences: [{ metadata: meta("app"), spec: { mode: "Enforce", suspend: false, targets: [target] } }],
  });
  const { stdout } = await run(["explain", "pod/web-7d-1", "-n", "shop", "--kubeconfig", kubeconfig]);
  expect(stdout).toContain(
    "  It belongs to Deployment/web.\n  ServiceAccount web does not exist: a restart cannot help.\n",
  );
  expect(stdout).toContain("ControllerResilience shop/app");
  expect(server.requests.map(({ url }) => url).join()).not.toContain("replicasets");
});
