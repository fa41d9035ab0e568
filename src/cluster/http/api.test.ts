import { getEventListeners } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TerminalError, TransientError, UnauthorizedError, UnavailableError } from "../../core/errors";
import { FakeClock, settle } from "../../core/testing/fake-clock";
import { Api, type ApiRequest, TimeoutError } from "./api";
import { Connection } from "./connection";
import { issue, named } from "../testing/certificates";
import { StandIn } from "../testing/fake-server";
import { loadKubeConfigFile } from "../testing/kubeconfig";

const call = { what: "get things", path: "/things" };
const { key, certificate: cert } = issue("server", named("127.0.0.1"));
let standIn: StandIn;
let clock: FakeClock;
let connection: Connection;
let api: Api;
let folder: string;

beforeEach(async () => {
  standIn = new StandIn(undefined, { key, cert });
  await standIn.start();
  clock = new FakeClock();
  folder = mkdtempSync(join(tmpdir(), "api-"));
  use(() => standIn.config({ name: "u", token: "first" }));
});

afterEach(async () => {
  connection.close();
  await standIn.stop();
  rmSync(folder, { recursive: true });
  expect(clock.pendingTimers).toBe(0);
});

function use(load: () => KubeConfig): void {
  connection = new Connection(load, clock);
  api = new Api(connection, clock, { userAgent: "controller-resilience/test", maxConcurrent: 4 });
}

function answer(code: number, body: object, headers: Record<string, string> = {}): RequestListener {
  return (_, response) => response.writeHead(code, headers).end(JSON.stringify(body));
}

it("a socket keeps the delay of its keep-alive probes while it is idle", async () => {
  const delays = vi.spyOn(Socket.prototype, "setKeepAlive");
  for (let i = 0; i < 3; i++) await api.json(call);
  expect(standIn.opened).toBe(1);
  // At least once before each request, and once after it.
  expect(delays.mock.calls.length).toBeGreaterThan(3);
  expect(new Set(delays.mock.calls.map(([, delayMs]) => delayMs))).toEqual(new Set([30_000]));
  delays.mockRestore();
});

describe("a call", () => {
  it("sends the method, path, query and headers", async () => {
    standIn.handler = answer(201, { ok: true });
    const body = { grüße: "🙂" };
    const result = await api.json({ ...call, method: "POST", query: { limit: 5, a: undefined, watch: true }, body });
    expect(result).toEqual({ ok: true });
    const [request] = standIn.requests;
    expect(request?.method).toBe("POST");
    expect(request?.url).toBe("/things?limit=5&watch=true");
    expect(request?.headers).toMatchObject({
      "user-agent": "controller-resilience/test",
      authorization: "Bearer first",
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(JSON.stringify(body))),
    });
  });

  it("keeps the path of the server's URL", async () => {
    use(() => standIn.config({ name: "u", token: "first" }, "/k8s/clusters/c-1"));
    await api.json(call);
    expect(standIn.requests[0]?.url).toBe("/k8s/clusters/c-1/things");
  });

  it("reports each answer, whatever its status", async () => {
    const heads: unknown[] = [];
    const onAnswer = (head: unknown, sentAtMs: number): void => void heads.push([head, sentAtMs]);
    const counted: string[] = [];
    const metrics = {
      count: (_: string, { method, code }: Record<string, string>) => void counted.push(`${method} ${code}`),
    };
    api = new Api(connection, clock, { userAgent: "t", onAnswer, metrics });
    const sentAtMs = clock.monotonicMs();
    standIn.handler = (_, response) => {
      clock.advance(20);
      answer(404, {}, { Date: "Wed, 01 Jan 2025 12:00:00 GMT" })(_, response);
    };
    await api.jsonOrNull(call);
    expect(heads).toEqual([[{ code: 404, date: "Wed, 01 Jan 2025 12:00:00 GMT" }, sentAtMs]]);
    standIn.handler = (_, response) => void response.destroy();
    await expect(api.json({ ...call, method: "POST" })).rejects.toThrow("things");
    expect(counted).toEqual(["GET 404", "POST <error>"]);
  });

  it("reports no 401 of a kubelet, and does not ask again with other credentials", async () => {
    const heads: unknown[] = [];
    api = new Api(connection, clock, { userAgent: "t", onAnswer: head => void heads.push(head) });
    const ofKubelet = { kind: "Status", code: 401, details: { kind: "pods/log" } };
    standIn.handler = answer(401, ofKubelet);
    await expect(api.json(call)).rejects.toMatchObject({ constructor: TransientError });
    expect([heads, standIn.requests.length]).toEqual([[], 1]);
    standIn.handler = answer(401, { ...ofKubelet, details: undefined });
    await expect(api.send(call)).rejects.toThrow(UnauthorizedError);
    expect([heads.length, standIn.requests.length]).toEqual([2, 3]);
  });

  it("opens few sockets for many calls", async () => {
    for (let i = 0; i < 100; i++) await Promise.all(Array.from({ length: 10 }, () => api.json(call)));
    expect(standIn.requests).toHaveLength(1_000);
    expect(standIn.opened).toBeLessThanOrEqual(4);
  });

  it("turns any other answer into an error type of core", async () => {
    standIn.handler = answer(503, {}, { "Retry-After": "3" });
    await expect(api.json(call)).rejects.toMatchObject({ constructor: UnavailableError, afterMs: 3_000 });
    standIn.handler = (_, response) => response.end("<html>");
    await expect(api.json(call)).rejects.toThrow("get things: expected JSON, got another body");
    standIn.handler = (_, response) => response.writeHead(502).end("token=secret");
    await expect(api.json(call)).rejects.toThrow(/^get things: HTTP 502$/);
  });

  it("rejects an answer above the size limit", async () => {
    standIn.handler = (_, response) => response.end("x".repeat(2_000));
    await expect(api.send({ ...call, maxBytes: 1_000 })).rejects.toThrow(TerminalError);
  });
});

describe("a kept connection that breaks just as it is used", () => {
  /** Carries out the first request and closes the connection before the answer, like a server that is stopped at that moment. */
  async function breakOnce(): Promise<void> {
    await api.json(call);
    let broken = false;
    standIn.handler = (request, response) => {
      request.resume();
      if (broken) answer(404, { kind: "Status", message: "not found" })(request, response);
      else request.socket.destroy();
      broken = true;
    };
  }

  it("is retried for a read on a new connection, since others may be dead too", async () => {
    await Promise.all(Array.from({ length: 4 }, () => api.json(call)));
    const dead = new Set([...standIn.sockets]);
    standIn.handler = (request, response) => {
      if (dead.has(request.socket)) request.socket.destroy();
      else response.end("{}");
    };
    expect(await api.json(call)).toEqual({});
  });

  it.each(["POST", "PUT", "PATCH", "DELETE"] as const)(
    "leaves a %s in doubt: it may have been carried out, and is not sent again",
    async method => {
      await breakOnce();
      const error = await api.json({ ...call, method, body: {} }).catch((thrown: unknown) => thrown);
      expect((error as Error).constructor).toBe(TransientError);
      expect(standIn.requests).toHaveLength(2);
    },
  );
});

describe("the deadline", () => {
  it.each<[string, RequestListener]>([
    ["an answer that never begins", () => undefined],
    ["a body that never ends", (_, response) => void response.write('{"a":')],
  ])("ends %s", async (_, handler) => {
    standIn.handler = handler;
    const arrived = standIn.arrival();
    const result = api.json({ ...call, deadlineMs: 10_000 });
    const refused = expect(result).rejects.toThrow(TimeoutError);
    await arrived;
    await settle();
    await clock.run(10_000);
    await refused;
  });

  it("includes the wait for a free slot", async () => {
    standIn.handler = () => undefined;
    const hanging = Array.from({ length: 4 }, () => expect(api.json(call)).rejects.toThrow(TimeoutError));
    const waiting = expect(api.json({ ...call, deadlineMs: 1_000 })).rejects.toThrow("timed out after 1 s");
    await settle();
    await clock.run(1_000);
    await waiting;
    await clock.run(30_000);
    await Promise.all(hanging);
  });

  it("does not start a credential plugin again that hangs, until ten minutes have passed", async () => {
    let started = 0;
    const config = standIn.config({ name: "u" });
    config.applyToHTTPSOptions = () => (started++, new Promise(() => undefined));
    use(() => config);
    for (let minute = 0; minute < 10; minute++) {
      const refused = expect(api.json(call)).rejects.toThrow(TimeoutError);
      await clock.run(60_000);
      await refused;
    }
    expect(started).toBe(1);
    const refused = expect(api.json(call)).rejects.toThrow(TimeoutError);
    await clock.run(60_000);
    await refused;
    expect(started).toBe(2);
  });

  it("does not end a stream that has begun", async () => {
    standIn.handler = (_, response) => void response.write("one\n");
    const stop = new AbortController();
    const stream = await api.open(call, stop.signal);
    await clock.run(600_000);
    expect(stream.destroyed).toBe(false);
    stop.abort(new Error("stop"));
    await expect(stream.toArray()).rejects.toThrow();
  });

  it("leaves no listener on the caller's signal after many pages", async () => {
    const { signal } = new AbortController();
    await api.json(call, signal);
    standIn.handler = answer(500, {});
    await expect(api.json(call, signal)).rejects.toThrow();
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("rejected credentials", () => {
  const onlySecond: RequestListener = (request, response) =>
    response.writeHead(request.headers.authorization === "Bearer second" ? 200 : 401).end("{}");

  function tokenFile(): string {
    const file = join(folder, "token");
    writeFileSync(file, "first");
    use(() => standIn.config({ name: "u", authProvider: { name: "tokenFile", config: { tokenFile: file } } }));
    return file;
  }

  it("are read again once, immediately, although client-node would cache them for a minute", async () => {
    const file = tokenFile();
    await api.json(call);
    writeFileSync(file, "second");
    standIn.handler = onlySecond;
    await api.json(call);
    expect(standIn.requests).toHaveLength(3);
  });

  it("are an UnauthorizedError when there are no others, without a storm of requests", async () => {
    tokenFile();
    standIn.handler = onlySecond;
    await expect(api.json(call)).rejects.toThrow(UnauthorizedError);
    expect(standIn.requests).toHaveLength(2);
    await Promise.all(Array.from({ length: 10 }, () => expect(api.json(call)).rejects.toThrow(UnauthorizedError)));
    expect(standIn.requests).toHaveLength(12);
  });

  it("are read once for all calls that they failed", async () => {
    let loads = 0;
    use(() => {
      loads++;
      return standIn.config({ name: "u", token: loads === 1 ? "first" : "second" });
    });
    standIn.handler = onlySecond;
    await Promise.all(Array.from({ length: 4 }, () => api.json(call)));
    expect(loads).toBe(2);
  });

  it("are not revealed when the kubeconfig is broken", async () => {
    const file = join(folder, "config");
    writeFileSync(file, "users:\n- name: me\n  user:\n    token: opaque-secret\n   username: x\n");
    use(() => loadKubeConfigFile(file));
    await expect(api.json(call)).rejects.toThrow(/^kubeconfig: invalid YAML at line \d+, column \d+$/);
    use(() => loadKubeConfigFile(join(folder, "absent")));
    await expect(api.json(call)).rejects.toThrow(/^kubeconfig: failed to read \S+absent \(ENOENT\)$/);
  });

  it("are a TerminalError when the kubeconfig can't be read, and recover when it can", async () => {
    let broken = true;
    use(() => {
      if (broken) throw new Error("no such file");
      return standIn.config({ name: "u", token: "first" });
    });
    await expect(api.json(call)).rejects.toThrow("kubeconfig: unusable (an unexpected Error)");
    broken = false;
    await api.json(call);
  });
});

describe("a client that only reads", () => {
  const reviews = "/apis/authorization.k8s.io/v1";

  it.each<[ApiRequest["method"], string, number]>([
    [undefined, "/api/v1/pods", 1],
    ["POST", `${reviews}/selfsubjectaccessreviews`, 1],
    ["POST", `${reviews}/subjectaccessreviews`, 1],
    ["POST", `${reviews}/selfsubjectrulesreviews`, 0],
    ["DELETE", "/api/v1/namespaces/a/pods/b", 0],
    ["POST", "/api/v1/namespaces/a/pods/b/eviction", 0],
    ["POST", "/api/v1/namespaces/a/serviceaccounts/b/token", 0],
    ["PATCH", `${reviews}/selfsubjectaccessreviews`, 0],
    ["POST", `${reviews}/subjectaccessreviews/../pods`, 0],
    ["PUT", "/apis/apps/v1/namespaces/a/deployments/b", 0],
  ])("asked for %s %s sends %i requests", async (method = "GET", path, sent) => {
    const reader = new Api(connection, clock, { userAgent: "controller-resilience/test", isReadOnly: true });
    const answered = reader.json({ what: "ask", method, path });
    if (sent === 1) await answered;
    else await expect(answered).rejects.toThrow("this client only reads");
    expect(standIn.requests).toHaveLength(sent);
  });
});
