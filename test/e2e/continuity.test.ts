import { afterEach, beforeAll, expect, it } from "vitest";
import type { ClusterClient } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import type { OperatorProcess } from "../operator/process";
import { leaseHolder, startOperator, suiteClient } from "./operator";

// Operators that take over from each other. test/integration/process.test.ts has those that are killed, frozen or cut off.

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

it("one of two operators leads, both are ready, and the standby takes over when the leader stops", async () => {
  const first = await start();
  await client.until("the first operator to lead", () => first.leads());
  const holder = await leaseHolder(client);
  const second = await start();
  expect((await second.probe("/readyz")).status).toBe(200);
  expect(await second.leads()).toBe(false);
  expect(await first.stop()).toBe(0);
  // The standby takes over before the lease expires.
  expect(await leaseHolder(client)).not.toBe(holder);
  await client.until("the second operator to lead", () => second.leads());
  expect(["", holder]).not.toContain(await leaseHolder(client));
});

it("a leader that loses its lease stops leading, stays ready, and leads again later", async () => {
  const operator = await start();
  await client.until("the operator to lead", () => operator.leads());
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
  await client.until("the operator to stop leading", async () => !(await operator.leads()));
  expect(operator.exitCode).toBeUndefined();
  expect((await operator.probe("/healthz")).status).toBe(200);
  expect((await operator.probe("/readyz")).status).toBe(200);
  await client.until(
    "the operator to lead again",
    async () => (await leaseHolder(client)) === holder && operator.leads(),
  );
});
