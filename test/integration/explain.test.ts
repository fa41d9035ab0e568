import { afterAll, beforeAll, expect, it } from "vitest";
import { run } from "../../src/cli/kubectl/testing/run";
import { suiteAdmin, suiteLab } from "./suite-lab";

// `kubectl resilience explain` on a real API server. No operator runs: status and Events are the test's own.

const admin = suiteAdmin();
const call = (...args: string[]): ReturnType<typeof run> =>
  run([...args, "-n", namespace, "--kubeconfig", suiteLab().kubeconfigPath]);
const MINUTE = 60_000;

let namespace: string;
let path: string;

beforeAll(async () => {
  namespace = await admin.namespace("explain");
  path = `/apis/controller-resilience.io/v1alpha1/namespaces/${namespace}/controllerresiliences`;
  const created = await admin.create(path, {
    apiVersion: "controller-resilience.io/v1alpha1",
    kind: "ControllerResilience",
    metadata: { name: "app" },
    spec: { targets: [{ kind: "Deployment", name: "web" }], tokenRestart: {} },
  });
  const { metadata } = created as { metadata: { uid: string } };
  const time = new Date(Date.now() - 4 * MINUTE).toISOString();
  const condition = { type: "TokensAccepted", status: "False", reason: "Rejected", message: "1 of 1 pods" };
  await admin.patch(`${path}/app/status`, {
    status: {
      conditions: [{ ...condition, lastTransitionTime: time }],
      targets: [{ kind: "Deployment", name: "web", pods: 1, rejectedPods: 1 }],
      restarts: [
        { pod: "web-1", podUID: "u", workload: "Deployment/web", time, cause: "Unknown", outcome: "Ineffective" },
      ],
    },
  });
  for (const reportingController of ["controller-resilience", "kubelet"])
    await admin.create(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`, {
      metadata: { name: reportingController },
      eventTime: new Date(Date.now() - MINUTE).toISOString().replace("Z", "000Z"),
      reportingController,
      reportingInstance: "test",
      type: "Warning",
      reason: "Rejected",
      action: "Observe",
      note: `by ${reportingController}`,
      regarding: {
        apiVersion: "controller-resilience.io/v1alpha1",
        kind: "ControllerResilience",
        namespace,
        name: "app",
        uid: metadata.uid,
      },
    });
});

afterAll(() => admin.connection.close());

it("explains an object by status and the operator's Events", async () => {
  const { code, stdout, stderr } = await call("explain", "app");
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("State that the last leader left; now unknown");
  expect(stdout).toContain("TokensAccepted was False Rejected");
  expect(stdout).toContain("by controller-resilience");
  expect(stdout).not.toContain("kubelet");
  expect(stdout).toContain("no replica leads");
});
