import { expect, it } from "vitest";
import { TransientError, WaitError } from "../../core/errors";
import type { Key } from "../../core/ports";
import { FakeClock } from "../../core/testing/fake-clock";
import { RecordingLog, RecordingMetrics } from "../testing/fakes";
import { Controller } from "./controller";

/** A loop over a store that counts its lists, with these keys in its cache. */
function makeLoop(cached: readonly Key[] | undefined) {
  const clock = new FakeClock();
  const seen = { lists: 0, passes: [] as Key[], cached, passMs: 0, refused: undefined as Error | undefined };
  const store = {
    list: () =>
      seen.refused ? (seen.lists++, Promise.reject(seen.refused)) : Promise.resolve([`team/listed-${++seen.lists}`]),
    cachedKeys: () => seen.cached,
  };
  const loop = new Controller({
    ...{ store, clock, random: () => 0.5, log: new RecordingLog(), metrics: new RecordingMetrics() },
    reconcile: key => {
      seen.passes.push(key);
      clock.freeze(seen.passMs);
      return Promise.resolve({ next: "recheck" });
    },
    ...{ listed: () => undefined, forget: () => undefined, isLeader: () => true },
  });
  return { clock, seen, loop };
}

it("lists at the start of each term and every ten minutes, and takes keys from the cache in between", async () => {
  const { clock, seen, loop } = makeLoop(["team/cached"]);
  loop.startLeading();
  await clock.run(599_000);
  expect(seen.lists).toBe(1);
  expect(seen.passes.filter(key => key === "team/cached")).toHaveLength(9);
  await clock.run(2_000);
  expect(seen.lists).toBe(2);
  loop.stopLeading();
  loop.startLeading();
  await clock.run(1_000);
  expect(seen.lists).toBe(3);
  await loop.stop();
});

it("lists every time while the cache cannot be trusted", async () => {
  const { clock, seen, loop } = makeLoop(undefined);
  loop.startLeading();
  await clock.run(301_000);
  expect(seen.lists).toBe(6);
  seen.cached = [];
  await clock.run(300_000);
  expect(seen.lists).toBe(6);
  await loop.stop();
});

it("lists no more often than the API server allows, and with backoff after another failure", async () => {
  const { clock, seen, loop } = makeLoop(undefined);
  seen.refused = new WaitError("list controllerresiliences: refused for now (429)", 60_000);
  loop.startLeading();
  await clock.run(59_000);
  expect(seen.lists).toBe(1);
  await clock.run(2_000);
  seen.refused = new TransientError("reset");
  await clock.run(600_000);
  expect(seen.lists).toBeLessThan(50);
  expect(loop.fullPassFailure()).toBe("reset");
  await loop.stop();
});

it("takes keys from the cache while lists fail, once a minute", async () => {
  const { clock, seen, loop } = makeLoop(["team/cached"]);
  seen.refused = new TransientError("listing all objects timed out after 30s");
  loop.startLeading();
  await clock.run(130_000);
  expect(seen.passes).toEqual(Array.from({ length: 3 }, () => "team/cached"));
  expect(loop.fullPassFailure()).toMatch(/^listing all objects timed out/);
  await loop.stop();
});

it("lets the event loop go on during a full pass that makes no request", async () => {
  const { clock, seen, loop } = makeLoop(Array.from({ length: 1_000 }, (_, i) => `team/it-${i}`));
  loop.startLeading();
  await clock.run(30_000);
  seen.passMs = 1;
  const [blockedMs, passes] = [[] as number[], seen.passes.length];
  let atMs = clock.monotonicMs();
  const tick = (): void => {
    blockedMs.push(clock.monotonicMs() - atMs);
    atMs = clock.monotonicMs();
    clock.after(5, tick);
  };
  tick();
  await clock.run(60_000);
  expect(seen.passes.length - passes).toBeGreaterThanOrEqual(1_000);
  expect(Math.max(...blockedMs)).toBeLessThan(30);
  await loop.stop();
});
