import { expect, it } from "vitest";
import type { StatusOwner } from "../../core/ports";
import { Metrics } from "../../telemetry/metrics";
import { TOKEN_GAUGES } from "./gauges";

const sampled = (status: object, spec: object = {}) =>
  TOKEN_GAUGES.map(gauge => gauge.samples("kai/a", { spec, status } as StatusOwner));
const labels = (workload: string) => ({ namespace: "kai", name: "a", workload });

it("show the rejected pods of workloads that have any, and what recreated their ServiceAccount", () => {
  const targets = [
    { kind: "Deployment", name: "web", pods: 3, rejectedPods: 2 },
    { kind: "Deployment", name: "app", pods: 1, rejectedPods: 1, recreatedBy: "HelmHook" },
    { kind: "DaemonSet", name: "agent", pods: 3, rejectedPods: 0 },
  ];
  const rejected = [
    { labels: { ...labels("Deployment/web"), recreated_by: "Unknown" }, value: 2 },
    { labels: { ...labels("Deployment/app"), recreated_by: "HelmHook" }, value: 1 },
  ];
  expect(sampled({ targets })).toEqual([rejected, []]);
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

it("never export a workload twice, also when it becomes known what recreated its ServiceAccount", async () => {
  const metrics = new Metrics({ gauges: TOKEN_GAUGES });
  const scraped = async (recreatedBy?: string, rejectedPods = 1) => {
    const target = { kind: "Deployment", name: "web", pods: 1, rejectedPods, ...(recreatedBy && { recreatedBy }) };
    metrics.status("kai/a", { spec: {}, status: { targets: [target] } } as unknown as StatusOwner);
    return (await metrics.text()).split("\n").filter(line => line.startsWith("controller_resilience_rejected_pods{"));
  };
  const series = (by: string) =>
    `controller_resilience_rejected_pods{namespace="kai",name="a",workload="Deployment/web",recreated_by="${by}"} 1`;
  expect(await scraped()).toEqual([series("Unknown")]);
  expect(await scraped("HelmHook")).toEqual([series("HelmHook")]);
  expect(await scraped("Other")).toEqual([series("Other")]);
  expect(await scraped(undefined, 0)).toEqual([]);
});
