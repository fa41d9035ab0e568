import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { connect as connectPlain } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { selfSigned } from "../../../test/cluster/certificate";
import type { Log } from "../../core/ports";
import type { AuditResult, RejectedRequest } from "../../core/rejections";
import { FakeClock, settle } from "../../core/testing/fake-clock";
import { AuditServer, MAX_BODIES, MAX_BODY_BYTES } from "./audit-server";

const TOKEN = "0123456789abcdef0123456789abcdef";
const HEADERS = { authorization: `Bearer ${TOKEN}` };
const EVENT = {
  ...{ stage: "ResponseStarted", responseStatus: { code: 401 }, sourceIPs: ["10.0.0.1"], user: { username: "secret" } },
  ...{ stageTimestamp: "2025-01-01T12:00:00Z", requestURI: "/secret", userAgent: "secret/1" },
};
const LIST = JSON.stringify({ kind: "EventList", apiVersion: "audit.k8s.io/v1", items: [EVENT] });

let folder: string;
let first: { key: string; cert: string };
let clock: FakeClock;
let server: AuditServer;
let port: number;
let isLeader: boolean;
let results: AuditResult[];
let rejected: RejectedRequest[];
let logged: string;

const write = (files: Record<string, string>): void => {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "audit-"));
  first = selfSigned();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeEach(async () => {
  write({ "tls.crt": first.cert, "tls.key": first.key, token: `${TOKEN}\n` });
  clock = new FakeClock("2025-01-01T12:00:00Z");
  [isLeader, results, rejected, logged] = [true, [], [], ""];
  const note = (fields: object, message: string): void => void (logged += `${message} ${JSON.stringify(fields)}\n`);
  const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
  server = new AuditServer({
    ...{ host: "127.0.0.1", port: 0, folder, clock, isLeader: () => isLeader },
    log,
    onRejected: requests => rejected.push(...requests),
    metrics: { auditRequest: result => results.push(result), auditRejections: () => undefined },
  });
  port = await server.start();
});
afterEach(() => server.stop());

interface Answer {
  readonly code: number;
  readonly body: string;
}

function post(body: string | Buffer, headers: Record<string, string> = HEADERS, method = "POST"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request({ port, host: "127.0.0.1", method, headers, rejectUnauthorized: false, agent: false });
    call.on("response", response => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => resolve({ code: response.statusCode ?? 0, body: text }));
    });
    call.on("error", reject);
    call.end(body);
  });
}

/** A connection that sends the head of a request and a part of its body. */
async function hang(): Promise<TLSSocket> {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  await new Promise(resolve => socket.once("secureConnect", resolve));
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: 1000\r\n\r\n{`);
  return socket;
}

describe("AuditServer", () => {
  it("takes the 401s of an EventList, and nothing else of it", async () => {
    expect(await post(LIST)).toEqual({ code: 200, body: "{}\n" });
    expect(rejected).toEqual([{ address: "10.0.0.1", atMs: Date.parse("2025-01-01T12:00:00Z") }]);
    expect(results).toEqual(["accepted"]);
    expect(logged).not.toContain("secret");
  });

  it.each([
    ["no token", {}],
    ["another token", { authorization: `Bearer ${TOKEN}0` }],
    ["an empty token", { authorization: "Bearer " }],
  ])("refuses %s", async (_, headers) => {
    expect((await post(LIST, headers as Record<string, string>)).code).toBe(401);
    expect([results, rejected]).toEqual([["unauthorized"], []]);
  });

  it("answers 200 to what it does not want, since an API server sends everything else again", async () => {
    expect((await post("{")).code).toBe(200);
    expect((await post("", HEADERS, "GET")).code).toBe(200);
    expect((await post(Buffer.alloc(MAX_BODY_BYTES + 1))).code).toBe(200);
    expect((await post(Buffer.alloc(MAX_BODY_BYTES + 1), { ...HEADERS, "transfer-encoding": "chunked" })).code).toBe(
      200,
    );
    expect(results).toEqual(["invalid", "invalid", "too_large", "too_large"]);
  });

  it("sheds what is too much at once, or per second, with a quick answer", async () => {
    const hanging = await Promise.all(Array.from({ length: MAX_BODIES }, hang));
    // Fewer than the batches that may come at once.
    for (let i = 0; i < 15 && results.at(-1) !== "shed"; i++) expect((await post(LIST)).code).toBe(200);
    expect(results.at(-1)).toBe("shed");
    for (const socket of hanging) socket.destroy();
    clock.advance(60_000);
    while (results.at(-1) !== "accepted") await post(LIST);
    results = [];
    for (let i = 0; i < 40; i++) await post(LIST);
    expect(results.filter(result => result === "shed").length).toBeGreaterThanOrEqual(10);
    clock.advance(1_000);
    results = [];
    await post(LIST);
    expect(results).toEqual(["accepted"]);
  });

  it("closes connections while another process leads, so that the API server tries the next", async () => {
    isLeader = false;
    await expect(post(LIST)).rejects.toThrow();
    const plain = connectPlain({ port, host: "127.0.0.1" });
    await new Promise(resolve => plain.once("close", resolve));
    expect(results).toEqual(["standby", "standby"]);
    expect(rejected).toEqual([]);
  });

  it("ends connections that say nothing, in TLS or not", async () => {
    const silent = connectPlain({ port, host: "127.0.0.1" });
    const beganMs = performance.now();
    await new Promise(resolve => silent.once("close", resolve));
    expect(performance.now() - beganMs).toBeLessThan(20_000);
  }, 30_000);

  it("uses a rotated Secret without a restart, and keeps the old one if the new one is broken", async () => {
    const other = TOKEN.replaceAll("0", "f");
    write({ token: other });
    clock.advance(60_000);
    await untilCode(200, { authorization: `Bearer ${other}` });
    write({ token: "short" });
    clock.advance(60_000);
    while (!logged.includes("failed to read")) await settle();
    expect((await post(LIST, { authorization: `Bearer ${other}` })).code).toBe(200);
    const second = selfSigned();
    write({ token: other, "tls.crt": second.cert, "tls.key": second.key });
    while ((await certificate()) !== second.cert.replaceAll("\r", "")) clock.advance(60_000);
  }, 30_000);

  it("does not start without its files", async () => {
    write({ token: "" });
    await server.stop();
    await expect(server.start()).rejects.toThrow("expected the files tls.crt, tls.key and token");
  });
});

async function untilCode(code: number, headers: Record<string, string>): Promise<void> {
  while ((await post(LIST, headers)).code !== code) await settle();
}

/** The certificate that the server shows. */
async function certificate(): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  await new Promise(resolve => socket.once("secureConnect", resolve));
  const der = socket.getPeerCertificate().raw.toString("base64");
  socket.destroy();
  return `-----BEGIN CERTIFICATE-----\n${der.replace(/(.{64})(?=.)/g, "$1\n")}\n-----END CERTIFICATE-----\n`;
}
