import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { dashboard, filledIn, panels } from "./dashboard";
import { labelsOf, problemsOf, seriesOf } from "./promql";
import { type RuleGroups, rulesIn } from "./rules";
import { makeMetrics } from "./samples";

// Every query of the dashboard and of the alerts, against the registry of metrics.

const files = join(__dirname, "../../deploy/chart/files");
const series = seriesOf(makeMetrics().families());

describe("the dashboard", () => {
  it.each(panels.map(panel => [panel.title, panel] as const))(
    "%s: asks for metrics and labels that exist",
    (_, panel) => {
      const { targets = [] } = panel;
      expect(targets.length).toBeGreaterThan(0);
      for (const { expr, legendFormat } of targets) {
        const query = filledIn(expr);
        expect(query).not.toContain("$");
        expect(problemsOf(query, series), expr).toEqual([]);
        const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
        for (const label of shown) expect(labelsOf(query, series)).toContain(label);
      }
    },
  );

  it("has no stat that looks good while no operator is scraped", () => {
    const stats = panels.filter(({ type }) => type === "stat");
    const [leaders, breaker, ...counts] = stats.map(({ targets = [] }) => targets[0]?.expr);
    expect(leaders).toMatch(/^sum\(controller_resilience_leader\{.*\}\) or vector\(0\)$/);
    expect(breaker).not.toContain(" or ");
    expect(counts).toHaveLength(4);
    for (const expr of counts) expect(expr).toMatch(/ or 0 \* max\(controller_resilience_leader\{job=~"\$job"\}\)$/);
  });

  it("offers values of labels that exist", () => {
    const asked = dashboard.templating.list.flatMap(({ query }) => {
      const [, metric = "", label = ""] = /^label_values\((\w+), (\w+)\)$/.exec(query) ?? [];
      return metric === "" ? [] : [[metric, label] as const];
    });
    expect(asked.length).toBe(2);
    for (const [metric, label] of asked) expect(series.get(metric)).toContain(label);
  });

  it("has panels that neither overlap nor share an id, each with the chosen data source", () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)}/${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { gridPos, datasource, targets = [] } of panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      expect(datasource).toEqual({ type: "prometheus", uid: "$datasource" });
      expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
    }
  });

  it("has the rows that a person looks for", () => {
    const rows = dashboard.panels.filter(({ type }) => type === "row").map(({ title }) => title);
    expect(rows).toHaveLength(6);
    for (const word of [/Operator/, /Tokens/, /Bindings/, /Flows/, /Coverage/, /Queue and API/]) {
      expect(rows).toContainEqual(expect.stringMatching(word));
    }
  });
});

it("the dashboard for Perses asks the same; a stat without data now does not keep its last value", () => {
  const text = readFileSync(join(files, "../../perses/dashboard.json"), "utf8");
  const asked = [...text.matchAll(/"query": (".*"),$/gm)].map(([, query = ""]): unknown => JSON.parse(query));
  const now = (type: string): string => (type === "stat" ? " or vector(NaN)" : "");
  expect(asked).toEqual(panels.flatMap(({ type, targets = [] }) => targets.map(({ expr }) => expr + now(type))));
  expect(text.match(/"calculation": "last"/g)).toHaveLength(6);
});

describe("the alerts", () => {
  const rules = rulesIn(parse(readFileSync(join(files, "alerts.yaml"), "utf8")) as RuleGroups);
  it.each(rules.map(({ alert, expr }) => [alert, expr] as const))(
    "%s asks for metrics and labels that exist",
    (_, expr) => {
      expect(problemsOf(expr, series)).toEqual([]);
    },
  );
});

it.each([
  ["sum(controller_resilience_leaders)", "no metric controller_resilience_leaders"],
  ['workqueue_depth{queue="x"}', "workqueue_depth has no label queue"],
  ["sum by (workloads) (controller_resilience_rejected_pods)", "nothing to group by workloads"],
  ["workqueue_depth / on (nam) workqueue_depth", "nothing to group by nam"],
  ["workqueue_queue_duration_seconds", "no metric workqueue_queue_duration_seconds"],
  ["sum(controller_resilience_leader", "syntax at"],
])("a misspelled query is found %s", (query, problem) => {
  expect(problemsOf(query, series).join()).toContain(problem);
});
