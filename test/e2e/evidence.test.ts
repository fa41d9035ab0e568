import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import type { ClusterClient } from "../cluster/client";
import { smallController } from "../controllers/small-controller";
import { kubeScheduler } from "../controllers/kube-scheduler";
import type { OperatorProcess } from "../operator/process";
import { startOperator, suiteClient } from "./operator";

// Each kind of evidence on its own, and what the operator does when it can't read one of them.

let client: ClusterClient;
let operator: OperatorProcess;

beforeAll(async () => {
  client = suiteClient();
  operator = await startOperator();
});
afterAll(async () => {
  await operator.stop();
});

it("logs alone: restarts after three occasions over a minute, not before", async () => {
  const namespace = "evidence-logs";
  const image = inject("images").python;
  await client.createNamespace(namespace);
  await client.apply(
    smallController({ namespace, name: "a", image, command: ["python3", "-u", "/app/controller.py"] }),
  );
  const [before] = await client.readyPods(namespace, "a");
  await client.protect(namespace, "a", {
    targets: [{ kind: "Deployment", name: "a" }],
    tokenRestart: { evidence: ["Logs"] },
  });
  await client.untilTokens(namespace, "a", ["Accepted"]);
  await client.recreateServiceAccount(namespace, "a");
  const recreated = Date.now();
  await client.untilTokens(namespace, "a", ["Suspected"], 120_000);
  const [restart] = await client.until(
    "a restart",
    async () => {
      const restarts = (await client.resilience(namespace, "a")).status?.restarts ?? [];
      return restarts.length > 0 && restarts;
    },
    240_000,
  );
  expect(restart!.podUID).toBe(before!.metadata.uid);
  expect(Date.parse(restart!.time) - recreated).toBeGreaterThanOrEqual(60_000);
  await client.untilTokens(namespace, "a", ["Accepted"], 180_000);
  await client.deleteNamespace(namespace);
});

it("the ServiceAccount's age alone: restarts without the right to read logs", async () => {
  const namespace = "evidence-age";
  const role = "controller-resilience-namespaces";
  const saved = await client.output(["get", "clusterrole", role, "-o", "json"]);
  const rules = (JSON.parse(saved) as { rules: { resources?: string[] }[] }).rules;
  await client.createNamespace(namespace);
  await client.apply(kubeScheduler({ namespace, name: "b", image: inject("images").scheduler }));
  const [before] = await client.readyPods(namespace, "b");
  const fewer = rules.filter(({ resources = [] }) => !resources.includes("pods/log"));
  expect(fewer).toHaveLength(rules.length - 1);
  const without = JSON.stringify({ rules: fewer });
  await client.output(["patch", "clusterrole", role, "--type=merge", "-p", without]);
  try {
    await client.protect(namespace, "b", { targets: [{ kind: "Deployment", name: "b" }], tokenRestart: {} });
    const condition = await client.untilTokens(namespace, "b", ["Forbidden"], 90_000);
    expect(condition.message).toContain("pods/log");
    // Without logs only timestamps decide. The two come from different clocks, so they must be 30 s apart.
    await sleep(Math.max(0, Date.parse(before!.metadata.creationTimestamp) + 40_000 - Date.now()));
    await client.recreateServiceAccount(namespace, "b");
    const [restart] = await client.until(
      "a restart on age alone",
      async () => {
        const restarts = (await client.resilience(namespace, "b")).status?.restarts ?? [];
        return restarts.length > 0 && restarts;
      },
      180_000,
    );
    expect(restart).toMatchObject({ podUID: before!.metadata.uid, cause: "ServiceAccountRecreated" });
  } finally {
    await client.output(["patch", "clusterrole", role, "--type=merge", "-p", JSON.stringify({ rules })]);
    await client.deleteNamespace(namespace);
  }
});
