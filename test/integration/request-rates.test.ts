import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FLOW_PREFIX } from "../../src/api/names";
import type { Api } from "../../src/cluster/http/api";
import type { Connection } from "../../src/cluster/http/connection";
import { loadKubeConfigFile } from "../../src/cluster/testing/kubeconfig";
import { RequestCounts } from "../../src/cluster/measure/request-counts";
import { readServerCounts } from "../../src/cluster/measure/metrics";
import { systemClock } from "../../src/cluster/system";
import type { Refusal, RequestRates } from "../../src/core/readers";
import { apiOver, clientWith, connectionOf } from "./cluster-operator";
import { eventually } from "../cluster/admin";
import { flowSchema } from "../cluster/objects";
import { suiteAdmin, suiteLab } from "./suite-lab";

// The API server's counters of a FlowSchema that matches a ServiceAccount's requests, read with exactly the rights that this needs.

const RULES = [
  { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["get"], resourceNames: ["kubernetes"] },
  { nonResourceURLs: ["/metrics"], verbs: ["get"] },
];
const FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1";
const UID_HEADER = "x-kubernetes-pf-flowschema-uid";

const admin = suiteAdmin();
const connections: Connection[] = [admin.connection];
let namespace: string;
let flowName: string;
let api: Api;
let user: Connection;

/** A client of the ServiceAccount whose requests are counted. */
async function accountConnection(name: string): Promise<Connection> {
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await admin.create(accounts, { metadata: { name } });
  const { status } = await admin.create<{ status: { token: string } }>(`${accounts}/${name}/token`, { spec: {} });
  return connectionOf({ token: status.token });
}

/** Sends requests one by one; returns the uid of the FlowSchema of the last. Each is answered 403, which counts, too. */
async function request(count: number): Promise<string | undefined> {
  let uid: string | undefined;
  for (let i = 0; i < count; i++) {
    const access = await user.access();
    const wire = { method: "GET", path: `/api/v1/namespaces/${namespace}/configmaps`, headers: {} };
    const answer = await user.send(access, wire, new AbortController().signal);
    answer.resume();
    uid = String(answer.headers[UID_HEADER]);
  }
  return uid;
}

const requestsIn = ({ spans }: RequestRates): number[] => (spans[flowName] ?? []).map(({ requests }) => requests);

/** A new reading. It waits first, since a reading within a second returns the previous one. */
async function read(counts: RequestCounts): Promise<RequestRates> {
  await new Promise(resolve => setTimeout(resolve, 1_100));
  return counts.rates(0);
}

beforeAll(async () => {
  namespace = await admin.namespace("rates");
  flowName = `${FLOW_PREFIX}${namespace}`;
  const connection = await clientWith(admin, namespace, RULES);
  api = apiOver(connection);
  user = await accountConnection("kai");
  connections.push(connection, user);
  const { metadata } = await admin.create<{ metadata: { uid: string } }>(
    `${FLOWS}/flowschemas`,
    flowSchema(flowName, "workload-low", { namespace, name: "kai" }),
  );
  expect(
    await eventually(
      () => request(1),
      uid => uid === metadata.uid,
    ),
  ).toBe(metadata.uid);
});

afterAll(async () => {
  await admin.delete(`${FLOWS}/flowschemas/${flowName}`);
  for (const connection of connections) connection.close();
});

describe("the requests of a FlowSchema, as the API server counts them", () => {
  it("equal the requests that were sent, reading by reading", async () => {
    const counts = new RequestCounts({ api, clock: systemClock });
    expect(await read(counts)).toMatchObject({ spans: {}, servers: { found: 1, read: 1 } });
    await request(37);
    expect(requestsIn(await read(counts))).toEqual([37]);
    await request(5);
    expect(requestsIn(await read(counts))).toEqual([37, 5]);
    const beforeMs = Date.now();
    const rates = await read(counts);
    expect(requestsIn(rates)).toEqual([37, 5, 0]);
    expect(rates.unknown).toBeUndefined();
    const spans = rates.spans[flowName] ?? [];
    for (const [i, { toMs }] of spans.entries()) expect(toMs).toBe(spans[i + 1]?.fromMs ?? rates.readMs);
    expect(rates.readMs).toBeGreaterThanOrEqual(beforeMs);
    expect(rates.readMs).toBeLessThan(Date.now() + 1_000);
  });

  it("are the same when the API server is asked at its own address", async () => {
    const server = new URL(loadKubeConfigFile(suiteLab().kubeconfigPath).getCurrentCluster()!.server);
    const instance = { address: server.hostname, port: Number(server.port) };
    const source = { api, clock: systemClock };
    const ordinary = await readServerCounts(source);
    const direct = await readServerCounts(source, instance);
    expect(direct).toMatchObject({ address: server.host, startSeconds: ordinary.startSeconds });
    expect(direct.counts.get(flowName)).toBe(ordinary.counts.get(flowName));
  });

  it("come with what was refused: tokens that are not valid, and requests that RBAC does not allow", async () => {
    const source = { api, clock: systemClock };
    const before = (await readServerCounts(source)).counts;
    await request(5);
    const nobody = connectionOf({ token: "invalid" });
    connections.push(nobody);
    const wire = { method: "GET", path: "/api/v1/namespaces", headers: {} };
    (await nobody.send(await nobody.access(), wire, new AbortController().signal)).resume();
    // The API server counts a request after its answer.
    const isCounted = async (): Promise<boolean[]> => {
      const after = (await readServerCounts(source)).counts;
      const more = (code: Refusal) => (after.get(code) ?? NaN) - (before.get(code) ?? NaN);
      return [more("401") >= 1, more("403") >= 5, more("429") >= 0];
    };
    expect(await eventually(isCounted, all => all.every(Boolean))).toEqual([true, true, true]);
  });
});
