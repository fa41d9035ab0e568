import { expect, it } from "vitest";
import type { StatusOwner } from "../../core/metrics";
import { createFlowIsolation, FLOW_GAUGES } from "./remedy";

const sampled = (status: object, spec: object = {}) =>
  FLOW_GAUGES.map(gauge => gauge.samples("kai/a", { spec, status } as StatusOwner));

it("show rate, threshold of all pods and throttle of each ServiceAccount", () => {
  const flows = [
    { serviceAccount: "kai", requestsPerSecond: 12.5, threshold: 200, state: "Throttled" },
    { serviceAccount: "new", threshold: 100 },
  ];
  const [kai, young] = ["kai", "new"].map(name => ({ namespace: "kai", service_account: name }));
  expect(sampled({ flows })).toEqual([
    [{ labels: kai, value: 12.5 }],
    [
      { labels: kai, value: 200 },
      { labels: young, value: 100 },
    ],
    [
      { labels: kai, value: 1 },
      { labels: young, value: 0 },
    ],
  ]);
});

it("show nothing without flows", () => {
  expect(sampled({})).toEqual([[], [], []]);
});

it("show no rate while the object is suspended, since none is measured; its message says what stays throttled", () => {
  const flows = [{ serviceAccount: "kai", requestsPerSecond: 150, state: "Throttled" }];
  const [rate, , throttled] = sampled({ flows }, { suspend: true });
  expect(rate).toEqual([]);
  expect(throttled).toMatchObject([{ value: 1 }]);
  const said = createFlowIsolation().whileSuspended?.({ status: { flows } } as never);
  expect(said).toContain("ServiceAccount kai stays throttled; let this object go on");
});
