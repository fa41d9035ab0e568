import { parseAllDocuments } from "yaml";
import { renderChart } from "../cluster/chart";

/** An alert of the chart. */
interface AlertRule {
  readonly alert: string;
  expr: string;
  for?: string;
  readonly labels: { readonly severity: string };
  annotations: { summary: string; description?: string; runbook_url?: string };
}

/** What Prometheus loads from a file of rules. */
export interface RuleGroups {
  readonly groups: readonly { readonly name: string; readonly rules: readonly AlertRule[] }[];
}

/** Returns the alerts of the chart, rendered with these values. */
export async function renderRules(...values: string[]): Promise<RuleGroups> {
  const enabled = ["monitoring.prometheusRule.enabled=true", ...values];
  const text = await renderChart(enabled.flatMap(value => ["--set-json", value]));
  const objects = parseAllDocuments(text).map(
    document => document.toJS() as { kind?: string; spec?: RuleGroups } | null,
  );
  const spec = objects.find(object => object?.kind === "PrometheusRule")?.spec;
  if (spec === undefined) throw new Error("expected a PrometheusRule in the chart");
  return spec;
}

export function rulesIn({ groups }: RuleGroups): AlertRule[] {
  return groups.flatMap(({ rules }) => rules);
}
