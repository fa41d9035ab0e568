import { beforeEach, describe, expect, it } from "vitest";
import { ForbiddenError, TransientError, WaitError } from "../../core/errors";
import { FakeClock } from "../../core/testing/fake-clock";
import type { ApiRequest } from "../http/api";
import { LeaseReadings } from "./lease-readings";

let clock: FakeClock;
let requests: string[];
let failure: ((path: string) => Error | undefined) | undefined;
let slowMs: number;
/** By namespace: how often its Lease was renewed. */
let renewals: Record<string, number>;
let readings: LeaseReadings;

function item(namespace: string): object {
  const metadata = {
    namespace,
    name: "web",
    uid: `l-${namespace}`,
    resourceVersion: "1",
    creationTimestamp: "2025-01-01T00:00:00Z",
  };
  const renewTime = `2025-01-01T12:00:00.${String(renewals[namespace] ?? 0).padStart(6, "0")}Z`;
  const spec = {
    holderIdentity: "web-a_1",
    leaseDurationSeconds: 15,
    acquireTime: "2025-01-01T11:00:00.000000Z",
    renewTime,
  };
  return { metadata, spec };
}

beforeEach(() => {
  clock = new FakeClock("2025-01-01T12:00:00Z");
  requests = [];
  failure = undefined;
  slowMs = 0;
  renewals = {};
  const api = {
    json: <T>({ path, query }: ApiRequest): Promise<T> => {
      requests.push(query?.["fieldSelector"] === undefined ? path : `${path} ${query["fieldSelector"]}`);
      const error = failure?.(path);
      if (error !== undefined) return Promise.reject(error);
      clock.freeze(slowMs);
      const [, namespace] = /namespaces\/([^/]+)\//.exec(path) ?? [];
      const items = namespace === undefined ? ["a", "b", "c", "d"].map(item) : [item(namespace)];
      return Promise.resolve({ metadata: {}, items } as T);
    },
  };
  readings = new LeaseReadings({ api, clock });
});

const standing = async (namespace = "a") => (await readings.leases(namespace)).leases[0]?.standingMs;

describe("LeaseReadings", () => {
  it("does not count the time in which this process was frozen: the holders may have been frozen with it", async () => {
    await readings.leases("a");
    await clock.run(30_000);
    const before = (await standing()) ?? NaN;
    clock.freeze(170_000);
    await clock.run(10_000);
    expect((await standing()) ?? NaN).toBeLessThanOrEqual(before + 40_000);
  });

  it("reads once for two first questions, then every ten seconds, whoever asks", async () => {
    await Promise.all([readings.leases("a"), readings.leases("a")]);
    expect(requests).toHaveLength(1);
    await readings.leases("a");
    await clock.run(30_000);
    expect(requests).toHaveLength(4);
    expect(await readings.leases("a")).toMatchObject({
      leases: [{ holder: "web-a_1", durationMs: 15_000, standingMs: 30_000, renewalsMs: [] }],
      readMs: clock.monotonicMs(),
    });
  });

  it("remembers Leases over a full pass that is missed, with the longest time between two that is allowed", async () => {
    await readings.leases("a");
    for (let pass = 0; pass < 3; pass++) {
      const { length } = requests;
      await clock.run(170_000);
      expect(requests.length - length).toBe(17);
      renewals["a"] = pass + 1;
      await clock.run(10_000);
      expect((await readings.leases("a")).leases[0]?.renewalsMs).toHaveLength(pass + 1);
    }
  });

  it("remembers renewals for an hour in which nobody asks, such as while passes fail, and counts no time of it", async () => {
    await readings.leases("a");
    for (renewals["a"] = 1; renewals["a"] <= 3; renewals["a"]++) {
      await clock.run(20_000);
      await readings.leases("a");
    }
    await clock.run(3_500_000);
    requests = [];
    const { leases } = await readings.leases("a");
    expect(requests).toHaveLength(1);
    expect(leases[0]?.renewalsMs).toHaveLength(4);
    // It is read for three minutes after the last question.
    expect(leases[0]?.standingMs).toBeLessThanOrEqual(200_000);
    await clock.run(3_700_000);
    expect(await readings.leases("a")).toMatchObject({ leases: [{ renewalsMs: [] }] });
  });

  it("reads many namespaces by one list without the Leases of nodes", async () => {
    for (const namespace of ["a", "b", "c", "d"]) await readings.leases(namespace);
    requests = [];
    await clock.run(20_000);
    expect(requests).toEqual(Array(2).fill("/apis/coordination.k8s.io/v1/leases metadata.namespace!=kube-node-lease"));
    expect(await standing("d")).toBe(20_000);
  });

  it("reads one namespace after the other, at most one in a second, where it may not list all", async () => {
    failure = path => (path.includes("/namespaces/") ? undefined : new ForbiddenError("list leases"));
    for (const namespace of ["a", "b", "c", "d"]) await readings.leases(namespace);
    requests = [];
    await clock.run(60_000);
    expect(requests.filter(path => !path.includes("/namespaces/"))).toHaveLength(1);
    expect(requests.length).toBeLessThan(30);
    expect(await standing("d")).toBeGreaterThan(30_000);
    expect(await readings.leases("d")).not.toHaveProperty("unknown");
  });

  it("says why Leases are not known, and counts no time around a failure", async () => {
    await readings.leases("a");
    await clock.run(30_000);
    failure = () => new TransientError("list leases in a: timed out");
    await clock.run(60_000);
    expect(await readings.leases("a")).toMatchObject({
      unknown: { forbidden: false, message: "list leases in a: timed out" },
      leases: [{ standingMs: 30_000 }],
    });
    failure = undefined;
    await clock.run(60_000);
    expect(await standing()).toBe(30_000);
    expect(await readings.leases("a")).not.toHaveProperty("unknown");
    await clock.run(30_000);
    expect(await standing()).toBe(60_000);
  });

  it("asks no more often than the API server allows", async () => {
    failure = () => new WaitError("list leases: refused for now (429)", 60_000);
    for (let second = 0; second < 59; second++) {
      expect((await readings.leases(second % 2 === 0 ? "a" : "b", 0)).unknown?.message).toMatch(/429/);
      await clock.run(1_000);
    }
    expect(requests).toHaveLength(1);
    failure = undefined;
    await clock.run(20_000);
    expect((await readings.leases("a")).unknown).toBeUndefined();
  });

  it("counts no time around a slow answer: writes are as slow", async () => {
    await readings.leases("a");
    slowMs = 6_000;
    await clock.run(60_000);
    slowMs = 0;
    expect(await standing()).toBe(0);
  });

  it.each([
    ["all readings are slow", 1, "slow"],
    ["one reading a minute is slow", 6, "slow"],
    ["one reading a minute fails", 6, "failed"],
  ])("does not know Leases for as long as %s, and says what to do", async (_, every, how) => {
    const minute = async (): Promise<void> => {
      for (let round = 0; round < 6; round++) {
        const isBad = round % every === 0;
        slowMs = isBad && how === "slow" ? 6_000 : 0;
        failure = () => (isBad && how === "failed" ? new TransientError("list leases: HTTP 500") : undefined);
        await clock.run(10_000);
        await readings.leases("a");
      }
    };
    await minute();
    expect(await readings.leases("a")).not.toHaveProperty("unknown");
    for (let i = 0; i < 5; i++) await minute();
    const message = expect.stringMatching(/failed, or took longer than 5s.*API server/) as unknown;
    expect(await readings.leases("a")).toMatchObject({ unknown: { forbidden: false, message } });
    slowMs = 0;
    await clock.run(120_000);
    expect(await readings.leases("a")).not.toHaveProperty("unknown");
    expect(await standing()).toBeGreaterThan(0);
  });

  it("reads sooner where a younger reading is asked for, but not more often than every two seconds", async () => {
    await readings.leases("a");
    await clock.run(1_000);
    await readings.leases("a", 2_000);
    expect(requests).toHaveLength(1);
    await clock.run(1_000);
    await Promise.all([readings.leases("a", 2_000), readings.leases("a", 2_000)]);
    expect(requests).toHaveLength(2);
    renewals["a"] = 1;
    await clock.run(2_000);
    expect((await readings.leases("a", 2_000)).leases[0]?.standingMs).toBe(0);
    await clock.run(2_000);
    expect((await readings.leases("a", 2_000)).leases[0]?.standingMs).toBe(2_000);
  });

  it("reads two namespaces per second sooner at most", async () => {
    const namespaces = Array.from({ length: 40 }, (_, i) => `n${i}`);
    await Promise.all(namespaces.map(name => readings.leases(name)));
    await clock.run(2_000);
    requests = [];
    await Promise.all(namespaces.map(name => readings.leases(name, 2_000)));
    expect(requests).toHaveLength(10);
    await clock.run(1_000);
    await Promise.all(namespaces.map(name => readings.leases(name, 2_000)));
    expect(requests).toHaveLength(12);
  });
});
