import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { MetricsSpec } from "../../api/controller-resilience";
import { ForbiddenError } from "../../core/errors";
import { FakeClock, settle } from "../../core/testing/fake-clock";
import type { PodView } from "../../core/views";
import { textOf } from "../../evidence/metrics/testing/page";
import { issue, named } from "../testing/certificates";
import { type PodMetricsContext, PodMetricsReadings, type Scrape, scrapeByNetwork, targetOf } from "./pod-metrics";

const PAGE = textOf({ queues: [{ name: "widget", depth: 2, done: 5, slowestSeconds: 1 }] });

const POD: PodView = {
  ...{ namespace: "team", name: "web-1", uid: "u1", resourceVersion: "1", createdAtMs: 0 },
  ...{ phase: "Running", ready: true, serviceAccountName: "web", labels: {}, skip: false, containers: [] },
  podIP: "10.1.2.3",
  ports: [{ name: "metrics", port: 8080 }],
};

describe("where a pod serves metrics", () => {
  const at = (pod: Partial<PodView>, spec: MetricsSpec = {}): string => {
    try {
      const { address, port, isTls } = targetOf({ ...POD, ...pod }, spec);
      return `${isTls ? "https" : "http"} ${address} ${port}`;
    } catch (error) {
      return (error as Error).message;
    }
  };
  const https = { name: "https", port: 8443 };

  it.each<[Partial<PodView>, MetricsSpec, string]>([
    [{}, {}, "http 10.1.2.3 8080"],
    [{ podIP: "fd00::7" }, {}, "http fd00::7 8080"],
    [{ ports: [https, ...POD.ports!] }, {}, "http 10.1.2.3 8080"],
    [{ ports: [{ name: "web", port: 80 }, https] }, {}, "https 10.1.2.3 8443"],
    [{ ports: [https] }, { scheme: "HTTP" }, "http 10.1.2.3 8443"],
    [{}, { scheme: "HTTPS", port: "metrics" }, "https 10.1.2.3 8080"],
    [{}, { port: 9402 }, "http 10.1.2.3 9402"],
    [{ ports: [https] }, { port: 8443 }, "https 10.1.2.3 8443"],
    [{ hostNetwork: true }, { port: 8080 }, "http 10.1.2.3 8080"],
    [{ hostNetwork: true }, { port: 10_250 }, "it declares no TCP port 10250"],
    [{}, { port: "prom" }, "it declares no TCP port prom"],
    [{ podIP: "" }, {}, "it has no address yet"],
    [{ podIP: "metadata.internal" }, {}, "it has no address yet"],
  ])("%o with %o: %s", (pod, spec, expected) => expect(at(pod, spec)).toBe(expected));

  it.each(["hostNetwork with a name", "no ports"])("is said to be missing: %s", what => {
    expect(at(what === "no ports" ? { ports: [] } : { hostNetwork: true })).toMatch(
      /^it (is in the network|declares no)/,
    );
  });

  it.each(
    ["127.0.0.1", "127.9.9.9", "169.254.169.254", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::"].concat([
      "fe80::1",
      "ff02::1",
      "::ffff:127.0.0.1",
      "::ffff:169.254.169.254",
    ]),
  )("is never %s", podIP => expect(at({ podIP })).toBe("its address is none that a pod can have of its own"));
});

describe("the metrics of pods", () => {
  // A fake server for answers that no real program gives on demand.

  let server: Server;
  let handler: RequestListener;
  let clock: FakeClock;
  let readings: PodMetricsReadings;
  let asked: IncomingMessage[];
  let pods: readonly PodView[];
  let tokens: object[];
  let token: () => Promise<unknown>;

  let ended: number;

  /** Asks this machine instead. */
  const at =
    (port: () => number): Scrape =>
    async (request, signal) => {
      const end = (): void => void ended++;
      const asking = scrapeByNetwork({ ...request, address: "127.0.0.1", port: port() }, signal);
      asking.then(answer => answer.once("close", end), end);
      return asking;
    };
  const portOf = (one: { address(): unknown }): number => (one.address() as AddressInfo).port;
  const scrape = at(() => portOf(server));

  function readingsWith(context: Partial<PodMetricsContext>): PodMetricsReadings {
    const json = (request: object): Promise<never> => {
      tokens.push(request);
      return token() as Promise<never>;
    };
    return new PodMetricsReadings({ api: { json }, clock, pods: () => Promise.resolve(pods), scrape, ...context });
  }

  beforeEach(async () => {
    [asked, pods, tokens, ended] = [[], [POD], [], 0];
    token = () => Promise.resolve({ status: { token: "secret-of-the-reader" } });
    handler = (_, response) => void response.end(PAGE);
    server = createServer((request, response) => {
      asked.push(request);
      handler(request, response);
    });
    await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
    clock = new FakeClock();
    readings = readingsWith({});
  });

  afterEach(async () => {
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  });

  /** Lets the network answer; time passes only where a test says so. */
  function until(isDone: () => boolean): Promise<boolean> {
    return vi.waitUntil(isDone, { timeout: 100_000, interval: 2 });
  }

  /** Waits for the end of as many readings in all. */
  async function readTimes(count: number): Promise<void> {
    await until(() => ended >= count);
    for (let i = 0; i < 3; i++) await settle();
  }

  /** A failure is said after three. */
  async function unknownAfter(spec: MetricsSpec = {}): Promise<string> {
    for (let count = 1; count <= 3; count++) {
      if (count > 1) clock.advance(30_000);
      expect(readings.of(POD, spec).unknown).toBeUndefined();
      await readTimes(count);
    }
    return readings.of(POD, spec).unknown?.message ?? "known";
  }

  it("are read every half minute from the pod's own address, without a credential, while they are asked for", async () => {
    expect(readings.of(POD, {})).toEqual({});
    await until(() => readings.of(POD, {}).track !== undefined);
    expect(readings.of(POD, {}).track?.queues.get("widget")).toMatchObject({ depth: 2, done: { count: 5 } });
    expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual(["GET /metrics"]);
    expect(Object.keys(asked[0]!.headers).toSorted()).toEqual(["accept", "connection", "host"]);
    for (let count = 2; count < 20; count++) {
      await readTimes(Math.min(count - 1, 7));
      clock.advance(30_000);
    }
    await settle();
    expect(asked.length).toBe(7);
    expect(clock.pendingTimers).toBe(0);
  });

  it.each<[string, RequestListener, RegExp]>([
    [
      "HTML",
      (_, response) => response.end("<!doctype html>\n<p>workqueue_depth</p>\n"),
      /expected a whole page with process_start/,
    ],
    ["nothing", (_, response) => response.end(), /expected a whole page/],
    ["a truncated line", (_, response) => response.end(PAGE.slice(0, -1)), /expected a whole page/],
    ["a broken sample", (_, response) => response.end(`${PAGE}workqueue_depth{name="a\n`), /another line$/],
    [
      "a redirect",
      (_, response) => response.writeHead(302, { location: "http://127.0.0.1:1/metrics" }).end(),
      /answer 302$/,
    ],
    ["an error", (_, response) => response.writeHead(500).end("secret"), /answer 500$/],
    ["401", (_, response) => response.writeHead(401).end(), /answers 401; set metrics.tokenFrom/],
    [
      "a compressed page",
      (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(PAGE)),
      /got a compressed one$/,
    ],
    ["a huge page", (_, response) => response.end("# x\n".repeat(600_000)), /at most 2097152 bytes, got more$/],
    ["an endless line", (_, response) => response.end("x".repeat(100_000)), /lines of at most 16384 bytes/],
    [
      "less than it announces",
      (_, response) => response.writeHead(200, { "content-length": 10_000 }).write(PAGE, () => response.destroy()),
      /asking at port 8080 failed \(ECONNRESET\)$/,
    ],
    ["no HTTP", (_, response) => response.socket!.end("hello <b>\r\n\r\n"), /failed \(HPE_[A-Z_]+\)$/],
    [
      "huge headers",
      (_, response) => response.writeHead(200, { "x-a": "a".repeat(60_000) }).end(PAGE),
      /failed \(HPE_HEADER_OVERFLOW\)$/,
    ],
  ])("that are %s are unknown, with a sentence, and hurt nothing else", async (_, answer, sentence) => {
    handler = answer;
    const message = await unknownAfter();
    expect(message).toMatch(/^the metrics of pod web-1 cannot be read: /);
    expect(message).toMatch(sentence);
    expect(message).not.toMatch(/secret|hello|<|127/);
    expect(readings.of(POD, {}).track).toBeUndefined();
    handler = (_request, response) => void response.end(PAGE);
    clock.advance(30_000);
    await until(() => readings.of(POD, {}).track !== undefined);
    expect(readings.of(POD, {}).unknown).toBeUndefined();
  });

  it.each<[string, RequestListener]>([
    ["never begin", () => undefined],
    ["never end", (_, response) => void response.write(PAGE)],
  ])("that %s are given up after five seconds", async (_, answer) => {
    handler = answer;
    for (let count = 1; count <= 3; count++) {
      expect(readings.of(POD, {}).unknown).toBeUndefined();
      await until(() => asked.length === count);
      clock.advance(5_000);
      await readTimes(count);
      if (count < 3) clock.advance(30_000);
    }
    expect(readings.of(POD, {}).unknown?.message).toMatch(/the chart's metrics\.ports must list, timed out after 5s$/);
  });

  it("that nobody serves are told by the code of the error", async () => {
    readings = readingsWith({ scrape: at(() => 1) });
    expect(await unknownAfter()).toMatch(/asking at port 8080 failed \(ECONNREFUSED\)$/);
  });

  it("are read over TLS without a check of the certificate, which is self-signed as a rule", async () => {
    const { key, certificate } = issue("somebody", named("elsewhere.example"));
    const tls = createTlsServer({ key, cert: certificate }, (_, response) => void response.end(PAGE));
    await new Promise<void>(resolve => tls.listen(0, "127.0.0.1", resolve));
    readings = readingsWith({ scrape: at(() => portOf(tls)) });
    readings.of(POD, { scheme: "HTTPS" });
    await until(() => readings.of(POD, { scheme: "HTTPS" }).track !== undefined);
    tls.close();
  });

  it("of slow pods of one namespace delay no other's", async () => {
    const others = Array.from({ length: 30 }, (_, i) => ({ ...POD, namespace: "slow", uid: `s${i}` }));
    const open: Socket[] = [];
    const tarpit = createTcpServer(socket => void open.push(socket));
    await new Promise<void>(resolve => tarpit.listen(0, "127.0.0.1", resolve));
    const slow = at(() => portOf(tarpit));
    const either: Scrape = (request, signal) => (request.address === "10.9.9.9" ? slow : scrape)(request, signal);
    pods = [...others.map(pod => ({ ...pod, podIP: "10.9.9.9" })), POD];
    readings = readingsWith({ scrape: either });
    for (const pod of others) readings.of(pod, {});
    await until(() => open.length === 4);
    readings.of(POD, {});
    await until(() => readings.of(POD, {}).track !== undefined);
    expect(open.length).toBe(4);
    open.forEach(socket => socket.destroy());
    tarpit.close();
  });

  it("of one namespace take no place of another's", () => {
    readings = readingsWith({ scrape: () => new Promise(() => undefined) });
    for (let port = 1; port <= 250; port++) expect(readings.of(POD, { port })).toEqual({});
    expect(readings.of(POD, { port: 251 }).unknown?.message).toContain("more than 250 pods of a namespace");
    expect(readings.of({ ...POD, namespace: "another", uid: "b" }, {})).toEqual({});
  });

  it("of a pod that is gone, or has not started, are not asked for", async () => {
    const scrape = vi.fn<Scrape>();
    for (const left of [[], [{ ...POD, phase: "Pending" }], [{ ...POD, deletedAtMs: 1 }], [{ ...POD, uid: "u2" }]]) {
      pods = left;
      readings = readingsWith({ scrape });
      expect(readings.of(POD, {})).toEqual({});
      await readTimes(0);
      expect(readings.of(POD, {})).toEqual({});
    }
    expect(scrape).not.toHaveBeenCalled();
  });

  it("are forgotten when they have not been read for a while", async () => {
    readings.of(POD, {});
    await until(() => readings.of(POD, {}).track !== undefined);
    pods = [];
    clock.advance(29_000);
    expect(readings.of(POD, {}).track).toBeDefined();
    clock.freeze(72_000);
    expect(readings.of(POD, {})).toEqual({});
  });

  describe("with a token", () => {
    const spec = { tokenFrom: "metrics-reader" };

    it("of the named ServiceAccount, short-lived and used again", async () => {
      readings.of(POD, spec);
      await until(() => readings.of(POD, spec).track !== undefined);
      expect(asked[0]?.headers.authorization).toBe("Bearer secret-of-the-reader");
      for (let i = 0; i < 17; i++) {
        readings.of(POD, spec);
        clock.advance(30_000);
        await readTimes(i + 2);
      }
      expect(asked.length).toBe(18);
      expect(tokens).toHaveLength(2);
      expect(tokens[0]).toMatchObject({
        method: "POST",
        path: "/api/v1/namespaces/team/serviceaccounts/metrics-reader/token",
        body: { spec: { expirationSeconds: 600 } },
      });
    });

    it("that the operator may not create, nothing is sent", async () => {
      token = () => Promise.reject(new ForbiddenError("create serviceaccounts/token team/metrics-reader: forbidden"));
      readings.of(POD, spec);
      await until(() => readings.of(POD, spec).unknown !== undefined);
      expect(readings.of(POD, spec).unknown).toEqual({
        forbidden: true,
        message:
          "the metrics of pod web-1 cannot be read: create serviceaccounts/token team/metrics-reader: forbidden; list metrics-reader in the chart's value metrics.tokens",
      });
      expect(asked).toEqual([]);
    });

    it("that the pod refuses, the sentence says what to allow", async () => {
      handler = (_, response) => void response.writeHead(403).end();
      expect(await unknownAfter(spec)).toMatch(
        /answers 403 to a token of ServiceAccount metrics-reader, which must be/,
      );
    });
  });
});
