import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { FlowStatus } from "../../src/api/controller-resilience";
import { Connection } from "../../src/cluster/http/connection";
import { systemClock } from "../../src/cluster/system";
import { loadKubeConfigFile } from "../../src/cluster/testing/kubeconfig";
import type { ClusterClient } from "../cluster/client";
import { roleBinding } from "../cluster/objects";
import { smallController } from "../controllers/small-controller";
import type { OperatorProcess } from "../operator/process";
import { startOperator, suiteClient, suiteLab } from "./operator";

// A controller of 64 workers without backoff, in a pod, against the real API server. It gets a flow from the start, is throttled when it
// loses its rights and loops on 403, and is released again. At the end nothing of the isolation is left.

const NAME = "reckless";
const OTHER = "reckless-other";
const NAMESPACE = "flow-isolation";
const QUARANTINE = "controller-resilience-tar-pit";
const SHARED = "controller-resilience-shared";
const LEASES = "controller-resilience-leases";
/** More than the 16 requests per second of the controller with its rights; fewer than it makes without them on a busy machine. */
const RATE = { threshold: 25, for: "15s", release: "30s" };
const MANAGED = ["-l", "app.kubernetes.io/managed-by=controller-resilience"];

let client: ClusterClient;
let operator: OperatorProcess;

beforeAll(async () => {
  client = suiteClient();
  await client.createNamespace(NAMESPACE);
  operator = await startOperator();
});

afterAll(async () => {
  await client.output(["delete", "cres", "--all", "-n", NAMESPACE]);
  await operator.stop();
  await client.deleteNamespace(NAMESPACE);
});

async function run(name: string, onRunaway: string): Promise<void> {
  const command = ["node", "/app/reckless-controller.js"];
  await client.apply(smallController({ namespace: NAMESPACE, name, image: inject("images").node, command }));
  await client.readyPods(NAMESPACE, name);
  await client.protect(NAMESPACE, name, {
    targets: [{ kind: "Deployment", name }],
    flowIsolation: { requestRate: { ...RATE, onRunaway } },
  });
  await client.untilCondition({ namespace: NAMESPACE, name, type: "FlowsIsolated" }, ["Isolated"]);
}

function untilState(state: FlowStatus["state"]): Promise<FlowStatus> {
  return client.until(`the flow of ${NAME} to be ${state}`, async () => {
    const [flow] = (await client.resilience(NAMESPACE, NAME)).status?.flows ?? [];
    if (flow?.state === state) return flow;
    throw new Error(`${flow?.state}, ${flow?.requestsPerSecond ?? "?"} requests/s`);
  });
}

/** The UIDs of the FlowSchema and the priority level that handled a request of the controller, from the headers of any answer, also of a refusal. */
async function flowHeaders(path: string): Promise<{ schema: unknown; level: unknown }> {
  const kubeconfig = await suiteLab().serviceAccountKubeconfig(NAMESPACE, NAME);
  const connection = new Connection(() => loadKubeConfigFile(kubeconfig), systemClock);
  const request = { method: "GET", path, headers: {} };
  const answer = await connection.send(await connection.access(), request, new AbortController().signal);
  answer.resume();
  connection.close();
  const [schema, level] = ["flowschema", "prioritylevel"].map(kind => answer.headers[`x-kubernetes-pf-${kind}-uid`]);
  return { schema, level };
}

const uidOf = (kind: "flowschema" | "prioritylevelconfiguration", name: string): Promise<string> =>
  client.output(["get", kind, name, "-o", "jsonpath={.metadata.uid}"]);
const levelUID = (name: string): Promise<string> => uidOf("prioritylevelconfiguration", name);

const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/any`;

const levelOf = (schema: string): Promise<string> =>
  client.output(["get", "flowschema", schema, "-o", "jsonpath={.spec.priorityLevelConfiguration.name}"]);

/** Number of requests of a FlowSchema that the API server has dispatched or rejected so far. */
async function requestsOf(schema: string): Promise<number> {
  const counts = ["dispatched", "rejected"].map(what =>
    client.counter(`apiserver_flowcontrol_${what}_requests_total`, `flow_schema="${schema}"`),
  );
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

/** What is counted in five seconds or more, which end before the throttle does; it begins again as long as the controller has no rights. */
async function requestsWhileThrottled(schema: string): Promise<{ made: number; ms: number } | false> {
  if ((await levelOf(schema)) !== QUARANTINE) return false;
  const beganMs = performance.now();
  const before = await requestsOf(schema);
  await new Promise(resolve => setTimeout(resolve, 5_000));
  const seen = { made: (await requestsOf(schema)) - before, ms: performance.now() - beganMs };
  return (await levelOf(schema)) === QUARANTINE && seen;
}

/** Levels and FlowSchemas that the operator created; those of its own requests come from the installation. */
async function made(): Promise<string[]> {
  const kinds = "flowschemas,prioritylevelconfigurations";
  const names = (await client.output(["get", kinds, ...MANAGED, "-o", "name"])).split("\n").filter(Boolean);
  return names.filter(name => !/\/controller-resilience(-lease)?$/.test(name));
}

const untilTold = (what: string) => client.untilEvent(NAMESPACE, ({ reason }) => reason === what);

describe("a controller without backoff", () => {
  let flow: FlowStatus;

  it("has its own flow from the start, and its leases have the level for leases", async () => {
    await run(NAME, "Throttle");
    flow = await untilState("Normal");
    expect(await flowHeaders(`/api/v1/namespaces/${NAMESPACE}/configmaps`)).toEqual({
      schema: await uidOf("flowschema", flow.flowSchema ?? ""),
      level: await levelUID(SHARED),
    });
    expect((await flowHeaders(LEASE)).level).toBe(await levelUID(LEASES));
    // The quarantine level exists before it is needed.
    expect(await levelUID(QUARANTINE)).not.toBe("");
  });

  it("gets its FlowSchema restored after another client changes it", async () => {
    const schema = flow.flowSchema ?? "";
    await client.output(["patch", "flowschema", schema, "--type=merge", "-p", '{"spec":{"matchingPrecedence":8000}}']);
    const look = async (): Promise<boolean> =>
      (await client.output(["get", "flowschema", schema, "-o", "jsonpath={.spec.matchingPrecedence}"])) === "1000";
    await client.until("the precedence to be restored", look);
  });

  it("is throttled when it has lost its rights and loops on 403", async () => {
    await client.deleteBinding("RoleBinding", NAME, NAMESPACE);
    const { requestsPerSecond, until, releaseSeconds } = await untilState("Throttled");
    expect(releaseSeconds).toBe(30);
    expect(Date.parse(until ?? "")).not.toBeNaN();
    expect(requestsPerSecond).toBeGreaterThan(RATE.threshold);
    const seen = await client.until("five seconds of the throttle", () =>
      requestsWhileThrottled(flow.flowSchema ?? ""),
    );
    // 64 workers that are each refused after 15 s make 64 requests in 15 s. Without the throttle 5 s had hundreds.
    expect(seen.made).toBeLessThanOrEqual(64 * Math.ceil(1 + seen.ms / 15_000));
    const { message } = await untilTold("FlowThrottled");
    expect(message).toMatch(new RegExp(`\\d+ requests/s, threshold ${RATE.threshold} requests/s for ${RATE.for}`));
  });

  it("keeps its leases while it is throttled", async () => {
    expect((await flowHeaders(LEASE)).level).toBe(await levelUID(LEASES));
  });

  it("is released, put on probation, and isolated again after it has its rights back", async () => {
    const own = { namespace: NAMESPACE, name: NAME };
    await client.apply([roleBinding(own, { kind: "Role", name: NAME }, own)]);
    await untilState("Probation");
    await untilState("Normal");
    expect(await levelOf(flow.flowSchema ?? "")).toBe(SHARED);
    for (const reason of ["FlowThrottled", "FlowReleased", "Isolated"]) await untilTold(reason);
  });
});

describe("the created levels and FlowSchemas", () => {
  it("stay while another object needs them, and are deleted with the last", async () => {
    await run(OTHER, "Report");
    await client.output(["delete", "cres", OTHER, "-n", NAMESPACE]);
    expect(await made()).toEqual(expect.arrayContaining([expect.stringMatching(new RegExp(`/${SHARED}$`))]));
    await client.output(["delete", "cres", NAME, "-n", NAMESPACE]);
    expect(await made()).toEqual([]);
  });
});
