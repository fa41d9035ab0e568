import { afterEach, beforeAll, expect, inject, it } from "vitest";
import type { ClusterClient } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import { smallController } from "../controllers/small-controller";
import type { OperatorProcess } from "../operator/process";
import { leaseHolder, startOperator, suiteClient } from "./operator";

// Operators that stop and start: no action is repeated, and the next operator inherits the budgets.

let client: ClusterClient;
const running: OperatorProcess[] = [];

async function start(): Promise<OperatorProcess> {
  const operator = await startOperator();
  running.push(operator);
  return operator;
}

beforeAll(() => {
  client = suiteClient();
});
afterEach(async () => {
  for (const operator of running.splice(0)) await operator.stop();
});

it("an operator that replaces a killed one knows of its last restart", async () => {
  const namespace = "continuity-killed";
  await client.createNamespace(namespace);
  const command = ["node", "/app/controller.js"];
  await client.apply(smallController({ namespace, name: "a", image: inject("images").node, command }));
  const [before] = await client.readyPods(namespace, "a");
  const first = await start();
  await client.protect(namespace, "a", { targets: [{ kind: "Deployment", name: "a" }], tokenRestart: {} });
  await client.untilTokens(namespace, "a", ["Accepted"]);
  await client.recreateServiceAccount(namespace, "a");
  await client.until(
    "the restart",
    async () => ((await client.resilience(namespace, "a")).status?.restarts ?? []).length > 0,
    120_000,
  );
  first.signal("SIGKILL");
  await client.until("its end", () => Promise.resolve(first.exitCode !== undefined));

  const second = await start();
  await client.until("the second operator to lead", () => second.leads(), 60_000);
  await client.until(
    "the outcome",
    async () => (await client.resilience(namespace, "a")).status?.restarts?.[0]?.outcome === "Recovered",
    180_000,
  );
  const status = (await client.resilience(namespace, "a")).status!;
  expect(status.restarts).toHaveLength(1);
  expect(status.restarts![0]!.podUID).toBe(before!.metadata.uid);
  const [after] = await client.readyPods(namespace, "a");
  expect(after!.metadata.uid).not.toBe(before!.metadata.uid);
  await client.deleteNamespace(namespace);
});

it("one of two operators leads, both are ready, and the standby takes over when the leader stops", async () => {
  const first = await start();
  await client.until("the first operator to lead", () => first.leads(), 60_000);
  const holder = await leaseHolder(client);
  const second = await start();
  expect((await second.probe("/readyz")).status).toBe(200);
  expect(await second.leads()).toBe(false);
  expect(await first.stop()).toBe(0);
  // The standby takes over before the lease expires.
  expect(await leaseHolder(client)).not.toBe(holder);
  await client.until("the second operator to lead", () => second.leads(), 30_000);
  expect(["", holder]).not.toContain(await leaseHolder(client));
});

it("a leader that loses its lease stops leading, stays ready, and leads again later", async () => {
  const operator = await start();
  await client.until("the operator to lead", () => operator.leads(), 60_000);
  const holder = await leaseHolder(client);
  const lease = ["lease", "controller-resilience", "-n", OPERATOR.namespace];
  const thief = {
    spec: {
      holderIdentity: "somebody-else",
      leaseDurationSeconds: 15,
      renewTime: new Date().toISOString().replace("Z", "000Z"),
    },
  };
  await client.output(["patch", ...lease, "--type=merge", "-p", JSON.stringify(thief)]);
  await client.until("the operator to stop leading", async () => !(await operator.leads()), 30_000);
  expect(operator.exitCode).toBeUndefined();
  expect((await operator.probe("/healthz")).status).toBe(200);
  expect((await operator.probe("/readyz")).status).toBe(200);
  await client.until(
    "the operator to lead again",
    async () => (await leaseHolder(client)) === holder && operator.leads(),
    90_000,
  );
});
