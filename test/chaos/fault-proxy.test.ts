import { Agent, createServer, request, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { selfSigned } from "../cluster/certificate";
import { FaultProxy } from "./fault-proxy";

const serving = selfSigned();
const PODS = "/api/v1/namespaces/team/pods";
const WATCH = `${PODS}?watch=true`;
const EVICTION = `${PODS}/web/eviction`;
const EVENT = '{"type":"ADDED","object":{}}\n';
let server: Server;
let proxy: FaultProxy;
/** The requests that the server received. */
let asked: string[];
/** Sends an event to every watch. */
let tell: () => void;
let agent: Agent;

beforeAll(async () => {
  server = createServer(serving, (incoming, response) => {
    asked.push(`${incoming.method ?? ""} ${incoming.url ?? ""}`);
    if (incoming.url !== WATCH) incoming.resume().on("end", () => response.writeHead(201).end('{"items":[]}'));
    else {
      response.writeHead(200).flushHeaders();
      tell = () => void response.write(EVENT);
    }
  });
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  proxy = new FaultProxy({ server: `https://127.0.0.1:${port}`, ca: serving.cert, serving });
  await proxy.start();
});

afterAll(async () => {
  await proxy.stop();
  server.closeAllConnections();
  server.close();
});

beforeEach(() => {
  asked = [];
  agent = new Agent({ keepAlive: true, maxSockets: 1, ca: serving.cert });
});

afterEach(() => {
  proxy.end();
  agent.destroy();
});

/** Status code and body, or the error. */
function send(method: string, path: string, by = agent): Promise<string> {
  return new Promise(resolve => {
    const sent = request(new URL(path, proxy.url), { method, agent: by }, answer => {
      let text = "";
      answer.on("data", (chunk: Buffer) => (text += chunk.toString()));
      answer.on("end", () => resolve(`${answer.statusCode} ${text}`));
      answer.on("error", (error: NodeJS.ErrnoException) => resolve(`${text}, then ${error.code}`));
    });
    sent.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sent.end(method === "GET" ? undefined : "{}");
  });
}

/** An open watch, and what it has received so far. */
function watch(): { said: string; over: Promise<string> } {
  const seen = { said: "", over: Promise.resolve("") };
  const own = new Agent({ ca: serving.cert });
  seen.over = new Promise(resolve => {
    const sent = request(new URL(WATCH, proxy.url), { agent: own }, answer => {
      answer.on("data", (chunk: Buffer) => (seen.said += chunk.toString()));
      answer.on("end", () => resolve("ended"));
      answer.on("error", () => resolve("broken"));
    });
    sent.on("error", () => resolve("broken"));
    sent.end();
  });
  return seen;
}

async function isOpen(): Promise<void> {
  while (!asked.includes(`GET ${WATCH}`)) await sleep(5);
  await sleep(50);
}

it("answers instead of the server until the fault ends", async () => {
  proxy.begin({ code: 429, retryAfter: "2" });
  expect(await send("POST", EVICTION)).toMatch(/^429 .*"code":429/);
  proxy.end();
  expect(await send("GET", PODS)).toMatch(/^201 /);
  expect(asked).toEqual([`GET ${PODS}`]);
});

it.each([
  ["truncate", '{"item, then ECONNRESET'],
  ["cut", '201 {"item'],
] as const)("breaks off a body: %s", async (fault, seen) => {
  proxy.begin(fault);
  expect(await send("GET", PODS)).toBe(seen);
});

it.each([
  ["close", EVENT, "ended"],
  ["cut", EVENT.slice(0, 14), "ended"],
  ["truncate", EVENT.slice(0, 14), "broken"],
] as const)("applies the fault to an open watch: %s", async (fault, said, end) => {
  const seen = watch();
  await isOpen();
  proxy.begin(fault);
  tell();
  expect(await seen.over).toBe(end);
  expect(seen.said).toBe(said);
});

it("ends open watches when a refusal begins", async () => {
  const seen = watch();
  await isOpen();
  proxy.begin({ code: 500 });
  expect(await seen.over).toBe("broken");
});

it("silences the open connections until they close, and no new ones", async () => {
  expect(await send("GET", PODS)).toMatch(/^201 /);
  const seen = watch();
  await isOpen();
  proxy.begin("silence");
  proxy.end();
  tell();
  const unanswered = send("GET", PODS);
  const other = new Agent({ ca: serving.cert });
  expect(await send("GET", PODS, other)).toMatch(/^201 /);
  expect(await Promise.race([unanswered, sleep(300, "nothing")])).toBe("nothing");
  expect(seen.said).toBe("");
  agent.destroy();
  expect(await unanswered).toBe("ECONNRESET");
});
