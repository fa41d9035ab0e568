import { afterAll, beforeAll, expect, inject, it } from "vitest";
import type { ClusterClient } from "../cluster/client";
import { smallController } from "../controllers/small-controller";
import type { OperatorProcess } from "../operator/process";
import { startOperator, suiteClient } from "./operator";

// Evidence that proves nothing: the log of a real program alone.

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
  // Times in status have whole seconds. The log may have its first 401 as soon as the old ServiceAccount is gone.
  const recreatedMs = Math.floor(Date.now() / 1_000) * 1_000;
  await client.recreateServiceAccount(namespace, "a");
  await client.untilTokens(namespace, "a", ["Suspected"]);
  const restart = await client.until(
    "a restart",
    async () => (await client.resilience(namespace, "a")).status?.restarts?.[0],
  );
  expect(restart.podUID).toBe(before!.metadata.uid);
  expect(Date.parse(restart.time) - recreatedMs).toBeGreaterThanOrEqual(60_000);
  await client.untilTokens(namespace, "a", ["Accepted"]);
  await client.deleteNamespace(namespace);
});
