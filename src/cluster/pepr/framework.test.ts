import { setTimeout as sleep } from "node:timers/promises";
import { KubeConfig } from "@kubernetes/client-node";
import { GenericKind, K8s, RegisterKind } from "kubernetes-fluent-client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
import { RecordingLog } from "../../engine/testing/fakes";
import { paceFramework } from "./framework";
import { type FakeAnswer, FakeServer } from "../testing/fake-server";

class Thing extends GenericKind {}
RegisterKind(Thing, { group: "example.org", version: "v1", kind: "Thing", plural: "things" });

let requests: string[];
let answer: (url: string) => FakeAnswer | Promise<FakeAnswer>;
let server: FakeServer;
let undo: () => void = () => undefined;
let watcher: { close(): void } | undefined;

/** By default each body ends in the middle of its JSON, without an error of the connection. */
beforeEach(async () => {
  requests = [];
  answer = () => ({ text: '{"kind":' });
  server = new FakeServer(({ url = "" }) => {
    requests.push(url);
    return answer(url);
  });
  vi.stubEnv("KUBECONFIG", await server.start());
});

afterEach(async () => {
  watcher?.close();
  undo();
  vi.unstubAllEnvs();
  await server.stop();
});

/** Pepr's way to watch, with short times. */
async function watch(): Promise<void> {
  const opened = K8s(Thing).Watch(() => undefined, { resyncDelaySec: 0.05 });
  watcher = opened;
  await opened.start();
}

/** Longer than that client takes to try again, which has a second of jitter. In milliseconds. */
const TRIED_AGAIN_MS = 1_500;

/** How many there are when all that may come have come. */
async function begunAfter(count: number): Promise<number> {
  await vi.waitUntil(() => requests.length >= count, { timeout: 100_000 });
  await sleep(TRIED_AGAIN_MS);
  return requests.length;
}

it("lets a watch that keeps breaking begin no more requests than it may", async () => {
  const [clock, log] = [new FakeClock(), new RecordingLog()];
  undo = paceFramework(clock, log);
  await watch();
  expect(await begunAfter(60)).toBe(60);
  clock.advance(14_000);
  expect(await begunAfter(60)).toBe(60);
  // One line for all of it.
  expect(log.lines.map(({ level }) => level)).toEqual(["warn"]);
  clock.advance(1_000);
  expect(await begunAfter(120)).toBe(120);
});

it("lets a list of many pages come to its end, and to its watch, however often it is tried again", async () => {
  const clock = new FakeClock();
  undo = paceFramework(clock, new RecordingLog());
  answer = url => {
    const page = Number(new URL(url, "http://localhost").searchParams.get("continue") ?? "0");
    if (url.includes("watch=true")) return new Promise(() => undefined);
    return { body: { metadata: page < 39 ? { continue: String(page + 1) } : {}, items: [] } };
  };
  for (let other = 0; other < 30; other++) await new KubeConfig().applyToFetchOptions({});
  await watch();
  expect(await begunAfter(30)).toBe(30);
  for (let second = 0; second < 15; second++) {
    clock.advance(1_000);
    await sleep(200);
  }
  await vi.waitUntil(() => requests.at(-1)?.includes("watch=true"), { timeout: 100_000 });
  expect(requests).toHaveLength(30 + 41);
});

it("is needed: without it that client never waits", async () => {
  await watch();
  await vi.waitUntil(() => requests.length > 60, { timeout: 100_000, interval: 5 });
});
