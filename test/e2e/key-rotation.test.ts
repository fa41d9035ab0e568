import { afterAll, beforeAll, expect, inject, it } from "vitest";
import type { ClusterClient } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import { smallController } from "../controllers/small-controller";
import type { OperatorProcess } from "../operator/process";
import { startOperator, suiteClient, suiteLab } from "./operator";

// The key that signs ServiceAccount tokens is replaced: every token in the cluster is dead at once, the operator's own among them.

const NAMESPACE = "key-rotation";
const names = ["first", "second"];

let client: ClusterClient;
let operator: OperatorProcess;

beforeAll(async () => {
  client = suiteClient();
  await client.createNamespace(NAMESPACE);
  for (const name of names) {
    const command = ["node", "/app/controller.js"];
    await client.apply(smallController({ namespace: NAMESPACE, name, image: inject("images").node, command }));
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

it("every controller is given a new pod, with the rotation named as the cause, by an operator that lost its own token too", async () => {
  const before = (await client.pods(NAMESPACE)).map(({ metadata }) => metadata.uid);
  await suiteLab().restartApiServer({ newSigningKey: true });
  // What the kubelet does for a pod: the file that the operator reads its token from is written again.
  await suiteLab().serviceAccountKubeconfig(OPERATOR.namespace, OPERATOR.serviceAccount);
  const restarts = await client.until(
    "both to recover",
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
