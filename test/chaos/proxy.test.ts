import type { IncomingMessage } from "node:http";
import { createServer, request, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { selfSigned } from "../cluster/certificate";
import { RecordingProxy } from "./proxy";

const serving = selfSigned();
const EVICTION = "/api/v1/namespaces/team/pods/web/eviction";
const STATUS = "/apis/controller-resilience.io/v1alpha1/namespaces/team/controllerresiliences/it/status";
let server: Server;
let proxy: RecordingProxy;
/** The requests that the server received. */
let told: string[];

beforeAll(async () => {
  server = createServer(serving, (incoming, response) => {
    told.push(`${incoming.method ?? ""} ${incoming.url ?? ""}`);
    incoming.resume().on("end", () => response.writeHead(201).end("{}"));
  });
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  proxy = new RecordingProxy({ server: `https://127.0.0.1:${port}`, ca: serving.cert, serving });
  await proxy.start();
});

afterAll(async () => {
  await proxy.stop();
  server.closeAllConnections();
  server.close();
});

beforeEach(() => {
  told = [];
  proxy.interceptor = {};
});

/** The status code, or the error. */
function send(method: string, path: string, url = proxy.url): Promise<number | string> {
  return new Promise(resolve => {
    const sent = request(new URL(path, url), { method, ca: serving.cert }, (answer: IncomingMessage) => {
      answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sent.end(method === "GET" ? undefined : "{}");
  });
}

it("forwards everything, and records each write with its answer", async () => {
  proxy.watch("team");
  expect(await send("GET", "/api/v1/namespaces/team/pods")).toBe(201);
  expect(await send("PUT", STATUS)).toBe(201);
  expect(await send("POST", "/apis/events.k8s.io/v1/namespaces/team/events")).toBe(201);
  expect(await send("POST", EVICTION.replace("team", "other"))).toBe(201);
  expect(proxy.writes).toMatchObject([{ resource: "controllerresiliences/status", code: 201 }]);
  expect(proxy.strays).toMatchObject([{ resource: "pods/eviction", namespace: "other" }]);
  expect(Object.fromEntries(proxy.others)).toEqual({ read: 1, event: 1 });
});

it("keeps a call from the server, or its answer from the client", async () => {
  proxy.watch("team");
  proxy.interceptor = { before: () => Promise.reject(new Error("cut")) };
  expect(await send("POST", EVICTION)).toBe("ECONNRESET");
  expect([told, proxy.writes.map(({ code }) => code)]).toEqual([[], [undefined]]);
  proxy.interceptor = { after: () => Promise.resolve(void told.push("answered")) };
  expect(await send("POST", EVICTION)).toBe(201);
  expect(told).toEqual([`POST ${EVICTION}`, "answered"]);
});

it("breaks all connections, accepts none, and accepts them again", async () => {
  let isHeld: () => void = () => undefined;
  const held = new Promise<void>(resolve => (isHeld = resolve));
  proxy.interceptor = { after: () => new Promise(() => isHeld()) };
  const answered = send("GET", "/api");
  await held;
  const { url } = proxy;
  const accept = proxy.cutOff();
  expect(await answered).toBe("ECONNRESET");
  expect(await send("GET", "/api", url)).toBe("ECONNREFUSED");
  await accept();
  proxy.interceptor = {};
  expect(await send("GET", "/api", url)).toBe(201);
});
