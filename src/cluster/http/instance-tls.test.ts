import type { IncomingMessage, RequestListener } from "node:http";
import { KubeConfig } from "@kubernetes/client-node";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { TransientError } from "../../core/errors";
import { FakeClock } from "../../core/testing/fake-clock";
import { authority, issue, named, type Party } from "../testing/certificates";
import { StandIn } from "../testing/fake-server";
import { Api } from "./api";
import { Connection } from "./connection";

// One of several API servers, at an address that is not in the kubeconfig.

let ca: Party;
let usual: Party;
let nameless: Party;
let foreign: Party;
beforeAll(() => {
  ca = authority();
  usual = issue("kube-apiserver", named("kubernetes.default.svc"), ca);
  nameless = issue("kube-apiserver", named("api.example.com"), ca);
  foreign = issue("kube-apiserver", named("kubernetes.default.svc"), authority());
});

let server: StandIn;
let requests: IncomingMessage[];
let accepted: string;
let connection: Connection;

beforeEach(() => {
  requests = [];
  accepted = "Bearer first";
});

afterEach(async () => {
  connection.close();
  await server.stop();
});

/** Starts the instance, and a client whose kubeconfig has another server. */
async function start(party: Party, cluster: object = {}, isAlone = false, authorities: readonly string[] = []) {
  const { key, certificate: cert } = party;
  const answer: RequestListener = (request, response) => {
    requests.push(request);
    response.writeHead(request.headers.authorization === accepted ? 200 : 401).end("{}");
  };
  server = new StandIn(answer, { key, cert });
  const url = await server.start();
  let loads = 0;
  const load = (): KubeConfig => {
    const config = new KubeConfig();
    const caData = Buffer.from(authorities[loads] ?? ca.certificate).toString("base64");
    const token = loads++ === 0 ? "first" : "second";
    const elsewhere = { name: "c", server: "https://127.0.0.1:1/prefix", caData, skipTLSVerify: false, ...cluster };
    const alone = { server: url, tlsServerName: "kubernetes.default.svc" };
    config.loadFromClusterAndUser({ ...elsewhere, ...(isAlone ? alone : {}) }, { name: "u", token });
    return config;
  };
  const clock = new FakeClock();
  const answers: unknown[] = [];
  connection = new Connection(load, clock);
  const api = new Api(connection, clock, { userAgent: "t", onAnswer: head => void answers.push(head) });
  const instance = { address: "127.0.0.1", port: server.port };
  const ask = () => api.send({ what: "get /metrics", path: "/metrics", instance });
  const askUsual = (isFresh: boolean) => api.send({ what: "get /metrics", path: "/metrics", isFresh });
  return { clock, ask, askUsual, answers, loads: () => loads };
}

describe("an instance of the API server", () => {
  it("is read at its own address, with the common server name and the credentials of the kubeconfig", async () => {
    const { ask } = await start(usual);
    expect((await ask()).code).toBe(200);
    expect(requests[0]?.url).toBe("/metrics");
    expect(requests[0]?.headers).toMatchObject({ authorization: "Bearer first", "user-agent": "t" });
  });

  it("gets no credentials if its certificate has another name or authority, whatever the kubeconfig says", async () => {
    for (const party of [nameless, foreign]) {
      for (const cluster of [{}, { skipTLSVerify: true }, { tlsServerName: "api.example.com" }]) {
        const { ask } = await start(party, cluster);
        await expect(ask()).rejects.toThrow(TransientError);
        connection.close();
        await server.stop();
      }
    }
    expect(requests).toEqual([]);
  });

  it("is read once more with newly read credentials after a 401", async () => {
    const { ask, loads } = await start(usual);
    accepted = "Bearer second";
    expect((await ask()).code).toBe(200);
    expect([requests.length, loads()]).toEqual([2, 2]);
  });

  it("does not affect the reachability of the server of the kubeconfig", async () => {
    const { ask, answers } = await start(usual);
    await ask();
    expect(answers).toEqual([]);
  });

  it("reuses one connection", async () => {
    const { ask } = await start(usual);
    for (let i = 0; i < 10; i++) await ask();
    expect(server.opened).toBe(1);
  });
});

it("the server of the kubeconfig gets a connection of its own for a request that asks for it, in front of which a load balancer may choose", async () => {
  const { askUsual } = await start(usual, {}, true);
  for (const isFresh of [false, false, true, true, false]) expect((await askUsual(isFresh)).code).toBe(200);
  expect(server.opened).toBe(3);
});

it("a kubeconfig whose authority was replaced is read again, at most every five seconds", async () => {
  accepted = "Bearer second";
  const old = authority().certificate;
  const { askUsual, clock, loads } = await start(usual, {}, true, [old, old]);
  const refused = async (): Promise<void> => expect(askUsual(false)).rejects.toThrow(/certificate/);
  await refused();
  for (let i = 0; i < 3; i++) await refused();
  expect(loads()).toBe(2);
  clock.advance(5_000);
  await refused();
  expect((await askUsual(false)).code).toBe(200);
  expect(loads()).toBe(3);
});

it("the server of the kubeconfig gets no credentials without a trusted certificate, whatever the environment says", async () => {
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  const { askUsual } = await start(foreign, {}, true);
  await expect(askUsual(false)).rejects.toThrow(TransientError);
  await expect(askUsual(true)).rejects.toThrow(TransientError);
  expect(requests).toEqual([]);
  vi.unstubAllEnvs();
});
