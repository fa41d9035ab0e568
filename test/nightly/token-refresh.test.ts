import { afterAll, beforeAll, expect, inject, it } from "vitest";
import type { ClusterClient } from "../cluster/client";
import { AGENT_CONTAINERS, tokenAgent, tokenIn, type MountedToken } from "../controllers/token-agent";
import { startOperator, suiteClient } from "../e2e/operator";
import type { OperatorProcess } from "../operator/process";

// The kubelet renews a token after 80 % of its life: for ten minutes, after eight, when it next checks the volumes of the pod, which it does
// about every minute. This takes too long for every run.

const NAMESPACE = "token-refresh";
const NAME = "agent";
/** Twice the life of the first token: if it is not renewed by then, it never is. */
const PATIENCE_MS = 1_200_000;

let client: ClusterClient;
let operator: OperatorProcess;

beforeAll(async () => {
  client = suiteClient();
  await client.createNamespace(NAMESPACE);
  operator = await startOperator();
});

afterAll(async () => {
  await operator.stop();
  await client.deleteNamespace(NAMESPACE);
});

it("the kubelet renews a bounded token before its expiry, and the pod keeps working", async () => {
  const command = ["node", "/app/controller.js"];
  await client.apply(tokenAgent({ namespace: NAMESPACE, name: NAME, image: inject("images").node, command }));
  await client.readyPods(NAMESPACE, NAME);
  await client.protect(NAMESPACE, NAME, { targets: [{ kind: "DaemonSet", name: NAME }], tokenLifetime: {} });
  await client.untilCondition({ namespace: NAMESPACE, name: NAME, type: "TokenLifetimeBounded" }, ["Bounded"], 900_000);
  const [pod] = await client.readyPods(NAMESPACE, NAME);
  const where = { namespace: NAMESPACE, pod: pod!.metadata.name, container: NAME };

  const first = await tokenIn(client, where);
  expect(first.lifeSeconds).toBe(600);
  const second = await client.until(
    "a second token",
    async (): Promise<MountedToken> => {
      const now = await tokenIn(client, where);
      if (now.text !== first.text) return now;
      throw new Error(`${Math.round(Date.now() / 1000) - first.claims.iat} s old, and not renewed yet`);
    },
    PATIENCE_MS,
  );
  const [renewed, seen] = [second.claims.iat, Date.now() / 1000].map(at => Math.round(at - first.claims.iat));
  console.log(`the second token was issued ${renewed} s after the first, and was in the pod after ${seen} s`);
  expect(second.lifeSeconds).toBe(600);
  expect(second.claims.iat).toBeLessThan(first.claims.exp);

  for (const container of AGENT_CONTAINERS) {
    expect((await tokenIn(client, { ...where, container })).text, container).toBe(second.text);
  }
  expect((await client.exec(where, ["node", "/app/token-request.js"])).trim()).toBe("200");
  const [after] = await client.readyPods(NAMESPACE, NAME);
  expect(after!.metadata.uid).toBe(pod!.metadata.uid);
  expect(after!.status.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0, 0]);
  expect(await client.output(["logs", where.pod, "-n", NAMESPACE, "-c", NAME])).not.toContain("HTTP-Code: 401");
  expect((await client.condition(NAMESPACE, NAME, "TokenLifetimeBounded"))?.reason).toBe("Bounded");
});
