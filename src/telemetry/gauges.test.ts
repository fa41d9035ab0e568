import { describe, expect, it } from "vitest";
import { splitKey } from "../core/text";
import type { StatusGauge } from "../core/remedy";
import { Metrics } from "./metrics";

/** Series by namespace and ServiceAccount, which objects of a namespace share. */
const RATE: StatusGauge = {
  ...{ name: "rate", help: "A rate.", labels: ["namespace", "account"] },
  samples: (key, { status: { flows = [] } }) =>
    flows.map(({ serviceAccount, requestsPerSecond = 0 }) => ({
      labels: { namespace: splitKey(key).namespace, account: serviceAccount },
      value: requestsPerSecond,
    })),
};

function makeMetrics() {
  const metrics = new Metrics({ gauges: [RATE] });
  return {
    set: (key: string, flows: readonly object[]) => metrics.status(key, { spec: {}, status: { flows } } as never),
    series: async () =>
      (await metrics.text()).split("\n").flatMap(line => /^controller_resilience_rate(.*)$/.exec(line)?.[1] ?? []),
  };
}

const flow = (serviceAccount: string, requestsPerSecond: number) => ({ serviceAccount, requestsPerSecond });

describe("the gauges that remedies declare", () => {
  it("have help and a type before the first series", async () => {
    const text = await new Metrics({ gauges: [RATE] }).text();
    expect(text).toContain("# HELP controller_resilience_rate A rate.");
    expect(text).toContain("# TYPE controller_resilience_rate gauge");
  });

  it("follow status", async () => {
    const { set, series } = makeMetrics();
    set("kai/a", [flow("kai", 12.5), flow("web", 3)]);
    set("kai/a", [flow("kai", 2)]);
    expect(await series()).toEqual(['{namespace="kai",account="kai"} 2']);
    set("kai/a", []);
    expect(await series()).toEqual([]);
  });

  it("keep a series until the last object that shares it is gone", async () => {
    const { set, series } = makeMetrics();
    set("kai/a", [flow("web", 3)]);
    set("kai/b", [flow("web", 4)]);
    set("kai/b", [flow("web", 5)]);
    set("shop/a", [flow("web", 6)]);
    set("kai/a", []);
    expect(await series()).toEqual(['{namespace="kai",account="web"} 5', '{namespace="shop",account="web"} 6']);
    set("kai/b", []);
    set("shop/a", []);
    expect(await series()).toEqual([]);
  });

  it("export at most 500 series of one object and 2,000 of all, and others when there is room", async () => {
    const { set, series } = makeMetrics();
    const flows = Array.from({ length: 600 }, (_, i) => flow(`s${i}`, i));
    for (const name of ["a", "b", "c", "d", "e"]) set(`${name}/it`, flows);
    expect(await series()).toHaveLength(2_000);
    const ofE = async () => (await series()).filter(line => line.includes('namespace="e"'));
    expect(await ofE()).toEqual([]);
    set("a/it", []);
    set("e/it", flows);
    expect(await ofE()).toHaveLength(500);
  });
});
