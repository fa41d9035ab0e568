import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClusterClient } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import type { OperatorProcess } from "../operator/process";
import { startOperator, suiteClient } from "./operator";

// The operator suffers the failure that it heals: its own ServiceAccount is recreated, so every request with its old token is answered 401.

const { namespace, serviceAccount } = OPERATOR;

let client: ClusterClient;
let operator: OperatorProcess;

beforeAll(async () => {
  client = suiteClient();
  operator = await startOperator();
});

afterAll(() => operator.stop());

describe("an operator whose ServiceAccount was recreated", () => {
  it("is not ready, reports the cause, and exits", async () => {
    await client.recreateServiceAccount(namespace, serviceAccount);
    const text = await client.until("/readyz to report the cause", async () => {
      const probe = await operator.probe("/readyz");
      return probe.status === 503 && probe.text.includes("identity") && probe.text;
    });
    expect(text).toContain("401");
    await client.until("the process to end", () => Promise.resolve(operator.exitCode !== undefined));
    expect(operator.exitCode).toBe(1);
    const told = operator.log.filter(({ msg }) =>
      msg.startsWith("API server rejected the operator's credentials (401)"),
    );
    // Not of the first 401, which may be another client's; then each half a minute, or with the request after it.
    expect(told.length).toBeGreaterThanOrEqual(3);
    expect(told[0]?.["rejectedForSeconds"]).toBeGreaterThanOrEqual(30);
    expect(JSON.stringify(operator.log)).not.toMatch(/eyJ[A-Za-z0-9_-]{10}/);
  });

  it("works again after a start with a token of the new ServiceAccount", async () => {
    const next = await startOperator();
    expect((await next.probe("/readyz")).status).toBe(200);
    expect(await next.stop()).toBe(0);
  });
});
