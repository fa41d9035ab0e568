import { afterAll, beforeAll, expect, it } from "vitest";
import { LAB_VALUES, RELEASE } from "../cluster/chart";
import type { ClusterClient } from "../cluster/client";
import { documentedCommands, follow } from "../cluster/documented";
import { OPERATOR } from "../cluster/installation";
import { inventory } from "../cluster/inventory";
import { operatorImage } from "../controllers/operator-image";
import { suiteClient, suiteLab } from "./operator";
import { endRelease, makeRoomForRelease, releasePods, untilOneLeads, upgradeRelease } from "./release";

// The chart on a real node: installed, upgraded, rolled back and uninstalled with the documented commands. The suite's installation for operators
// outside the cluster is removed before, and restored after. in-cluster-healing.test.ts heals during an upgrade.

const OURS = ["-n", OPERATOR.namespace];

let client: ClusterClient;
/** Every object of the cluster before the installation. */
let before: readonly string[];

beforeAll(async () => {
  client = suiteClient();
  await suiteLab().loadImage((await operatorImage()).tar);
  await makeRoomForRelease();
  before = await inventory(client);
});

afterAll(() => endRelease(client));

interface Ended {
  readonly exitCode: number;
  readonly message?: string;
}

/** Waits until the container of a pod has ended. */
function untilEnded(pod: string): Promise<Ended> {
  return client.until(`the container of ${pod} to end`, async () => {
    const path = "jsonpath={.status.containerStatuses[0].state.terminated}";
    const text = await client.output(["get", "pod", pod, ...OURS, "-o", path]);
    return text !== "" && (JSON.parse(text) as Ended);
  });
}

const uids = (pods: readonly { metadata: { uid: string } }[]): string[] => pods.map(({ metadata }) => metadata.uid);

it("is installed with the documented commands: two pods, one of them leading, report on a first object", async () => {
  const lines = documentedCommands("install.md", "With Helm");
  const there = lines.replace("--set image.repository=REGISTRY/controller-resilience", LAB_VALUES.join(" "));
  expect(there).not.toBe(lines);
  await follow(suiteLab(), there);
  await untilOneLeads(client);
  // The namespace of a controller that the reader already has.
  await client.createNamespace("my-scheduler");
  await follow(suiteLab(), documentedCommands("install.md", "A first object"));
  const first = { namespace: "my-scheduler", name: "my-scheduler", type: "TokensAccepted" };
  await client.untilCondition(first, ["TargetNotFound"]);
});

it("is upgraded, and rolls back to the previous release", async () => {
  const old = uids(await releasePods(client));
  await upgradeRelease("--set logLevel=debug");
  expect(uids(await releasePods(client)).filter(uid => old.includes(uid))).toEqual([]);
  const { code, stderr } = await suiteLab().helm(["rollback", RELEASE, "--namespace", OPERATOR.namespace, "--wait"]);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  await releasePods(client);
  const args = ["get", "deployment", RELEASE, ...OURS, "-o", "jsonpath={..env[*].value}"];
  expect((await client.output(args)).split(" ")).toContain("info");
});

it("exits with 0 when its pod is deleted, and another leads", async () => {
  const led = await untilOneLeads(client);
  // Keeps the object of the deleted pod, and with it the exit code.
  const keep = (finalizers: readonly string[] | null): Promise<string> =>
    client.output(["patch", "pod", led, ...OURS, "--type=merge", "-p", JSON.stringify({ metadata: { finalizers } })]);
  await keep(["test.controller-resilience.io/kept"]);
  await client.output(["delete", "pod", led, ...OURS, "--wait=false"]);
  // It exits with 1 if its shutdown, and the release of its Lease, takes longer than five seconds.
  expect(await untilEnded(led)).toMatchObject({ exitCode: 0 });
  await keep(null);
  expect(await untilOneLeads(client)).not.toBe(led);
});

it("exits with 2 and a message in the pod's status when a setting is invalid", async () => {
  type Deployment = { spec: { template: { spec: { containers: [object] } } } };
  const deployment = await client.json<Deployment>(["get", "deployment", RELEASE, ...OURS]);
  const { containers, ...spec } = deployment.spec.template.spec;
  const env = [{ name: "RESILIENCE_HEALTH_PORT", value: "http" }];
  const pod = { ...spec, restartPolicy: "Never", containers: [{ ...containers[0], env }] };
  const metadata = { name: "wrong-setting", namespace: OPERATOR.namespace };
  await client.apply([{ apiVersion: "v1", kind: "Pod", metadata, spec: pod }]);
  expect(await untilEnded(metadata.name)).toMatchObject({
    exitCode: 2,
    message: 'RESILIENCE_HEALTH_PORT: found "http", expected a whole number from 0 to 65535\n',
  });
  await client.output(["delete", "pod", metadata.name, ...OURS]);
});

it("leaves nothing behind after the documented uninstall", async () => {
  for (const heading of ["Uninstall", "With Helm", "Pepr's store"]) {
    await follow(suiteLab(), documentedCommands("uninstall.md", heading));
  }
  await client.output(["delete", "namespace", "my-scheduler"]);
  expect((await inventory(client)).filter(object => !before.includes(object))).toEqual([]);
});
