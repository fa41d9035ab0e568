import { afterAll, beforeAll, inject, test } from "vitest";
import type { ClusterClient, Pod } from "../cluster/client";
import { smallController } from "../controllers/small-controller";
import type { OperatorProcess } from "../operator/process";
import { startOperator, suiteClient } from "./operator";

// Every case in which the operator must not act, with a pod whose token is really invalid. All tests run concurrently with one operator, so
// they share its overall pace of one restart per ten seconds.

const NAME = "controller";

let client: ClusterClient;
let operator: OperatorProcess;
let count = 0;

beforeAll(async () => {
  client = suiteClient();
  operator = await startOperator();
});
afterAll(async () => {
  await operator.stop();
});

/** Each test has its own namespace, so that all of them can run concurrently, as on a real cluster. */
class Scene {
  constructor(readonly namespace: string) {}

  async controller(options: { replicas?: number } = {}): Promise<Pod[]> {
    const { namespace } = this;
    const command = ["node", "/app/controller.js"];
    await client.apply(smallController({ namespace, name: NAME, image: inject("images").node, command, ...options }));
    return client.readyPods(namespace, NAME, options.replicas);
  }

  async protect(spec: object = {}): Promise<void> {
    const targets = [{ kind: "Deployment", name: NAME }];
    await client.protect(this.namespace, NAME, { targets, tokenRestart: {}, ...spec });
  }

  async uids(): Promise<string[]> {
    return uidsOf(await client.pods(this.namespace, NAME));
  }
}

const uidsOf = (pods: Pod[]): string[] => pods.map(({ metadata }) => metadata.uid).sort();

const it = test.extend<{ scene: Scene }>({
  scene: async ({}, use) => {
    const scene = new Scene(`restraint-${++count}`);
    await client.createNamespace(scene.namespace);
    await use(scene);
    await client.deleteNamespace(scene.namespace);
  },
});

it.concurrent("Observe mode decides and reports, and writes nothing but status", async ({ scene, expect }) => {
  const { namespace } = scene;
  const before = await scene.controller();
  await scene.protect({ mode: "Observe" });
  await client.untilTokens(namespace, NAME, ["Accepted"]);
  await client.recreateServiceAccount(namespace, NAME);
  const condition = await client.untilTokens(namespace, NAME, ["WouldRestart"]);
  expect(condition.status).toBe("False");
  expect(await scene.uids()).toEqual(uidsOf(before));
  expect((await client.resilience(namespace, NAME)).status?.restarts ?? []).toEqual([]);

  // In Enforce mode the same plan is carried out.
  await scene.protect({ mode: "Enforce" });
  await client.until("a new pod", async () => (await scene.uids())[0] !== before[0]!.metadata.uid);
});

it.concurrent("suspend stops decisions and changes", async ({ scene, expect }) => {
  const { namespace } = scene;
  const before = await scene.controller();
  await scene.protect({ suspend: true });
  await client.untilTokens(namespace, NAME, ["Suspended"]);
  await client.recreateServiceAccount(namespace, NAME);
  // The restart for a second object shows that the operator had time and reason to act.
  await client.protect(namespace, "observer", {
    targets: [{ kind: "Deployment", name: NAME }],
    mode: "Observe",
    tokenRestart: {},
  });
  await client.untilTokens(namespace, "observer", ["WouldRestart"]);
  expect((await client.condition(namespace, NAME, "TokensAccepted"))?.reason).toBe("Suspended");
  expect(await scene.uids()).toEqual(uidsOf(before));
});

it.concurrent("respects a PodDisruptionBudget, reports the refusal, and retries", async ({ scene, expect }) => {
  const { namespace } = scene;
  const before = await scene.controller();
  await client.apply([
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { namespace, name: NAME },
      spec: { maxUnavailable: 0, selector: { matchLabels: { "app.kubernetes.io/name": NAME } } },
    },
  ]);
  await scene.protect();
  await client.untilTokens(namespace, NAME, ["Accepted"]);
  await client.recreateServiceAccount(namespace, NAME);
  const condition = await client.untilTokens(namespace, NAME, ["RestartBlocked"]);
  expect(condition.status).toBe("False");
  expect(await scene.uids()).toEqual(uidsOf(before));
  // Each further try is in status until it is refused.
  await client.until("status without a restart", async () => {
    const { restarts = [], restartsTotal = 0 } = (await client.resilience(namespace, NAME)).status ?? {};
    return restarts.length === 0 && restartsTotal === 0;
  });

  await client.output(["delete", "poddisruptionbudget", NAME, "-n", namespace]);
  const isNew = async () => (await scene.uids())[0] !== before[0]!.metadata.uid;
  await client.until("a new pod once the budget is gone", isNew);
});

it.concurrent("reports a missing ServiceAccount and tries no restart", async ({ scene, expect }) => {
  const { namespace } = scene;
  const before = await scene.controller();
  await scene.protect();
  await client.untilTokens(namespace, NAME, ["Accepted"]);
  await client.output(["delete", "serviceaccount", NAME, "-n", namespace]);
  const condition = await client.untilTokens(namespace, NAME, ["ServiceAccountMissing"]);
  expect(condition).toMatchObject({ status: "False", message: expect.stringContaining(NAME) as string });
  expect((await client.condition(namespace, NAME, "Stalled"))?.status).toBe("True");
  expect(await scene.uids()).toEqual(uidsOf(before));
});

it.concurrent("leaves a pod with the skip annotation alone", async ({ scene, expect }) => {
  const { namespace } = scene;
  const before = await scene.controller();
  await scene.protect();
  await client.output([
    "annotate",
    "pod",
    "-n",
    namespace,
    before[0]!.metadata.name,
    "controller-resilience.io/skip=true",
  ]);
  await client.recreateServiceAccount(namespace, NAME);
  const { message } = await client.untilTokens(namespace, NAME, ["Rejected"]);
  expect(message).toContain("no action because of the annotation controller-resilience.io/skip");
  expect(await scene.uids()).toEqual(uidsOf(before));
});

it.concurrent("reports a target that does not exist, and finds it once it is created", async ({ scene }) => {
  const { namespace } = scene;
  await scene.protect();
  await client.untilTokens(namespace, NAME, ["TargetNotFound"]);
  await scene.controller();
  await client.untilTokens(namespace, NAME, ["Accepted"]);
});

it.concurrent(
  "replaces three replicas one by one, each after the previous one was accepted",
  async ({ scene, expect }) => {
    const { namespace } = scene;
    const before = await scene.controller({ replicas: 3 });
    await scene.protect();
    await client.untilTokens(namespace, NAME, ["Accepted"]);
    await client.recreateServiceAccount(namespace, NAME);
    let most = 0;
    await client.until(
      "three new pods",
      async () => {
        const pods = await client.pods(namespace, NAME);
        const old = pods.filter(({ metadata }) => uidsOf(before).includes(metadata.uid) && !metadata.deletionTimestamp);
        const recovered = ((await client.resilience(namespace, NAME)).status?.restarts ?? []).filter(
          ({ outcome }) => outcome === "Recovered",
        );
        most = Math.max(most, 3 - old.length - recovered.length);
        return old.length === 0 && recovered.length === 3;
      },
      400_000,
    );
    expect(most).toBe(1);
  },
);

it.concurrent(
  "the deletion of a namespace during a restart does not disturb other namespaces",
  async ({ scene, expect }) => {
    const { namespace } = scene;
    await scene.controller();
    await scene.protect();
    await client.untilTokens(namespace, NAME, ["Accepted"]);
    await client.recreateServiceAccount(namespace, NAME);
    await client.output(["delete", "namespace", namespace, "--timeout=120s"]);
    const healthy = await operator.probe("/healthz");
    expect(healthy.status, healthy.text).toBe(200);
    expect(operator.exitCode).toBeUndefined();
  },
);
