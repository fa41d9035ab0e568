import { parser } from "@prometheus-io/lezer-promql";
import type { SyntaxNode } from "@lezer/common";
import type { MetricFamily } from "../../src/telemetry/metrics";

/** Labels that Prometheus adds to what it scrapes. */
const TARGET = ["job", "instance", "pod"];

/** Labels of each series name. */
export type Series = ReadonlyMap<string, ReadonlySet<string>>;

/** The names of all series, with their labels. */
export function seriesOf(families: readonly MetricFamily[]): Series {
  const named = families.flatMap(({ name, type, labelNames }) => {
    if (type !== "histogram") return [[name, labelNames] as const];
    const bucket = [`${name}_bucket`, [...labelNames, "le"]] as const;
    return [bucket, [`${name}_sum`, labelNames] as const, [`${name}_count`, labelNames] as const];
  });
  return new Map(named.map(([name, labels]) => [name, new Set([...labels, ...TARGET])]));
}

/** Returns what is wrong with a query: its syntax, and metrics and labels that do not exist. */
export function problemsOf(query: string, series: Series): string[] {
  const text = (node: SyntaxNode): string => query.slice(node.from, node.to);
  const { topNode } = parser.parse(query);
  const problems = all(topNode, "⚠").map(({ from }) => `syntax at ${from}`);
  for (const selector of all(topNode, "VectorSelector")) {
    const name = text(selector.getChild("Identifier") ?? selector);
    const labels = series.get(name);
    if (labels === undefined) problems.push(`no metric ${name}`);
    const used = all(selector, "LabelName").map(text);
    problems.push(...used.filter(label => labels?.has(label) === false).map(label => `${name} has no label ${label}`));
  }
  for (const grouping of all(topNode, "GroupingLabels")) {
    const labels = commonLabels(scopeOf(grouping), text, series);
    const used = all(grouping, "LabelName").map(text);
    problems.push(...used.filter(label => !labels.has(label)).map(label => `nothing to group by ${label}`));
  }
  return problems;
}

/** Labels that every metric of a query has. */
export function labelsOf(query: string, series: Series): ReadonlySet<string> {
  return commonLabels(parser.parse(query).topNode, node => query.slice(node.from, node.to), series);
}

function commonLabels(scope: SyntaxNode, text: (node: SyntaxNode) => string, series: Series): ReadonlySet<string> {
  const found = all(scope, "VectorSelector").map(node => series.get(text(node.getChild("Identifier") ?? node)));
  const known = found.filter(labels => labels !== undefined);
  return new Set([...(known[0] ?? [])].filter(label => known.every(labels => labels.has(label))));
}

/** The aggregation or operation that the labels belong to. */
function scopeOf(node: SyntaxNode): SyntaxNode {
  let scope: SyntaxNode = node;
  while (scope.parent !== null && !["AggregateExpr", "BinaryExpr"].includes(scope.name)) scope = scope.parent;
  return scope;
}

function all(root: SyntaxNode, name: string): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  root.cursor().iterate(({ node }) => {
    if (node.name === name) found.push(node);
  });
  return found;
}
