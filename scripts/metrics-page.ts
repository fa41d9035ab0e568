import { format } from "prettier";
import { createRemedies } from "../src/remedies/registry";
import { type MetricFamily, Metrics } from "../src/telemetry/metrics";

const HEAD = `<!-- Made from the registry of metrics by "npm run generate". Do not edit. -->

# Metrics

At \`/metrics\`, port 9440 ([how to scrape, and the alerts](observability.md)), with prom-client's
\`process_*\` and \`nodejs_*\` (\`nodejs_eventloop_lag_max_seconds\`, since the last scrape, includes the
sampling interval of 200 ms).

- \`..._total\` are counters, \`..._duration_seconds\` histograms, all others gauges.
- Only the leader exports what it knows of objects, so aggregate over replicas, as the alerts do. At
  most 2,000 objects have conditions, and each gauge of objects has at most 2,000 series.

## All metrics
`;

/** docs/metrics.md: all metrics with their labels, from the registry itself. */
export function metricsPage(): { path: string; from: string; text: () => Promise<string> } {
  const gauges = createRemedies().flatMap(remedy => remedy.gauges ?? []);
  const text = (): Promise<string> => {
    const families = new Metrics({ gauges }).families().toSorted(byName);
    const [others, known] = [families.filter(family => !isKnown(family)), families.filter(isKnown)];
    const names = known.map(({ name }) => `\`${name}\``).join(", ");
    const entries = [...others.map(entry), `- as in client-go, for the operator's requests and queue: ${names}`];
    return format(`${HEAD}\n${entries.join("\n")}\n`, { parser: "markdown", proseWrap: "always", printWidth: 100 });
  };
  return { path: "docs/metrics.md", from: "src/telemetry", text };
}

/** Metrics of client-go, which has their meaning and labels. */
function isKnown({ name }: MetricFamily): boolean {
  return /^(workqueue|rest_client)_/.test(name);
}

function entry({ name, labelNames, help }: MetricFamily): string {
  return `- \`${name}${labelNames.length === 0 ? "" : `{${labelNames.join(",")}}`}\`: ${help}`;
}

function byName(a: MetricFamily, b: MetricFamily): number {
  return a.name < b.name ? -1 : 1;
}
