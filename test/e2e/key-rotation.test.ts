import { afterAll, beforeAll, expect, it } from "vitest";
import type { ClusterClient } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import type { OperatorProcess } from "../operator/process";
import { nodeController, startOperator, suiteClient, suiteLab } from "./operator";

// The signing key of ServiceAccount tokens is replaced: all tokens of the cluster become invalid at once, including the operator's own.

const NAMESPACE = "key-rotation";
const names = ["first", "second"];

let client: ClusterClient;
let operator: OperatorProcess;

beforeAll(async () => {
  client = suiteClient();
  await client.createNamespace(NAMESPACE);
  for (const name of names) {
    await client.apply(nodeController(NAMESPACE, name));
    await client.readyPods(NAMESPACE, name);
  }
  operator = await startOperator();
  const targets = names.map(name => ({ kind: "Deployment", name }));
  await client.protect(NAMESPACE, "all", { targets, tokenRestart: {} });
  await client.untilTokens(NAMESPACE, "all", ["Accepted"]);
});

afterAll(async () => {
  await operator.stop();
  await client.deleteNamespace(NAMESPACE);
});

it("restarts every controller with the rotation as the cause, although the operator's own token is invalid too", async () => {
  const before = (await client.pods(NAMESPACE)).map(({ metadata }) => metadata.uid);
  await suiteLab().restartApiServer({ newSigningKey: true });
  // The kubelet would rewrite the token file of a pod; this operator runs as a host process, so the test does.
  await suiteLab().serviceAccountKubeconfig(OPERATOR.namespace, OPERATOR.serviceAccount);
  const restarts = await client.until(
    "both controllers to recover",
    async () => {
      const all = (await client.resilience(NAMESPACE, "all")).status?.restarts ?? [];
      return all.length === 2 && all.every(({ outcome }) => outcome === "Recovered") && all;
    },
    400_000,
  );
  expect(restarts.map(({ podUID }) => podUID).sort()).toEqual(before.sort());
  expect(restarts.map(({ cause }) => cause)).toEqual(["SigningKeyRotated", "SigningKeyRotated"]);
  expect(operator.exitCode).toBeUndefined();
  await client.untilTokens(NAMESPACE, "all", ["Accepted"]);
});
