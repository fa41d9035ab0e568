import { describe, expect, it } from "vitest";
import { WaitError } from "../../core/errors";
import { FakeClock } from "../../core/testing/fake-clock";
import { EachInstance, instancesIn } from "./instances";

const slice = (endpoints: readonly object[], ports: readonly object[] = [{ name: "https", port: 6443 }]) => ({
  ports,
  endpoints,
});

/** Whoever is asked gets the instances from the test. */
const api = { jsonOrNull: () => Promise.resolve(null) };

describe("the instances of the API server", () => {
  it("are the ready endpoints, each once and at its first address, at the port for HTTPS", () => {
    const endpoints = [
      { addresses: ["10.0.0.1", "10.0.1.1"], conditions: { ready: true } },
      { addresses: ["10.0.0.2"], conditions: { ready: false } },
      { addresses: ["10.0.0.3"], conditions: {} },
      { addresses: ["fd00::1"] },
      { addresses: ["10.0.0.1"] },
    ];
    const dns = { name: "dns", port: 53 };
    const found = instancesIn(slice(endpoints, [dns, { name: "https", port: 6443 }]));
    expect(found).toEqual(["10.0.0.1", "10.0.0.3", "fd00::1"].map(address => ({ address, port: 6443 })));
  });

  it("are not asked again before the time that they have asked for", async () => {
    const [clock, asked] = [new FakeClock(), [] as string[]];
    const each = new EachInstance({ clock, api });
    const instances = ["a", "b"].map(address => ({ address, port: 1 }));
    for (const ms of [0, 299_000, 1_000]) {
      clock.advance(ms);
      await each.ask(instances, one => {
        asked.push(one?.address ?? "");
        return one?.address === "a" ? Promise.reject(new WaitError("busy", 300_000)) : Promise.resolve();
      });
    }
    expect(asked).toEqual(["a", "b", "b", "a", "b"]);
  });

  it("are read again when they are old, or when one of them did not answer", async () => {
    const clock = new FakeClock();
    let reads = 0;
    const endpoints = ["a", "b"].map(address => ({ addresses: [address] }));
    const jsonOrNull = <T>(): Promise<T> => Promise.resolve((reads++, slice(endpoints) as T));
    const each = new EachInstance({ clock, api: { jsonOrNull } });
    const readsAfter = async (ms: number): Promise<number> => {
      clock.advance(ms);
      await each.ready(60_000);
      return reads;
    };
    expect([await readsAfter(0), await readsAfter(59_000), await readsAfter(1_000)]).toEqual([1, 1, 2]);
    await each.ask(await each.ready(60_000), () => Promise.resolve());
    expect(await readsAfter(0)).toBe(2);
    await each.ask(await each.ready(60_000), one =>
      one?.address === "a" ? Promise.resolve() : Promise.reject(new Error("gone")),
    );
    expect(await readsAfter(0)).toBe(3);
  });

  it("are asked 32 at a time at most", async () => {
    const many = Array.from({ length: 40 }, (_, i) => ({ address: `10.0.0.${i}`, port: 6443 }));
    expect(await new EachInstance({ clock: new FakeClock(), api }).ask(many, one => Promise.resolve(one))).toHaveLength(
      32,
    );
  });

  it("are empty without valid endpoints", () => {
    const endpoint = { addresses: ["10.0.0.1"] };
    for (const odd of [null, {}, { endpoints: [endpoint] }, slice([endpoint], [{ name: "http", port: 80 }])])
      expect(instancesIn(odd)).toEqual([]);
    expect(instancesIn(slice([{}, { addresses: [] }, { addresses: [7] }, { addresses: [""] }]))).toEqual([]);
  });

  it("come from the EndpointSlice of the service kubernetes", async () => {
    const paths: string[] = [];
    const jsonOrNull = <T>({ path }: { path: string }): Promise<T | null> => {
      paths.push(path);
      return Promise.resolve(null);
    };
    expect(await new EachInstance({ clock: new FakeClock(), api: { jsonOrNull } }).ready(0)).toEqual([]);
    expect(paths).toEqual(["/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"]);
  });
});
