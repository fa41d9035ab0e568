import { expect, it } from "vitest";
import type { StatusOwner } from "../../core/ports";
import { TOKEN_GAUGES } from "./gauges";

const sampled = (status: object, spec: object = {}) =>
  TOKEN_GAUGES.map(gauge => gauge.samples("kai/a", { spec, status } as StatusOwner));
const labels = (workload: string) => ({ namespace: "kai", name: "a", workload });

it("show the rejected pods of workloads that have any", () => {
  const targets = [
    { kind: "Deployment", name: "web", pods: 3, rejectedPods: 2 },
    { kind: "DaemonSet", name: "agent", pods: 3, rejectedPods: 0 },
  ];
  expect(sampled({ targets })).toEqual([[{ labels: labels("Deployment/web"), value: 2 }], []]);
  expect(sampled({})).toEqual([[], []]);
  expect(sampled({ targets }, { suspend: true })).toEqual([[], []]);
});

it("show how many restarts in a row did not help, whatever is open", () => {
  let minute = 0;
  const restart = (workload: string, outcome: string, cause = "Unknown") => ({
    ...{ workload, outcome, cause, pod: "p" },
    time: `2025-01-01T00:0${minute++}:00Z`,
  });
  const restarts = [
    restart("Deployment/web", "Ineffective"),
    restart("Deployment/web", "Recovered"),
    restart("Deployment/web", "Ineffective"),
    restart("Deployment/web", "Ineffective"),
    restart("Deployment/web", "Restarted"),
    restart("Deployment/app", "Ineffective"),
    restart("Deployment/app", "Recovered"),
    restart("DaemonSet/agent", "Ineffective", "TokenTooLong"),
  ];
  expect(sampled({ restarts })).toEqual([[], [{ labels: labels("Deployment/web"), value: 2 }]]);
  expect(sampled({ restarts }, { suspend: true })).toEqual([[], []]);
});
