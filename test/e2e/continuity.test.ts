import { afterEach, beforeAll, expect, inject, it } from "vitest";
import type { ClusterClient } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import { smallController } from "../controllers/small-controller";
import type { OperatorProcess } from "../operator/process";
import { leaseHolder, startOperator, suiteClient } from "./operator";

// Operators that come and go: nothing is done twice, and budgets are inherited.

let client: ClusterClient;
const running: OperatorProcess[] = [];

async function start(...args: string[]): Promise<OperatorProcess> {
  const operator = await startOperator(...args);
  running.push(operator);
  return operator;
}

beforeAll(() => {
  client = suiteClient();
});
afterEach(async () => {
  for (const operator of running.splice(0)) await operator.stop();
});

it("an operator killed right after a restart is followed by one that knows of it", async () => {
  const namespace = "continuity-killed";
  await client.createNamespace(namespace);
  const command = ["node", "/app/controller.js"];
  await client.apply(smallController({ namespace, name: "a", image: inject("images").node, command }));
  const [before] = await client.readyPods(namespace, "a");
  const first = await start("--identity", "first");
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

  await start("--identity", "second");
  await client.until("the second to lead", async () => (await leaseHolder(client)) === "second", 60_000);
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

it("of two operators one leads, both are ready, and the other takes over when it ends", async () => {
  const first = await start("--identity", "one");
  await client.until("the first to lead", async () => (await leaseHolder(client)) === "one", 60_000);
  const second = await start("--identity", "two");
  expect((await second.probe("/readyz")).status).toBe(200);
  expect(await first.leads()).toBe(true);
  expect(await second.leads()).toBe(false);
  expect(await first.stop()).toBe(0);
  // No replica has to wait for its lease to run out.
  expect(await leaseHolder(client)).not.toBe("one");
  await client.until("the second to lead", async () => (await leaseHolder(client)) === "two" && second.leads(), 30_000);
});

it("a leader whose lease is taken away stops, stays alive and ready, and comes back", async () => {
  const operator = await start("--identity", "robbed");
  await client.until("it to lead", async () => (await leaseHolder(client)) === "robbed" && operator.leads(), 60_000);
  const lease = ["lease", "controller-resilience", "-n", OPERATOR.namespace];
  const thief = {
    spec: {
      holderIdentity: "somebody-else",
      leaseDurationSeconds: 15,
      renewTime: new Date().toISOString().replace("Z", "000Z"),
    },
  };
  await client.output(["patch", ...lease, "--type=merge", "-p", JSON.stringify(thief)]);
  await client.until("it to stop leading", async () => !(await operator.leads()), 30_000);
  expect(operator.exitCode).toBeUndefined();
  expect((await operator.probe("/healthz")).status).toBe(200);
  expect((await operator.probe("/readyz")).status).toBe(200);
  await client.until(
    "it to lead again",
    async () => (await leaseHolder(client)) === "robbed" && operator.leads(),
    90_000,
  );
});
