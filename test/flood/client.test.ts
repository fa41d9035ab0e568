import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pki } from "node-forge";
import { afterAll, beforeAll, expect, it } from "vitest";
import { LoopingClient } from "./client";

const folder = mkdtempSync(join(tmpdir(), "flood-"));
const kubeconfig = join(folder, "kubeconfig");
const seen = { connections: 0, tokens: new Set<string | undefined>(), concurrent: 0, most: 0 };
let server: Server;

beforeAll(async () => {
  const { key, cert } = certificate();
  server = createServer({ key, cert }, (call, response) => {
    seen.tokens.add(call.headers.authorization);
    seen.most = Math.max(seen.most, ++seen.concurrent);
    setTimeout(() => {
      seen.concurrent -= 1;
      response.writeHead(call.url === "/forbidden" ? 403 : 200).end("{}");
    }, 5);
  });
  server.on("secureConnection", () => (seen.connections += 1));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const cluster = {
    server: `https://127.0.0.1:${port}`,
    "certificate-authority-data": Buffer.from(cert).toString("base64"),
  };
  writeFileSync(kubeconfig, JSON.stringify({ clusters: [{ cluster }], users: [{ user: { token: "the-token" } }] }));
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

function certificate(): { key: string; cert: string } {
  const { privateKey, publicKey } = pki.rsa.generateKeyPair(2048);
  const made = pki.createCertificate();
  made.publicKey = publicKey;
  made.serialNumber = "01";
  made.validity.notBefore = new Date(Date.now() - 60_000);
  made.validity.notAfter = new Date(Date.now() + 3_600_000);
  const name = [{ name: "commonName", value: "flood" }];
  made.setSubject(name);
  made.setIssuer(name);
  made.setExtensions([
    { name: "basicConstraints", cA: true },
    { name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] },
  ]);
  made.sign(privateKey);
  return { key: pki.privateKeyToPem(privateKey), cert: pki.certificateToPem(made) };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function untilEnded(pid: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < 20_000 && isRunning(pid); waitedMs += 50) await sleep(50);
  expect(isRunning(pid)).toBe(false);
}

it("repeats its request on persistent connections, whatever the answer", async () => {
  const client = await LoopingClient.start({ kubeconfig, path: "/forbidden", connections: 8 });
  await sleep(1_500);
  expect(await client.stop()).toBe(0);
  const { answers, perSecond, p50Ms } = client.between(0, Date.now());
  expect(Object.keys(answers)).toEqual(["403"]);
  expect(answers[403]).toBeGreaterThan(seen.connections);
  expect(seen).toMatchObject({ connections: 8, most: 8, tokens: new Set(["Bearer the-token"]) });
  expect(perSecond).toBeGreaterThan(8);
  expect(p50Ms).toBeGreaterThan(4);
  expect(client.rates()).toHaveLength(client.seconds.length);
  expect(isRunning(client.pid)).toBe(false);
});

it("pauses between requests if configured", async () => {
  const client = await LoopingClient.start({ kubeconfig, path: "/allowed", pauseMs: 400 });
  await client.stop();
  // At most one more than the number of pauses that fit; it ran for at least a second.
  expect(client.between(0, Date.now()).perSecond).toBeLessThan(1000 / 400 + 1.1);
});

it("exits after its number of requests, and after its time limit", async () => {
  const counted = await LoopingClient.start({ kubeconfig, path: "/forbidden", connections: 4, mostRequests: 10 });
  await untilEnded(counted.pid);
  expect(counted.between(0, Date.now()).answers).toEqual({ 403: 10 });
  const timed = await LoopingClient.start({ kubeconfig, path: "/forbidden", longestSeconds: 1 });
  await untilEnded(timed.pid);
});

it("exits when its parent process is killed", async () => {
  const options = JSON.stringify({ kubeconfig, path: "/forbidden" });
  const script = `require("./client.ts").LoopingClient.start(${options}).then(client => console.log(client.pid))`;
  const parent = spawn(process.execPath, ["--import", "tsx", "-e", script], {
    cwd: __dirname,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [pid] = (await once(parent.stdout, "data")) as [Buffer];
  expect(isRunning(Number(pid))).toBe(true);
  parent.kill("SIGKILL");
  await untilEnded(Number(pid));
});

it("reports why it could not start", async () => {
  const nowhere = join(folder, "nowhere");
  await expect(LoopingClient.start({ kubeconfig: nowhere, path: "/forbidden" })).rejects.toThrow(
    "/forbidden has not reported",
  );
});

it("counts requests without an answer", async () => {
  const closed = join(folder, "closed");
  const cluster = { server: "https://127.0.0.1:1" };
  writeFileSync(closed, JSON.stringify({ clusters: [{ cluster }], users: [{ user: { token: "the-token" } }] }));
  const client = await LoopingClient.start({ kubeconfig: closed, path: "/forbidden" });
  await client.stop();
  const { answers, perSecond } = client.between(0, Date.now());
  expect(Object.keys(answers)).toEqual(["none"]);
  // The client waits for 100 ms after each.
  expect(perSecond).toBeLessThan(1000 / 100 + 2);
});
