import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { ControllerResilience, DaemonSetStatus, StatusCondition } from "../../src/api/controller-resilience";
import type { ClusterClient, DaemonSet, Pod } from "../cluster/client";
import { tokenAgent, tokenIn, type TokenAgentOptions } from "../controllers/token-agent";
import type { OperatorProcess } from "../operator/process";
import { startOperator, suiteClient, suiteLab } from "./operator";

// DaemonSets whose tokens are shortened at admission: real policies, real tokens, and API servers without the feature.

const NAME = "agent";
const TYPE = "TokenLifetimeBounded";
const BOUNDED = "admission-bounded";
const KEPT = "admission-kept";
const OFF = "admission-off";
const namespaces = [BOUNDED, KEPT, OFF];
const KINDS = "mutatingadmissionpolicies,mutatingadmissionpolicybindings";
/** The policy counts as effective after half a minute; then a pod is replaced on a busy machine. */
const REPLACE_MS = 240_000;
const DAY = 86_400;

let client: ClusterClient;
let operator: OperatorProcess;

beforeAll(async () => {
  client = suiteClient();
  for (const namespace of namespaces) await client.createNamespace(namespace);
  operator = await startOperator();
});

afterAll(async () => {
  for (const namespace of namespaces) {
    // Only the operator removes the finalizer of an object.
    await client.output(["delete", "cres", "--all", "-n", namespace, "--timeout=60s"]);
    await client.deleteNamespace(namespace);
  }
  await operator.stop();
});

function agentOf(namespace: string, more: Partial<TokenAgentOptions> = {}): TokenAgentOptions {
  return { namespace, name: NAME, image: inject("images").node, command: ["node", "/app/controller.js"], ...more };
}

async function protect(namespace: string, name = NAME): Promise<void> {
  const targets = [{ kind: "DaemonSet", name }];
  await client.protect(namespace, name, { targets, tokenLifetime: { via: "Admission" } });
}

const set = (namespace: string, name = NAME): Promise<DaemonSet> => client.daemonSet(namespace, name);
const untilReason = (
  namespace: string,
  reason: string,
  name = NAME,
  timeoutMs = REPLACE_MS,
): Promise<StatusCondition> => client.untilCondition({ namespace, name, type: TYPE }, [reason], timeoutMs);

async function entryOf(namespace: string): Promise<DaemonSetStatus | undefined> {
  return (await client.resilience(namespace, NAME)).status?.daemonSets?.find(({ name }) => name === NAME);
}

/** The only pod, once no other exists or is terminating. */
async function podOf(namespace: string, name = NAME): Promise<Pod> {
  const [pod] = await client.readyPods(namespace, name, 1, REPLACE_MS);
  return pod!;
}

async function lifeOf(namespace: string, name = NAME): Promise<number> {
  const pod = await podOf(namespace, name);
  return (await tokenIn(client, { namespace, pod: pod.metadata.name, container: "agent" })).lifeSeconds;
}

/** Names of all policies and policy bindings that were created for an object. */
async function pairOf({ metadata }: ControllerResilience): Promise<string[]> {
  const label = `controller-resilience.io/owner-uid=${metadata.uid}`;
  const text = await client.output(["get", KINDS, "-l", label, "-o", "name"]);
  return text.split("\n").filter(line => line !== "");
}

describe("a DaemonSet whose pods have the default token", () => {
  let before: DaemonSet;
  let old: Pod;

  it("gets a token of ten minutes after its pod is replaced, without a change of the DaemonSet", async () => {
    await client.apply(tokenAgent(agentOf(BOUNDED)));
    await client.apply(tokenAgent(agentOf(BOUNDED, { name: "beside" })));
    old = await podOf(BOUNDED);
    before = await set(BOUNDED);
    expect(await lifeOf(BOUNDED)).toBeGreaterThan(300 * DAY);
    await protect(BOUNDED);
    await untilReason(BOUNDED, "Bounded");
    expect((await podOf(BOUNDED)).metadata.uid).not.toBe(old.metadata.uid);
    expect(await lifeOf(BOUNDED)).toBe(600);
    const after = await set(BOUNDED);
    expect(after.metadata).toMatchObject({ uid: before.metadata.uid, generation: 1 });
    expect(after.spec).toEqual(before.spec);
  });

  it("can make requests with that token", async () => {
    const pod = await podOf(BOUNDED);
    const where = { namespace: BOUNDED, pod: pod.metadata.name, container: "agent" };
    expect((await client.exec(where, ["node", "/app/token-request.js"])).trim()).toBe("200");
  });

  it("appears in status and Events, and the object has the finalizer", async () => {
    const object = await client.until("the replacement to be settled", async () => {
      const one = await client.resilience(BOUNDED, NAME);
      return one.status?.restarts?.[0]?.outcome === "Recovered" && one;
    });
    expect(object.status?.restarts).toMatchObject([
      { podUID: old.metadata.uid, workload: `DaemonSet/${NAME}`, cause: "TokenTooLong" },
    ]);
    const { policy } = (await entryOf(BOUNDED)) ?? {};
    expect(await pairOf(object)).toEqual([
      `mutatingadmissionpolicy.admissionregistration.k8s.io/${policy}`,
      `mutatingadmissionpolicybinding.admissionregistration.k8s.io/${policy}`,
    ]);
    expect(object.metadata.finalizers).toEqual(["controller-resilience.io/cleanup"]);
    const reasons = (await client.events(BOUNDED)).map(({ reason }) => reason);
    for (const reason of ["TokenLifetimeShortened", "Replacing", "PodEvicted", "Bounded"]) {
      expect(reasons).toContain(reason);
    }
  });

  it("gets the shorter token in every new pod, unlike another DaemonSet of the namespace", async () => {
    await client.output(["delete", "pods", "--all", "-n", BOUNDED]);
    expect(await lifeOf(BOUNDED)).toBe(600);
    expect(await lifeOf(BOUNDED, "beside")).toBeGreaterThan(300 * DAY);
  });

  it("gets its default token back after the object and its policies are deleted", async () => {
    const object = await client.resilience(BOUNDED, NAME);
    await client.output(["delete", "cres", NAME, "-n", BOUNDED, "--timeout=60s"]);
    expect(await pairOf(object)).toEqual([]);
    await client.until("a new pod to have the default token", async () => {
      await client.output(["delete", "pods", "--all", "-n", BOUNDED]);
      return (await lifeOf(BOUNDED)) > 300 * DAY;
    });
    expect((await set(BOUNDED)).metadata.generation).toBe(1);
  });
});

describe("a DaemonSet whose client does not read its token again", () => {
  it("loses the policy, and its next pod has the default token and works again", async () => {
    await client.apply(tokenAgent(agentOf(KEPT, { command: ["node", "/app/token-keeper.js"] })));
    const old = await podOf(KEPT);
    const works = async (pod: Pod): Promise<boolean> =>
      (await client.output(["logs", pod.metadata.name, "-n", KEPT, "-c", "agent"])).includes("reconciled");
    await client.until("the client to reconcile", () => works(old));
    await protect(KEPT);
    await untilReason(KEPT, "Reverted", NAME, 400_000);
    const object = await client.resilience(KEPT, NAME);
    expect(await pairOf(object)).toEqual([]);
    const healed = await client.until(
      "a third pod that reconciles",
      async () => {
        const pod = await podOf(KEPT);
        return (await works(pod)) && pod;
      },
      REPLACE_MS,
    );
    expect(healed.metadata.uid).not.toBe(old.metadata.uid);
    expect(await lifeOf(KEPT)).toBeGreaterThan(300 * DAY);
    expect((await set(KEPT)).metadata.generation).toBe(1);
    expect((await client.condition(KEPT, NAME, TYPE))?.reason).toBe("Reverted");
  });
});

describe("an API server", () => {
  const plugin = "--disable-admission-plugins=MutatingAdmissionPolicy";
  const api = "--runtime-config=admissionregistration.k8s.io/v1/mutatingadmissionpolicies=false";

  afterAll(() => suiteLab().restartApiServer({ extraArgs: [] }));

  it("without the admission plugin costs one pod, which the operator reports", async () => {
    await suiteLab().restartApiServer({ extraArgs: [plugin] });
    await client.apply(tokenAgent(agentOf(OFF)));
    const old = await podOf(OFF);
    await protect(OFF);
    const { status, message } = await untilReason(OFF, "AdmissionIneffective");
    expect(status).toBe("False");
    expect(message).toContain("the admission plugin MutatingAdmissionPolicy");
    const next = await podOf(OFF);
    expect(next.metadata.uid).not.toBe(old.metadata.uid);
    expect(await client.condition(OFF, NAME, "Stalled")).toMatchObject({
      status: "True",
      reason: "AdmissionIneffective",
    });
    expect((await client.resilience(OFF, NAME)).status?.restarts).toHaveLength(1);
  });

  it("that does not serve the API is reported with the version that does, and nothing is changed", async () => {
    await client.output(["delete", "cres", NAME, "-n", OFF, "--timeout=60s"]);
    await suiteLab().restartApiServer({ extraArgs: [plugin, api] });
    const pod = await podOf(OFF);
    await protect(OFF);
    const { status, message } = await untilReason(OFF, "AdmissionUnavailable");
    expect(status).toBe("False");
    expect(message).toContain("Kubernetes 1.36");
    expect((await podOf(OFF)).metadata.uid).toBe(pod.metadata.uid);
    expect((await set(OFF)).metadata.generation).toBe(1);
    expect((await client.resilience(OFF, NAME)).metadata.finalizers).toBeUndefined();
  });
});
