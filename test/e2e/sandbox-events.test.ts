import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { isRejectedCredential } from "../../src/cluster/read/views";
import type { ClusterClient } from "../cluster/client";
import { chainPlugin, cniAgent, failOtherwise, pluginAccount, unchainPlugin } from "../controllers/cni-agent";
import type { OperatorProcess } from "../operator/process";
import { nodeController, startOperator, suiteClient, suiteLab } from "./operator";

// A CNI plugin that really asks the API server, with the credential that its agent's pod left on the node. The test recreates the
// ServiceAccount of that credential. The agent stays Ready and logs nothing, but no pod can start on that node until the agent's pod is replaced.

const NAMESPACE = "cni";
const SHOP = "cni-shop";
/** Pods of two namespaces confirm each other. */
const BANK = "cni-bank";
const NAME = "agent";
const AGENT = { namespace: NAMESPACE, name: NAME };

let client: ClusterClient;
let operator: OperatorProcess;

interface KubeletEvent {
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly name: string };
}

async function sandboxFailures(app: string): Promise<string[]> {
  const { items } = await client.json<{ items: KubeletEvent[] }>(["get", "events", "-n", SHOP]);
  return items
    .filter(({ reason, involvedObject }) => reason === "FailedCreatePodSandBox" && involvedObject.name.startsWith(app))
    .map(({ message }) => message);
}

/** Creates a Deployment of another team, whose pod needs a network. */
function startApp(name: string, namespace = SHOP): Promise<void> {
  return client.apply(nodeController(namespace, name));
}

beforeAll(async () => {
  client = suiteClient();
  for (const namespace of [NAMESPACE, SHOP, BANK]) await client.createNamespace(namespace);
  await client.apply(cniAgent({ ...AGENT, image: inject("images").node }));
  await client.readyPods(NAMESPACE, NAME);
  await chainPlugin(suiteLab());
  operator = await startOperator();
  await client.protect(NAMESPACE, NAME, { targets: [{ kind: "DaemonSet", name: NAME }], tokenRestart: {} });
  await client.untilTokens(NAMESPACE, NAME, ["Accepted"]);
});

afterAll(async () => {
  await operator.stop();
  unchainPlugin(suiteLab());
  for (const namespace of [NAMESPACE, SHOP, BANK]) await client.deleteNamespace(namespace);
});

it("a pod gets its network from the plugin while the credential is good", async () => {
  await startApp("healthy");
  await client.readyPods(SHOP, "healthy");
  expect(await sandboxFailures("healthy")).toEqual([]);
});

it("restarts no pod while the plugin fails for another reason", async () => {
  const [before] = await client.readyPods(NAMESPACE, NAME);
  failOtherwise(suiteLab(), "no IP addresses available in range set: 10.244.0.1-10.244.0.254");
  await startApp("no-address");
  const failed = await client.until("the sandbox to fail", async () => {
    const messages = await sandboxFailures("no-address");
    return messages.length >= 3 && messages;
  });
  expect(failed[0]).toContain("no IP addresses available");
  // Nothing else makes the operator count an Event. That it has restarted nothing is seen once more at the end of the next test.
  expect(failed.map(isRejectedCredential)).not.toContain(true);
  expect((await client.condition(NAMESPACE, NAME, "TokensAccepted"))?.reason).toBe("Accepted");
  expect((await client.resilience(NAMESPACE, NAME)).status?.restarts ?? []).toEqual([]);
  const [after] = await client.readyPods(NAMESPACE, NAME);
  expect(after!.metadata.uid).toBe(before!.metadata.uid);
  failOtherwise(suiteLab());
  await client.readyPods(SHOP, "no-address");
});

it("detects a rejected credential from pods that can't start, and replaces the agent's pod", async () => {
  const [before] = await client.readyPods(NAMESPACE, NAME);
  await client.recreateServiceAccount(NAMESPACE, pluginAccount({ name: NAME }));
  const brokenAt = performance.now();
  const seconds = (): string => ((performance.now() - brokenAt) / 1000).toFixed(1);
  // The API server caches for up to 10 s that the token was valid.
  await sleep(11_000);
  for (const namespace of [SHOP, BANK]) await startApp("waiting", namespace);
  const [message] = await client.until("the sandbox to fail", async () => {
    const messages = await sandboxFailures("waiting");
    return messages.length > 0 && messages;
  });
  expect(message).toContain("error getting ClusterInformation: connection is unauthorized: Unauthorized");
  expect(isRejectedCredential(message ?? "")).toBe(true);
  console.log(`sandbox-events: the first sandbox failed after ${seconds()} s`);
  await client.untilTokens(NAMESPACE, NAME, ["Suspected"]);
  const [still] = await client.readyPods(NAMESPACE, NAME);
  expect(still!.metadata.uid).toBe(before!.metadata.uid);
  const lastRestart = async () => (await client.resilience(NAMESPACE, NAME)).status?.restarts?.[0];
  const restart = await client.until("a restart", lastRestart);
  console.log(`sandbox-events: the agent's pod was evicted after ${seconds()} s`);
  expect(restart).toMatchObject({
    podUID: before!.metadata.uid,
    workload: `DaemonSet/${NAME}`,
    cause: "CniCredentialRejected",
  });
  for (const namespace of [SHOP, BANK]) await client.readyPods(namespace, "waiting");
  console.log(`sandbox-events: the waiting pods were Ready after ${seconds()} s`);
  const isHealed = async () => (await lastRestart())?.outcome === "Recovered";
  await client.until("the restart to be recorded as Recovered", isHealed);
  await client.untilTokens(NAMESPACE, NAME, ["Accepted"]);
  expect((await client.resilience(NAMESPACE, NAME)).status?.restartsTotal).toBe(1);
});

it("the agent logs no 401, and no message of the plugin is repeated anywhere", async () => {
  const log = await client.output(["logs", "-n", NAMESPACE, `daemonset/${NAME}`]);
  expect(log).not.toContain("401");
  const object = JSON.stringify(await client.resilience(NAMESPACE, NAME));
  const told = JSON.stringify([await client.events(NAMESPACE), operator.log]) + object;
  for (const words of ["ClusterInformation", "lab-credential", "rpc error", "no IP addresses"])
    expect(told).not.toContain(words);
  expect(operator.noise).toEqual([]);
});
