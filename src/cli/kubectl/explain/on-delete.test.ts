import { afterAll, beforeAll, expect, it } from "vitest";
import { type FakeAnswer, FakeServer, run } from "../testing/run";

// Explains an object in mode Observe whose controllers have the update strategy OnDelete, for which `kubectl rollout restart` replaces no pod.

const time = "2026-01-31T12:00:00Z";
const metadata = { name: "agent", namespace: "shop", uid: "u", resourceVersion: "1", creationTimestamp: time };
const target = (kind: string, name: string): object => ({ kind, name, pods: 2, rejectedPods: 1 });
const object = {
  metadata,
  spec: { mode: "Observe", suspend: false, targets: [{ kind: "DaemonSet", name: "agent" }], tokenRestart: {} },
  status: {
    conditions: [
      { type: "TokensAccepted", status: "False", reason: "WouldRestart", message: "m", lastTransitionTime: time },
    ],
    targets: [target("DaemonSet", "agent"), target("StatefulSet", "db"), target("StatefulSet", "rolling")],
  },
};
const controller = (type: string, selector: object): object => ({
  metadata,
  spec: { updateStrategy: { type }, selector },
});
const matchExpressions = [
  { key: "tier", operator: "In", values: ["a", "b"] },
  { key: "old", operator: "DoesNotExist" },
];
const APPS = "/apis/apps/v1/namespaces/shop";
const GROUP = "/apis/controller-resilience.io";
const answers: Record<string, unknown> = {
  [GROUP]: { versions: [{ version: "v1alpha1" }] },
  [`${GROUP}/v1alpha1/namespaces/shop/controllerresiliences`]: { items: [object] },
  "/apis/events.k8s.io/v1/namespaces/shop/events": { items: [] },
  [`${APPS}/daemonsets/agent`]: controller("OnDelete", { matchLabels: { app: "agent" } }),
  [`${APPS}/statefulsets/db`]: controller("OnDelete", { matchLabels: { app: "db" }, matchExpressions }),
  [`${APPS}/statefulsets/rolling`]: controller("RollingUpdate", { matchLabels: { app: "rolling" } }),
};
let refused: RegExp | undefined;
const server = new FakeServer(({ url = "" }): FakeAnswer => {
  const path = url.split("?")[0] ?? "";
  if (refused?.test(path)) return { code: 403, body: { kind: "Status", code: 403, message: "forbidden" } };
  const body = answers[path];
  return body === undefined ? { code: 404, body: { kind: "Status", code: 404, message: "not found" } } : { body };
});
let kubeconfig: string;
beforeAll(async () => (kubeconfig = await server.start()));
afterAll(() => server.stop());

const explain = (): ReturnType<typeof run> => run(["explain", "agent", "-n", "shop", "--kubeconfig", kubeconfig]);

it("offers to delete the pods one by one, and a rollout only where it replaces them", async () => {
  refused = undefined;
  const { code, stdout } = await explain();
  expect(code).toBe(0);
  expect(stdout.replaceAll(/\s+/g, " ")).toContain(
    "delete the pods of DaemonSet agent by hand, one by one, because its updateStrategy is OnDelete " +
      "(kubectl delete pod POD -n shop); or let the operator do it with mode Enforce. Its pods: " +
      "kubectl get pods -n shop -l 'app=agent' ",
  );
  expect(stdout).toContain("\n    kubectl get pods -n shop -l 'app=db,tier in (a,b),!old'\n");
  expect(stdout).toContain("\n    kubectl rollout restart statefulset/rolling -n shop\n");
  expect(stdout.match(/rollout restart/g)).toHaveLength(1);
});

it("names the strategy as unknown where it may not be read, and then offers no rollout", async () => {
  refused = /daemonsets/;
  const { stdout } = await explain();
  expect(stdout).toContain("get daemonsets shop/agent: no rights (403)");
  expect(stdout).not.toContain("rollout restart daemonset");
  expect(stdout).toContain("\n    kubectl get pods -n shop\n");
});
