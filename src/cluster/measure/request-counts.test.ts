import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { beforeEach, describe, expect, it } from "vitest";
import { ForbiddenError, TransientError } from "../../core/errors";
import type { RequestRates } from "../../core/readers";
import { FakeClock, settle } from "../../core/testing/fake-clock";
import type { ApiRequest } from "../http/api";
import { RequestCounts } from "./request-counts";

/** Servers by address, and the one that answers at the kubeconfig's address, which count requests of one FlowSchema. */
class Servers {
  readonly clock = new FakeClock();
  readonly counts = new RequestCounts({ api: this, clock: this.clock });
  /** Start time and counts of each server; null if it can't be reached. */
  readonly instances = new Map<string, [start: number, count: number] | null>();
  ordinary: [start: number, count: number] | Error = [1, 0];
  slice: Error | null = null;
  /** Requests that each server has answered 401. */
  refused = 3;
  asked: string[] = [];
  /** Whether the kubeconfig's server was asked by a separate connection. */
  fresh: (boolean | undefined)[] = [];
  /** Answers wait for this promise. */
  gate: Promise<void> = Promise.resolve();

  jsonOrNull = async <T>(): Promise<T | null> => {
    this.asked.push("slice");
    await this.gate;
    if (this.slice !== null) throw this.slice;
    const endpoints = [...this.instances.keys()].map(address => ({ addresses: [address] }));
    return { ports: [{ name: "https", port: 6443 }], endpoints } as T;
  };

  open = (request: ApiRequest): Promise<IncomingMessage> => {
    const address = request.instance?.address ?? "ordinary";
    if (request.instance === undefined) this.fresh = [...new Set([...this.fresh, request.isFresh])];
    this.asked.push(address);
    const server = request.instance === undefined ? this.ordinary : this.instances.get(address);
    if (server instanceof Error) return Promise.reject(server);
    if (!server) return Promise.reject(new TransientError(`get /metrics: connect EHOSTUNREACH ${address}`));
    const [start, count] = server;
    const text = [
      `apiserver_flowcontrol_dispatched_requests_total{flow_schema="controller-resilience-kai"} ${count}\n`,
      `process_start_time_seconds ${start}\n`,
      `authentication_attempts{result="error"} ${this.refused}\n`,
    ];
    const body = Readable.from(text.map(line => Buffer.from(line)));
    return Promise.resolve(Object.assign(body, { headers: {} }) as IncomingMessage);
  };

  /** Advances time by ten seconds, then reads. */
  async read(): Promise<RequestRates> {
    this.asked = [];
    this.clock.advance(10_000);
    return this.counts.rates(0);
  }
}

const requestsIn = ({ spans }: RequestRates): number[] =>
  (spans["controller-resilience-kai"] ?? []).map(({ requests }) => requests);

let servers: Servers;
beforeEach(() => (servers = new Servers()));

describe("the rates of requests", () => {
  it("come from every instance at its own address", async () => {
    servers.instances.set("10.0.0.1", [1, 100]).set("10.0.0.2", [2, 200]);
    expect(await servers.read()).toMatchObject({ spans: {}, servers: { found: 2, read: 2 } });
    servers.instances.set("10.0.0.1", [1, 130]).set("10.0.0.2", [2, 204]);
    const rates = await servers.read();
    const nowMs = servers.clock.now().getTime();
    const span = { fromMs: nowMs - 10_000, toMs: nowMs, requests: 34 };
    expect(rates).toEqual({
      spans: { "controller-resilience-kai": [span] },
      readMs: nowMs,
      refusals: { fromMs: nowMs - 10_000, toMs: nowMs, refused: [] },
      servers: { found: 2, read: 2 },
    });
    expect(servers.asked).toEqual(["slice", "10.0.0.1", "10.0.0.2"]);
  });

  it("are lower bounds while an instance can't be reached, and include its requests afterwards", async () => {
    servers.instances.set("10.0.0.1", [1, 0]).set("10.0.0.2", [2, 0]);
    await servers.read();
    servers.instances.set("10.0.0.1", [1, 3]).set("10.0.0.2", null);
    const rates = await servers.read();
    expect([requestsIn(rates), rates.servers, rates.unknown]).toEqual([[3], { found: 2, read: 1 }, undefined]);
    servers.instances.set("10.0.0.1", [1, 4]).set("10.0.0.2", [2, 1_000]);
    expect(requestsIn(await servers.read())).toEqual([1_004]);
  });

  it("come from the kubeconfig's server if no instance can be reached, which is retried after a minute", async () => {
    servers.instances.set("10.0.0.1", null).set("10.0.0.2", null);
    await servers.read();
    expect(servers.asked).toEqual(["slice", "10.0.0.1", "10.0.0.2", "ordinary"]);
    servers.ordinary = [1, 5];
    const rates = await servers.read();
    expect([requestsIn(rates), rates.servers]).toEqual([[5], { found: 2, read: 1 }]);
    expect(servers.asked).toEqual(["slice", "ordinary"]);
    // Counts that were read at the kubeconfig's server are not counted again at the server's own address.
    servers.instances.set("10.0.0.1", [1, 9]).set("10.0.0.2", [2, 0]);
    servers.clock.advance(50_000);
    expect((await servers.read()).servers).toEqual({ found: 2, read: 2 });
    servers.instances.set("10.0.0.1", [1, 10]);
    expect(requestsIn(await servers.read())).toEqual([5, 0, 1]);
  });

  it("are unknown without a right, and name it; earlier rates are still returned", async () => {
    await servers.read();
    servers.ordinary = [1, 5];
    const { readMs } = await servers.read();
    servers.ordinary = new ForbiddenError('get /metrics: not allowed (403): cannot get path "/metrics"');
    const rates = await servers.read();
    expect(rates).toMatchObject({ readMs, servers: { found: 1, read: 0 } });
    expect(rates.unknown).toBe(
      'Failed to read the request counters of the API servers: get /metrics: not allowed (403): cannot get path "/metrics".',
    );
    expect(requestsIn(rates)).toEqual([5]);
    servers.slice = new ForbiddenError("get endpointslices default/kubernetes: not allowed (403)");
    const without = await servers.read();
    expect(without.unknown).toContain("get endpointslices default/kubernetes: not allowed (403).");
    expect(without.servers).toEqual({ found: 0, read: 0 });
  });

  it("are lower bounds of several servers behind one address, each with a connection of its own", async () => {
    const start = servers.clock.now().getTime() / 1_000 - 86_400;
    const rates: RequestRates[] = [];
    for (const [i, id] of [0, 1, 0, 1, 2, 0].entries()) {
      servers.ordinary = [start + id, 10 * i];
      rates.push(await servers.read());
    }
    expect(rates.map(one => one.servers)).toEqual([
      { found: 1, read: 1 },
      { found: 2, read: 1 },
      { found: 2, read: 1 },
      { found: 2, read: 1 },
      { found: 3, read: 1 },
      { found: 3, read: 1 },
    ]);
    expect(servers.fresh).toEqual([true]);
    servers.clock.advance(900_000);
    servers.ordinary = [start, 100];
    await servers.read();
    servers.clock.advance(900_000);
    expect((await servers.read()).servers).toEqual({ found: 1, read: 1 });
  });

  it("say until when clients may list anew after a start of an API server", async () => {
    await servers.read();
    expect(await servers.read()).not.toHaveProperty("settlingUntilMs");
    const nowMs = servers.clock.now().getTime() + 10_000;
    servers.ordinary = [nowMs / 1_000 - 5, 0];
    expect(await servers.read()).toMatchObject({ settlingUntilMs: nowMs + 300_000 });
    servers.ordinary = new TransientError("get /metrics: reset");
    expect(await servers.read()).toMatchObject({ settlingUntilMs: nowMs + 300_000 });
    servers.clock.advance(300_000);
    expect(await servers.read()).not.toHaveProperty("settlingUntilMs");
  });

  it("say so when a server registers or leaves, and nothing with a settling time of 0", async () => {
    servers.instances.set("10.0.0.1", [1, 0]);
    await servers.read();
    servers.instances.set("10.0.0.2", [2, 0]);
    expect((await servers.read()).settlingUntilMs).toBe(servers.clock.now().getTime() + 300_000);
    const counts = new RequestCounts({ api: servers, clock: servers.clock, settleMs: 0 });
    await counts.rates(0);
    servers.instances.delete("10.0.0.2");
    servers.clock.advance(10_000);
    expect(await counts.rates(0)).not.toHaveProperty("settlingUntilMs");
  });
});

describe("a reading", () => {
  it("is reused while it is recent; within a second always, also after a failure", async () => {
    await servers.read();
    const first = servers.asked.length;
    servers.clock.advance(999);
    await servers.counts.rates(0);
    await servers.counts.rates(-Infinity);
    expect(servers.asked).toHaveLength(first);
    servers.clock.advance(4_000);
    await servers.counts.rates(5_000);
    expect(servers.asked).toHaveLength(first);
    servers.ordinary = new TransientError("get /metrics: reset");
    servers.clock.advance(1);
    expect((await servers.counts.rates(5_000)).unknown).toBeDefined();
    expect(servers.asked).toHaveLength(2 * first);
    servers.clock.advance(4_999);
    expect((await servers.counts.rates(5_000)).unknown).toBeDefined();
    expect(servers.asked).toHaveLength(2 * first);
  });

  it("is kept for as long as an object counts requests, and asks for them", async () => {
    const kept = async (readings: number, countedMs?: number): Promise<unknown> => {
      for (let i = 0; i < readings; i++) {
        servers.clock.advance(10_000);
        servers.refused++;
        await servers.counts.rates(0, countedMs);
      }
      return (await servers.counts.rates(0)).spans["401"];
    };
    expect(await kept(200, 2_000_000)).toHaveLength(199);
    expect(await kept(30, 1_000_000)).toHaveLength(200);
    expect(await kept(1, 1_000_000)).toHaveLength(100);
    expect(await kept(30)).toHaveLength(100);
    expect(await kept(1)).toHaveLength(96);
  });

  it("is shared by concurrent callers", async () => {
    let open = (): void => undefined;
    servers.gate = new Promise(resolve => (open = resolve));
    const all = Promise.all([servers.counts.rates(0), servers.counts.rates(0), servers.counts.rates(60_000)]);
    await settle();
    servers.clock.advance(5_000);
    const late = servers.counts.rates(0);
    open();
    expect(new Set([...(await all), await late]).size).toBe(1);
    expect(servers.asked).toEqual(["slice", "ordinary"]);
  });
});

describe("refusals", () => {
  it("are looked for every ten seconds, and every five minutes where not all servers can be read", async () => {
    const pagesIn = async (looks: number): Promise<number> => {
      servers.asked = [];
      for (let i = 0; i < looks; i++) {
        servers.clock.advance(10_000);
        await servers.counts.read();
      }
      return servers.asked.filter(what => what === "ordinary").length;
    };
    servers.instances.set("10.0.0.1", [1, 0]);
    expect(await pagesIn(10)).toBe(10);
    servers.instances.clear();
    await pagesIn(15);
    expect(await pagesIn(60)).toBe(2);
  });

  /** Reads the counters that often, ten seconds apart; returns how long ago a request may have been refused. */
  const sinceRefusal = async (readings = 1): Promise<number> => {
    for (let i = 0; i < readings; i++) {
      servers.clock.advance(10_000);
      await servers.counts.read();
    }
    return servers.clock.monotonicMs() - servers.counts.refusedUntilMs(["401"]);
  };

  it("show a server that comes within a minute, and one that is gone at once", async () => {
    servers.instances.set("10.0.0.1", [1, 0]).set("10.0.0.2", [2, 0]);
    expect(await sinceRefusal(5)).toBe(40_000);
    servers.instances.set("10.0.0.3", [3, 0]);
    expect(await sinceRefusal()).toBe(50_000);
    expect(await sinceRefusal()).toBe(0);
    servers.instances.delete("10.0.0.3");
    await sinceRefusal();
    expect(await sinceRefusal()).toBe(0);
  });

  it("are known of one registered server that alone answers at the kubeconfig's address", async () => {
    servers.instances.set("10.0.0.1", [1, 0]);
    expect(await sinceRefusal(10)).toBe(40_000);
    servers.ordinary = [servers.clock.now().getTime() / 1_000 - 86_400, 0];
    expect(await sinceRefusal(10)).toBe(-Infinity);
  });
});
