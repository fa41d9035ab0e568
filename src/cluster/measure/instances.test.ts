import { describe, expect, it } from "vitest";
import { instancesIn, readyInstances } from "./instances";

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
    expect(
      instancesIn(
        slice(endpoints, [
          { name: "dns", port: 53 },
          { name: "https", port: 6443 },
        ]),
      ),
    ).toEqual([
      { address: "10.0.0.1", port: 6443 },
      { address: "10.0.0.3", port: 6443 },
      { address: "fd00::1", port: 6443 },
    ]);
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
