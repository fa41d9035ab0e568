import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { DaemonSetStatus, StatusCondition } from "../../src/api/controller-resilience";
import type { ClusterClient, DaemonSet, Pod } from "../cluster/client";
import {
  AGENT_CONTAINERS,
  TOKEN_FILES,
  TOKEN_FOLDER,
  tokenAgent,
  tokenIn,
  type TokenAgentOptions,
} from "../controllers/token-agent";
import type { OperatorProcess } from "../operator/process";
import { startOperator, suiteClient } from "./operator";

// DaemonSets with real tokens: one that is tried with a shorter token, and one whose client can't work with it. test/gitops has trials that pass,
// which take as long as the token lives, and templates that are changed back.

const NAME = "agent";
const TYPE = "TokenLifetimeBounded";
const BOUNDED = "lifetime-bounded";
const KEPT = "lifetime-kept";
const namespaces = [BOUNDED, KEPT];

let client: ClusterClient;
let operator: OperatorProcess;

beforeAll(async () => {
  client = suiteClient();
  for (const namespace of namespaces) await client.createNamespace(namespace);
  operator = await startOperator();
});

afterAll(async () => {
  await operator.stop();
  for (const namespace of namespaces) await client.deleteNamespace(namespace);
});

function agentOf(namespace: string, more: Partial<TokenAgentOptions> = {}): TokenAgentOptions {
  return { namespace, name: NAME, image: inject("images").node, command: ["node", "/app/controller.js"], ...more };
}

async function protect(namespace: string): Promise<void> {
  await client.protect(namespace, NAME, { targets: [{ kind: "DaemonSet", name: NAME }], tokenLifetime: {} });
}

const condition = (namespace: string): Promise<StatusCondition | undefined> => client.condition(namespace, NAME, TYPE);
const set = (namespace: string): Promise<DaemonSet> => client.daemonSet(namespace, NAME);
const templateText = async (namespace: string): Promise<string> => JSON.stringify((await set(namespace)).spec.template);

async function entryOf(namespace: string): Promise<DaemonSetStatus | undefined> {
  return (await client.resilience(namespace, NAME)).status?.daemonSets?.find(({ name }) => name === NAME);
}

async function untilReason(namespace: string, reason: string): Promise<StatusCondition> {
  return client.untilCondition({ namespace, name: NAME, type: TYPE }, [reason]);
}

/** The only pod, once no other exists or is terminating. */
async function podOf(namespace: string): Promise<Pod> {
  const [pod] = await client.readyPods(namespace, NAME);
  return pod!;
}

describe("a DaemonSet whose pods have the default token", () => {
  let before: DaemonSet;
  let old: Pod;

  it("has a token with a life of one year at first", async () => {
    await client.apply(tokenAgent(agentOf(BOUNDED)));
    old = await podOf(BOUNDED);
    const { lifeSeconds, claims } = await tokenIn(client, {
      namespace: BOUNDED,
      pod: old.metadata.name,
      container: NAME,
    });
    expect(lifeSeconds).toBeGreaterThan(300 * 86_400);
    expect(claims["kubernetes.io"].warnafter! - claims.iat).toBe(3607);
    expect(old.spec.volumes?.map(({ name }) => name.replace(/-[^-]*$/, ""))).toEqual(["kube-api-access"]);
    before = await set(BOUNDED);
  });

  it("is changed once, and its first pod is replaced for the trial", async () => {
    await protect(BOUNDED);
    const begun = await client.until("the trial of the first pod", async () => {
      const found = await condition(BOUNDED);
      return found?.message.includes("the first must work until") === true && found;
    });
    expect(begun).toMatchObject({ status: "False", reason: "Rolling" });
    expect((await set(BOUNDED)).metadata).toMatchObject({
      uid: before.metadata.uid,
      generation: before.metadata.generation + 1,
    });
    expect((await set(BOUNDED)).spec).toMatchObject({ updateStrategy: { type: "OnDelete" } });
    expect(await entryOf(BOUNDED)).toMatchObject({ outcome: "Trial", uid: before.metadata.uid });
  });

  it("has a pod without the volume that admission adds, but with the same files in each container", async () => {
    const pod = await podOf(BOUNDED);
    expect(pod.metadata.uid).not.toBe(old.metadata.uid);
    expect(pod.spec.volumes?.filter(({ name }) => name.startsWith("kube-api-access"))).toEqual([]);
    const where = { namespace: BOUNDED, pod: pod.metadata.name };
    for (const container of AGENT_CONTAINERS) {
      const files = (await client.exec({ ...where, container }, ["ls", TOKEN_FOLDER])).trim().split("\n");
      expect(files, container).toEqual(TOKEN_FILES);
      expect(await client.exec({ ...where, container }, ["cat", `${TOKEN_FOLDER}/namespace`])).toBe(BOUNDED);
      expect(await client.exec({ ...where, container }, ["cat", `${TOKEN_FOLDER}/ca.crt`])).toContain("CERTIFICATE");
    }
    const seen = await client.output(["logs", pod.metadata.name, "-n", BOUNDED, "-c", "init"]);
    expect(seen.trim().split(/\s+/)).toEqual(TOKEN_FILES);
  });

  it("has tokens of ten minutes, and real requests with them succeed", async () => {
    const pod = await podOf(BOUNDED);
    for (const container of AGENT_CONTAINERS) {
      const where = { namespace: BOUNDED, pod: pod.metadata.name, container };
      const { lifeSeconds, claims } = await tokenIn(client, where);
      expect(lifeSeconds).toBe(600);
      expect(claims["kubernetes.io"].warnafter).toBeUndefined();
      expect(claims["kubernetes.io"].pod?.uid).toBe(pod.metadata.uid);
    }
    const agent = { namespace: BOUNDED, pod: pod.metadata.name, container: NAME };
    expect((await client.exec(agent, ["node", "/app/token-request.js"])).trim()).toBe("200");
  });

  it("has been changed once, and Events report each step", async () => {
    expect((await set(BOUNDED)).metadata.generation).toBe(before.metadata.generation + 1);
    const events = await client.events(BOUNDED);
    const reasonsOn = (kind: string): string[] =>
      events.filter(({ involvedObject }) => involvedObject.kind === kind).map(({ reason }) => reason);
    expect(reasonsOn("DaemonSet")).toEqual(["TokenLifetimeShortened"]);
    expect(reasonsOn("Pod")).toContain("PodEvicted");
    expect(reasonsOn("ControllerResilience")).toContain("Rolling");
  });

  it("gets its template and updateStrategy back when the object is deleted", async () => {
    await client.output(["delete", "cres", NAME, "-n", BOUNDED, "--timeout=60s"]);
    const { spec } = await set(BOUNDED);
    expect(spec.template).toEqual(before.spec.template);
    expect(spec).toMatchObject({ updateStrategy: { type: "RollingUpdate" } });
  });
});

describe("a DaemonSet whose client does not read its token again", () => {
  const keeper = { command: ["node", "/app/token-keeper.js"] };
  let before: string;

  async function logOf(pod: Pod): Promise<string> {
    return client.output(["logs", pod.metadata.name, "-n", KEPT, "-c", NAME]);
  }

  it("gets 401 after its token has become short", async () => {
    await client.apply(tokenAgent(agentOf(KEPT, keeper)));
    const old = await podOf(KEPT);
    await client.until("the client to reconcile", async () => (await logOf(old)).includes("reconciled"));
    before = await templateText(KEPT);
    await protect(KEPT);
    const pod = await client.until("the first pod to be replaced", async () => {
      const found = await podOf(KEPT);
      return found.metadata.uid !== old.metadata.uid && found;
    });
    await client.until("its requests to be answered 401", async () => (await logOf(pod)).includes("HTTP-Code: 401"));
    expect(await logOf(pod)).not.toContain("reconciled");
  });

  it("gets its original template back, and works again", async () => {
    // The reason says what happens from the first step on.
    const { status } = await untilReason(KEPT, "Reverted");
    expect(status).toBe("False");
    const isDone = async (): Promise<boolean> => (await entryOf(KEPT))?.outcome === "Reverted";
    await client.until("the template to be restored", isDone);
    expect(await templateText(KEPT)).toBe(before);
    // Created, changed, and changed back.
    expect((await set(KEPT)).metadata.generation).toBe(3);
    const isBack = async () => (await logOf(await podOf(KEPT))).includes("reconciled");
    await client.until("a pod that reconciles again", isBack);
    await client.untilEvent(
      KEPT,
      ({ reason, involvedObject: { kind } }) => [reason, kind].join(" ") === "TokenLifetimeRestored DaemonSet",
    );
  });
});
