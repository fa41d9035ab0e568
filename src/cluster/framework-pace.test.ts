import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { GenericKind, K8s, RegisterKind } from "kubernetes-fluent-client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FakeClock } from "../core/testing/fake-clock";
import { RecordingLog } from "../engine/testing/fakes";
import { paceFramework } from "./framework-pace";

class Thing extends GenericKind {}
RegisterKind(Thing, { group: "example.org", version: "v1", kind: "Thing", plural: "things" });

let server: Server;
let requests: string[];
let folder: string;
let undo: () => void = () => undefined;
let watcher: { close(): void } | undefined;

/** Each body ends in the middle of its JSON, without an error of the connection. */
beforeEach(async () => {
  requests = [];
  server = createServer((request, response) => {
    requests.push(request.url ?? "");
    response.end('{"kind":');
  });
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  folder = mkdtempSync(join(tmpdir(), "framework-pace-"));
  const { port } = server.address() as AddressInfo;
  const config = {
    clusters: [{ name: "here", cluster: { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true } }],
    users: [{ name: "me", user: {} }],
    contexts: [{ name: "here", context: { cluster: "here", user: "me" } }],
    "current-context": "here",
  };
  writeFileSync(join(folder, "config"), JSON.stringify(config));
  vi.stubEnv("KUBECONFIG", join(folder, "config"));
});

afterEach(async () => {
  watcher?.close();
  undo();
  vi.unstubAllEnvs();
  server.closeAllConnections();
  await new Promise(resolve => server.close(resolve));
  rmSync(folder, { recursive: true });
});

/** Pepr's way to watch, with short times. */
async function watch(): Promise<void> {
  const opened = K8s(Thing).Watch(() => undefined, { resyncDelaySec: 0.05 });
  watcher = opened;
  await opened.start();
}

async function untilQuiet(): Promise<number> {
  for (let before = -1; before !== requests.length; ) {
    before = requests.length;
    await sleep(300);
  }
  return requests.length;
}

it("lets a watch that keeps breaking begin no more requests than it may", async () => {
  const [clock, log] = [new FakeClock(), new RecordingLog()];
  undo = paceFramework(clock, log);
  await watch();
  expect(await untilQuiet()).toBe(20);
  clock.advance(4_000);
  await vi.waitUntil(() => requests.length >= 22, { timeout: 10_000 });
  expect(await untilQuiet()).toBe(22);
  expect(requests.slice(-2).map(url => url.includes("watch=true"))).toEqual([false, true]);
  expect(log.lines.map(({ level }) => level)).toEqual(["warn", "warn"]);
});

it("is needed: without it that client never waits", async () => {
  await watch();
  await vi.waitUntil(() => requests.length > 60, { timeout: 20_000, interval: 5 });
});
