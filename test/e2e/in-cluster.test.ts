import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { ClusterClient } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import { HEALTH_PORT, operatorPodSpec, type PodOptions } from "../operator/pod";
import { leaseHolder, suiteClient } from "./operator";

// The operator in its own image, with the rights of deploy/ and under the strictest Pod Security level. What it does there: chart.test.ts.

const { namespace } = OPERATOR;
const NAME = "operator-in-cluster";
/** Keeps the object of a deleted pod, and with it the exit code. */
const KEPT = "test.controller-resilience.io/kept";

let client: ClusterClient;

async function enforce(level: "restricted" | null): Promise<void> {
  const label = `pod-security.kubernetes.io/enforce${level === null ? "-" : `=${level}`}`;
  await client.output(["label", "namespace", namespace, label, "--overwrite"]);
}

function metadataOf(name: string, finalizers: readonly string[] = []): object {
  return { namespace, name, labels: { "app.kubernetes.io/name": name }, finalizers };
}

/** Creates a pod without a Deployment, so that its exit code can be read. */
async function createPod(name: string, options: PodOptions): Promise<void> {
  await client.apply([
    { apiVersion: "v1", kind: "Pod", metadata: metadataOf(name, [KEPT]), spec: operatorPodSpec(options) },
  ]);
}

interface Terminated {
  readonly exitCode: number;
  readonly reason: string;
  readonly message?: string;
}

/** Returns how the container of a pod ended, and removes the finalizer of the pod. */
async function endOf(name: string): Promise<Terminated> {
  const path = "jsonpath={.status.containerStatuses[0].state.terminated}";
  const look = async (): Promise<Terminated | false> => {
    const text = await client.output(["get", "pod", name, "-n", namespace, "-o", path]);
    return text !== "" && (JSON.parse(text) as Terminated);
  };
  const end = await client.until(`the container of ${name} to end`, look);
  await release(name);
  return end;
}

async function release(name: string): Promise<void> {
  const patch = JSON.stringify({ metadata: { finalizers: null } });
  await client.kubectl(["patch", "pod", name, "-n", namespace, "--type=merge", "-p", patch]);
  await client.output(["delete", "pod", name, "-n", namespace, "--ignore-not-found", "--wait=false"]);
}

/** Sends a request to the pod's own address, as the kubelet and Prometheus do. */
function ask(path: string): Promise<string> {
  return client.output(["get", "--raw", `/api/v1/namespaces/${namespace}/pods/${NAME}:${HEALTH_PORT}/proxy${path}`]);
}

beforeAll(async () => {
  client = suiteClient();
  await enforce("restricted");
  await createPod(NAME, { image: inject("images").operator });
});

afterAll(async () => {
  for (const name of [NAME, "wrong-settings"]) await release(name);
  await enforce(null);
});

describe("the operator's image in a cluster", () => {
  it("runs restricted, on a read-only file system, and answers at the pod's address", async () => {
    await client.readyPods(namespace, NAME);
    expect(await ask("/readyz")).toContain("readyz check passed");
    expect(await ask("/healthz")).toContain("healthz check passed");
  });

  it("leads with a Lease in its own namespace, held under the name of its pod", async () => {
    await client.until("the operator to lead", async () =>
      /^controller_resilience_leader 1$/m.test(await ask("/metrics")),
    );
    expect(await leaseHolder(client)).toMatch(new RegExp(`^${NAME}_`));
  });

  it("logs no warnings", async () => {
    const lines = (await client.output(["logs", NAME, "-n", namespace])).trim().split("\n");
    const log = lines.map(line => JSON.parse(line) as { level: string | number; msg: string });
    const warnings = log.filter(({ level }) => level === "warn" || level === "error" || Number(level) >= 40);
    expect(warnings.map(warning => JSON.stringify(warning))).toEqual([]);
  });

  it("releases its Lease and exits with 0 when its pod is deleted", async () => {
    await client.output(["delete", "pod", NAME, "-n", namespace, "--wait=false"]);
    // The operator exits with 1 if its shutdown takes longer than five seconds.
    expect(await endOf(NAME)).toMatchObject({ exitCode: 0, reason: "Completed" });
    expect(await leaseHolder(client)).toBe("");
  });

  it("exits with 2 and a message in the pod's status when a setting is invalid", async () => {
    const env = { RESILIENCE_HEALTH_PORT: "http" };
    await createPod("wrong-settings", { image: inject("images").operator, env, restartPolicy: "Never" });
    expect(await endOf("wrong-settings")).toMatchObject({
      exitCode: 2,
      message: 'RESILIENCE_HEALTH_PORT: found "http", expected a whole number from 0 to 65535\n',
    });
  });
});
