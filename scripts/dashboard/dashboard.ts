import {
  BigValueGraphMode,
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  ReduceDataOptionsBuilder,
} from "@grafana/grafana-foundation-sdk/common";
import {
  DashboardBuilder,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder as StatBuilder } from "@grafana/grafana-foundation-sdk/stat";
import { PanelBuilder as TimeseriesBuilder } from "@grafana/grafana-foundation-sdk/timeseries";
import { type Panel, ROWS } from "./rows";

const DATASOURCE = { type: "prometheus", uid: "$datasource" };

const REF_IDS = "ABCDEFGH";

/** Grafana has 24 columns. */
const [STAT, TIMESERIES] = [
  { width: 4, height: 4 },
  { width: 12, height: 8 },
];

/** The dashboard for Grafana as JSON, built with Grafana's own types. */
export function dashboardFile(): { path: string; from: string; text: () => Promise<string> } {
  const text = (): Promise<string> => Promise.resolve(`${JSON.stringify(dashboard(), null, 2)}\n`);
  return { path: "deploy/chart/files/dashboard.json", from: "scripts/dashboard", text };
}

function dashboard(): object {
  // Grafana's sidecar loads this format into every Grafana in use; the newer one needs Grafana 12.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  const builder = new DashboardBuilder("controller-resilience")
    .uid("controller-resilience")
    .tags(["kubernetes", "controller-resilience"])
    .description("The operator controller-resilience: its health, what it heals, and what it costs.")
    .timezone("browser")
    .time({ from: "now-6h", to: "now" })
    .refresh("1m")
    .withVariable(new DatasourceVariableBuilder("datasource").type("prometheus").label("Data source"))
    .withVariable(variable("job", "label_values(controller_resilience_leader, job)"))
    .withVariable(variable("namespace", "label_values(controller_resilience_condition, namespace)"));
  let id = 0;
  for (const { title, panels } of ROWS) {
    builder.withRow(new RowBuilder(title).id(++id));
    for (const panel of panels) builder.withPanel(panelOf(panel).id(++id));
  }
  return builder.build();
}

function variable(name: string, query: string): QueryVariableBuilder {
  return new QueryVariableBuilder(name).query(query).datasource(DATASOURCE).multi(true).includeAll(true).allValue(".*");
}

function panelOf(panel: Panel): StatBuilder | TimeseriesBuilder {
  const { kind, title, description, unit, queries } = panel;
  const { width, height } = kind === "stat" ? STAT : TIMESERIES;
  const builder = kind === "stat" ? statOf(panel) : timeseriesOf(panel);
  builder.title(title).description(description).unit(unit).datasource(DATASOURCE).span(width).height(height);
  for (const [i, { expr, legend }] of queries.entries()) {
    const query = new DataqueryBuilder().expr(expr).legendFormat(legend).refId(REF_IDS.charAt(i));
    builder.withTarget(kind === "stat" ? query.instant() : query.range());
  }
  return builder;
}

function statOf(panel: Panel): StatBuilder {
  const last = new ReduceDataOptionsBuilder().calcs(["lastNotNull"]);
  return new StatBuilder().thresholds(thresholds(panel)).reduceOptions(last).graphMode(BigValueGraphMode.None);
}

function timeseriesOf(panel: Panel): TimeseriesBuilder {
  const builder = new TimeseriesBuilder();
  if (panel.isSigned !== true) builder.min(0);
  if (panel.badFrom === undefined) return builder;
  const line = new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Line);
  return builder.thresholds(thresholds(panel)).thresholdsStyle(line);
}

function thresholds({ badBelow, badFrom }: Panel): ThresholdsConfigBuilder {
  const steps = [
    { value: null, color: badBelow === undefined ? "green" : "red" },
    ...(badBelow === undefined ? [] : [{ value: badBelow, color: "green" }]),
    ...(badFrom === undefined ? [] : [{ value: badFrom, color: "red" }]),
  ];
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps);
}
