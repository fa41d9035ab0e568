import { expect, it } from "vitest";
import type { StallStatus } from "../../api/controller-resilience";
import type { StatusOwner } from "../../core/ports";
import { STALLED } from "./gauges";

it("counts the evidence against each workload by its kind", () => {
  const stall = { workload: "Deployment/web", evidence: "Lease", since: "" } satisfies StallStatus;
  const stalls: StallStatus[] = [stall, stall, { ...stall, evidence: "Forbidden" }];
  const sampled = (status: object) => STALLED.samples("team/it", { spec: {}, status } as StatusOwner);
  const labels = { namespace: "team", name: "it", workload: "Deployment/web" };
  expect(sampled({ stalls })).toEqual([
    { labels: { ...labels, evidence: "Lease" }, value: 2 },
    { labels: { ...labels, evidence: "Forbidden" }, value: 1 },
  ]);
  expect(sampled({})).toEqual([]);
});
