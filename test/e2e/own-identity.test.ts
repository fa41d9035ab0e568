import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClusterClient } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import type { OperatorProcess } from "../operator/process";
import { startOperator, suiteClient } from "./operator";

// The operator dies of what it heals: its own ServiceAccount is recreated, so that its token is answered 401 for ever.

const { namespace, serviceAccount } = OPERATOR;

let client: ClusterClient;
let operator: OperatorProcess;

beforeAll(async () => {
  client = suiteClient();
  operator = await startOperator();
});

afterAll(() => operator.stop());

describe("an operator that the API server does not know any more", () => {
  it("is not ready, says why and how old its token is, and ends, so that its death is seen", async () => {
    await client.recreateServiceAccount(namespace, serviceAccount);
    const text = await client.until(
      "/readyz to tell of it",
      async () => {
        const probe = await operator.probe("/readyz");
        return probe.status === 503 && probe.text.includes("identity") && probe.text;
      },
      90_000,
    );
    expect(text).toContain("401");
    await client.until("the process to end", () => Promise.resolve(operator.exitCode !== undefined), 240_000);
    expect(operator.exitCode).toBe(1);
    const told = operator.log.filter(({ msg }) =>
      msg.startsWith("API server rejected the operator's credentials (401)"),
    );
    expect(told.length).toBeGreaterThanOrEqual(4);
    expect(told[0]?.["tokenAgeSeconds"]).toBeGreaterThanOrEqual(0);
    expect(JSON.stringify(operator.log)).not.toMatch(/eyJ[A-Za-z0-9_-]{10}/);
  });

  it("works again when it is started with a token of its new ServiceAccount", async () => {
    const next = await startOperator();
    expect((await next.probe("/readyz")).status).toBe(200);
    expect(await next.stop()).toBe(0);
  });
});
