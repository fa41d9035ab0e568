import { setTimeout as sleep } from "node:timers/promises";
import { GenericKind, K8s, RegisterKind } from "kubernetes-fluent-client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FakeClock } from "../core/testing/fake-clock";
import { RecordingLog } from "../engine/testing/fakes";
import { paceFramework } from "./framework-pace";
import { serveFramework } from "./testing/framework-server";

class Thing extends GenericKind {}
RegisterKind(Thing, { group: "example.org", version: "v1", kind: "Thing", plural: "things" });

let requests: string[];
let end: () => Promise<void>;
let undo: () => void = () => undefined;
let watcher: { close(): void } | undefined;

/** Each body ends in the middle of its JSON, without an error of the connection. */
beforeEach(async () => {
  requests = [];
  end = await serveFramework((request, response) => {
    requests.push(request.url ?? "");
    response.end('{"kind":');
  });
});

afterEach(async () => {
  watcher?.close();
  undo();
  await end();
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
  await vi.waitUntil(() => requests.length >= count, { timeout: 20_000 });
  await sleep(TRIED_AGAIN_MS);
  return requests.length;
}

it("lets a watch that keeps breaking begin no more requests than it may", async () => {
  const [clock, log] = [new FakeClock(), new RecordingLog()];
  undo = paceFramework(clock, log);
  await watch();
  expect(await begunAfter(20)).toBe(20);
  clock.advance(1_000);
  expect(await begunAfter(22)).toBe(22);
  expect(requests.slice(-2).map(url => url.includes("watch=true"))).toEqual([false, true]);
  // One line for all of it.
  expect(log.lines.map(({ level }) => level)).toEqual(["warn"]);
}, 60_000);

it("is needed: without it that client never waits", async () => {
  await watch();
  await vi.waitUntil(() => requests.length > 60, { timeout: 20_000, interval: 5 });
});
