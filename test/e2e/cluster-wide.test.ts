import { afterAll, beforeAll, expect, inject, it } from "vitest";
import type { ClusterControllerResilience } from "../../src/api/cluster-controller-resilience";
import type { ClusterClient, Pod } from "../cluster/client";
import { documentedCommands, follow } from "../cluster/documented";
import { smallController } from "../controllers/small-controller";
import { PrometheusProcess } from "../monitoring/prometheus";
import type { OperatorProcess } from "../operator/process";
import { startOperator, suiteClient, suiteLab } from "./operator";

// docs/cluster-wide.md, followed on a real node: one object protects 40 namespaces with 80 controllers. Two controllers run; the others have no
// replicas, since one node is too small for them.

const PAGE = "cluster-wide.md";
/** The namespace in which the page lets the operator act, and one that it only observes. */
const [ENFORCED, OBSERVED] = ["my-scheduler", "observed"];
const NAME = "controller";
const EMPTY = Array.from({ length: 38 }, (_, index) => `empty-${index}`);
const namespaces = [ENFORCED, OBSERVED, ...EMPTY];
const HEAL_MS = 180_000;

let client: ClusterClient;
let operator: OperatorProcess;
let prometheus: PrometheusProcess;

const controller = (namespace: string, name: string, replicas: number) =>
  smallController({ namespace, name, replicas, image: inject("images").node, command: ["node", "/app/controller.js"] });

beforeAll(async () => {
  client = suiteClient();
  await client.apply(namespaces.map(name => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })));
  await client.apply([
    ...[ENFORCED, OBSERVED].flatMap(name => [...controller(name, NAME, 1), ...controller(name, "idle", 0)]),
    ...EMPTY.flatMap(name => [...controller(name, "one", 0), ...controller(name, "two", 0)]),
  ]);
  for (const name of [ENFORCED, OBSERVED]) await client.readyPods(name, NAME, 1, HEAL_MS);
  operator = await startOperator();
  prometheus = await PrometheusProcess.start(operator.address);
}, 600_000);

afterAll(async () => {
  await (prometheus as PrometheusProcess | undefined)?.stop();
  await (operator as OperatorProcess | undefined)?.stop();
  await client.output(["delete", "namespace", ...namespaces, "--ignore-not-found", "--wait=false"]);
}, 120_000);

const uid = async (namespace: string): Promise<string | undefined> =>
  (await client.readyPods(namespace, NAME, 1, HEAL_MS))[0]?.metadata.uid;

async function object(): Promise<ClusterControllerResilience> {
  return JSON.parse(await client.output(["get", "ccres", "default", "-o", "json"])) as ClusterControllerResilience;
}

it("protects 40 namespaces with 80 controllers in Observe mode", async () => {
  await follow(suiteLab(), documentedCommands(PAGE, "Observe everything"));
  const { status } = await client.until("everything to be protected", async () => {
    const found = await object();
    const { protected: count = 0, workloads = 1 } = found.status ?? {};
    return count === workloads && count >= 80 && found;
  });
  expect(status?.namespaces).toBeGreaterThanOrEqual(40);
  expect(status?.conflicts).toEqual([]);
  for (const namespace of namespaces) expect((await client.resilience(namespace, "default")).spec.mode).toBe("Observe");
});

it("acts in one namespace only, and says in the other what it would do", async () => {
  await follow(suiteLab(), documentedCommands(PAGE, "Act, group by group"));
  const before = { enforced: await uid(ENFORCED), observed: await uid(OBSERVED) };
  for (const namespace of [ENFORCED, OBSERVED]) await client.recreateServiceAccount(namespace, NAME);
  await client.until(
    "the pod to be replaced",
    async () => {
      const pods: Pod[] = await client.readyPods(ENFORCED, NAME);
      return pods[0]?.metadata.uid !== before.enforced;
    },
    HEAL_MS,
  );
  await client.untilTokens(OBSERVED, "default", ["WouldRestart"], HEAL_MS);
  expect(await uid(OBSERVED)).toBe(before.observed);
});

it("has Prometheus alert of the controller that is only observed, until someone replaces its pod", async () => {
  const rejected = async () =>
    (await prometheus.firing()).filter(alert => alert.labels["alertname"] === "ControllerTokenRejected");
  const look = async () => (await rejected()).find(alert => alert.labels["namespace"] === OBSERVED);
  const { labels, annotations } = await client.until("the alert", look, HEAL_MS);
  const workload = `Deployment/${NAME}`;
  expect(labels).toMatchObject({ severity: "critical", name: "default", workload });
  expect(annotations["summary"]).toBe(`${workload} in ${OBSERVED} gets 401s and is not healed.`);
  const [pod] = await client.readyPods(OBSERVED, NAME);
  await client.output(["delete", "pod", pod!.metadata.name, "-n", OBSERVED, "--wait=false"]);
  await client.until("all such alerts to resolve", async () => (await rejected()).length === 0, HEAL_MS);
  const ofOperator = /^ControllerResilience(NotLeading|TwoLeaders|IdentityRejected|WatchStalled|BreakerTripped)$/;
  const firing = (await prometheus.firing()).map(alert => alert.labels["alertname"] ?? "");
  expect(firing.filter(name => ofOperator.test(name))).toEqual([]);
});

it("heals a controller in a namespace that was created after the object", async () => {
  await client.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "late", labels: { resilience: "enforce" } } },
  ]);
  namespaces.push("late");
  await client.apply(controller("late", NAME, 1));
  const first = await uid("late");
  await client.recreateServiceAccount("late", NAME);
  await client.until("the late pod to be replaced", async () => (await uid("late")) !== first, HEAL_MS);
});

it("leaves nothing behind", async () => {
  await follow(suiteLab(), documentedCommands(PAGE, "Remove it"));
  const left = await client.output(["get", "cres", "-A", "-o", "name"]);
  expect(left.trim()).toBe("");
});
