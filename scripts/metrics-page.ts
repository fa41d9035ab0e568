import { format } from "prettier";
import { createRemedies } from "../src/remedies/registry";
import { type MetricFamily, Metrics } from "../src/telemetry/metrics";

const HEAD = `<!-- Made from the registry of metrics by "npm run generate". Do not edit. -->

# Metrics

The operator serves them on port 9440 at \`/metrics\`. [Observability](observability.md) says how to
scrape them, and has the alerts.

- Only the leader exports what it knows of objects; the series of a standby end. So aggregate over
  replicas, as the alerts do.
- \`workqueue_*\` and \`rest_client_*\` have the names and labels of client-go; the label \`name\` is
  \`controllerresilience\` or \`clustercontrollerresilience\`.
- At most 2,000 objects have conditions, and each gauge of objects has at most 2,000 series.
- Besides these there are prom-client's metrics of the process: \`process_*\` and \`nodejs_*\`.
  \`nodejs_eventloop_lag_max_seconds\`, since the last scrape, includes the sampling interval of 200 ms.
`;

/** docs/metrics.md: a table of all metrics, from the registry itself. */
export function metricsPage(): { path: string; from: string; text: () => Promise<string> } {
  const gauges = createRemedies().flatMap(remedy => remedy.gauges ?? []);
  const text = (): Promise<string> => {
    const rows = new Metrics({ gauges }).families().toSorted(byName).map(row);
    const table = ["| metric | type | labels | meaning |", "| --- | --- | --- | --- |", ...rows].join("\n");
    return format(`${HEAD}\n${table}\n`, { parser: "markdown", proseWrap: "always", printWidth: 100 });
  };
  return { path: "docs/metrics.md", from: "src/telemetry", text };
}

function row({ name, type, labelNames, help }: MetricFamily): string {
  return `| \`${name}\` | ${type} | ${labelNames.map(label => `\`${label}\``).join(", ")} | ${help} |`;
}

function byName(a: MetricFamily, b: MetricFamily): number {
  return a.name < b.name ? -1 : 1;
}
