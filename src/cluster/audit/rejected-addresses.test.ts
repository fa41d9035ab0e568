import { beforeEach, expect, it } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
import { ServerClock } from "../http/server-clock";
import { MAX_AGE_MS, MOST_ADDRESSES, RejectedAddresses } from "./rejected-addresses";

let clock: FakeClock;
let told: string[][];
let addresses: RejectedAddresses;
const now = (): number => clock.now().getTime();

beforeEach(() => {
  clock = new FakeClock("2025-01-01T12:00:00Z");
  told = [];
  addresses = new RejectedAddresses(clock, news => told.push([...news]));
});

it("tells of news together, and only of the first 401s of an address", async () => {
  addresses.add([
    { address: "10.0.0.1", atMs: now() },
    { address: "10.0.0.2", atMs: now() },
  ]);
  expect(told).toEqual([]);
  await clock.run(500);
  expect(told).toEqual([["10.0.0.1", "10.0.0.2"]]);
  for (let i = 0; i < 20; i++) {
    await clock.run(2_000);
    addresses.add([{ address: "10.0.0.1", atMs: now() }]);
  }
  expect(told).toHaveLength(5);
  expect(addresses.of("10.0.0.1")?.occasions).toBe(21);
});

it("takes no events from long ago or from the future, and forgets what has ended", async () => {
  addresses.add([
    { address: "a", atMs: now() - MAX_AGE_MS - 1 },
    { address: "b", atMs: now() + 60_000 },
    { address: "c", atMs: now() },
  ]);
  expect([addresses.of("a"), addresses.of("b")]).toEqual([undefined, undefined]);
  await clock.run(300_001);
  expect(addresses.of("c")).toBeUndefined();
});

it.each([-60_000, 60_000])(
  "takes events by the API server's clock, from which the own one differs by %d ms",
  offsetMs => {
    const log = { warn: () => undefined };
    const server = new ServerClock(clock, {
      log: () => log,
      clockOffset: () => undefined,
      clockDifference: () => undefined,
    });
    const serverMs = now() + offsetMs;
    server.heard(new Date(serverMs).toUTCString(), clock.monotonicMs());
    addresses = new RejectedAddresses(server, () => undefined);
    addresses.add([{ address: "a", atMs: serverMs }]);
    expect(addresses.of("a")).toMatchObject({ occasions: 1 });
  },
);

it("remembers a bounded number of addresses, the latest", () => {
  const many = Array.from({ length: MOST_ADDRESSES + 10 }, (_, i) => ({ address: String(i), atMs: now() }));
  addresses.add(many);
  expect(addresses.of("9")).toBeUndefined();
  expect(addresses.of("10")).toBeDefined();
});
