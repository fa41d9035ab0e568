import { describe, expect, it } from "vitest";
import { WaitError } from "../../core/errors";
import { FakeClock } from "../../core/testing/fake-clock";
import { EachInstance, instancesIn, readyInstances } from "./instances";

const slice = (endpoints: readonly object[], ports: readonly object[] = [{ name: "https", port: 6443 }]) => ({
  ports,
  endpoints,
});

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

  it("are not asked again before the time that they have asked for, five minutes at most", async () => {
    const [clock, asked] = [new FakeClock(), [] as string[]];
    const each = new EachInstance(clock);
    const instances = ["a", "b"].map(address => ({ address, port: 1 }));
    for (const ms of [0, 299_000, 1_000]) {
      clock.advance(ms);
      await each.ask(instances, ({ address }) => {
        asked.push(address);
        return address === "a" ? Promise.reject(new WaitError("busy", 9e9)) : Promise.resolve();
      });
    }
    expect(asked).toEqual(["a", "b", "b", "a", "b"]);
  });

  it("are asked 32 at a time at most", async () => {
    const many = Array.from({ length: 40 }, (_, i) => ({ address: `10.0.0.${i}`, port: 6443 }));
    expect(await new EachInstance(new FakeClock()).ask(many, ({ port }) => Promise.resolve(port))).toHaveLength(32);
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
    expect(await readyInstances({ jsonOrNull })).toEqual([]);
    expect(paths).toEqual(["/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"]);
  });
});
