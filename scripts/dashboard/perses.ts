// The dashboard for Perses, with the panels of Grafana's.
import { type Panel, ROWS } from "./rows";

/** Perses has 24 columns. */
const COLUMNS = 24;

const SIZES = { stat: { width: 4, height: 4 }, timeseries: { width: 12, height: 8 } };

const [GREEN, RED] = ["#2e7d32", "#d32f2f"];

/** Names of Grafana's units in Perses. */
const UNITS: Readonly<Record<string, string>> = {
  ...{ none: "decimal", bool_on_off: "decimal", s: "seconds", percentunit: "percent-decimal" },
  ...{ ops: "ops/sec", reqps: "requests/sec" },
};

/** The dashboard for Perses as JSON, as `percli apply` takes it. */
export function persesFile(): { path: string; from: string; text: () => Promise<string> } {
  const text = (): Promise<string> => Promise.resolve(`${JSON.stringify(dashboard(), null, 2)}\n`);
  return { path: "deploy/perses/dashboard.json", from: "scripts/dashboard", text };
}

function dashboard(): object {
  const panels = ROWS.flatMap(row => row.panels).map(panel => [keyOf(panel), panelOf(panel)] as const);
  const spec = {
    display: { name: "controller-resilience" },
    duration: "6h",
    refreshInterval: "1m",
    variables: [
      variable("job", "controller_resilience_leader"),
      variable("namespace", "controller_resilience_condition"),
    ],
    panels: Object.fromEntries(panels),
    layouts: ROWS.map(({ title, panels: inside }) => ({
      kind: "Grid",
      spec: { display: { title, collapse: { open: true } }, items: placed(inside) },
    })),
  };
  return { kind: "Dashboard", metadata: { name: "controller-resilience", project: "default" }, spec };
}

function variable(name: string, metric: string): object {
  const plugin = { kind: "PrometheusLabelValuesVariable", spec: { labelName: name, matchers: [metric] } };
  const choice = { allowMultiple: true, allowAllValue: true, customAllValue: ".*", defaultValue: ["$__all"] };
  return { kind: "ListVariable", spec: { name, display: { name }, ...choice, plugin } };
}

function keyOf({ title }: Panel): string {
  return title.replace(/\W+/g, "-");
}

/** Fills lines from the left, as Grafana's builder does. */
function placed(panels: readonly Panel[]): object[] {
  const at = { x: 0, y: 0, line: 0 };
  return panels.map(panel => {
    const { width, height } = SIZES[panel.kind];
    if (at.x + width > COLUMNS) Object.assign(at, { x: 0, y: at.y + at.line, line: 0 });
    const item = { x: at.x, y: at.y, width, height, content: { $ref: `#/spec/panels/${keyOf(panel)}` } };
    Object.assign(at, { x: at.x + width, line: Math.max(at.line, height) });
    return item;
  });
}

function panelOf(panel: Panel): object {
  const { title: name, description, kind, queries } = panel;
  const plugin = kind === "stat" ? statOf(panel) : timeseriesOf(panel);
  return {
    kind: "Panel",
    spec: {
      display: { name, description },
      plugin,
      queries: queries.map(({ expr, legend: seriesNameFormat }) => ({
        kind: "TimeSeriesQuery",
        spec: {
          plugin: {
            kind: "PrometheusTimeSeriesQuery",
            spec: { query: kind === "stat" ? expr + NOW : expr, seriesNameFormat },
          },
        },
      })),
    },
  };
}

/** A stat shows the last value of a range, so a query without one now must say so. */
const NOW = " or vector(NaN)";
const UNKNOWN = { kind: "Misc", spec: { value: "NaN", result: { value: "no data", color: "#757575" } } };

function statOf(panel: Panel): object {
  const onOff = ["Off", "On"].map((value, i) => ({ kind: "Value", spec: { value: String(i), result: { value } } }));
  const mappings = [UNKNOWN, ...(panel.unit === "bool_on_off" ? onOff : [])];
  return {
    kind: "StatChart",
    spec: { calculation: "last", format: formatOf(panel), thresholds: thresholds(panel), mappings },
  };
}

function timeseriesOf(panel: Panel): object {
  const yAxis = { format: formatOf(panel), ...(panel.isSigned === true ? {} : { min: 0 }) };
  const line = panel.badFrom === undefined ? {} : { thresholds: thresholds(panel) };
  const legend = { position: "right", mode: "list", size: "small" };
  return { kind: "TimeSeriesChart", spec: { legend, yAxis, ...line } };
}

function formatOf({ unit }: Panel): object {
  return { unit: UNITS[unit] ?? unit };
}

function thresholds({ badBelow, badFrom }: Panel): object {
  const steps = [
    ...(badBelow === undefined ? [] : [{ value: badBelow, color: GREEN }]),
    ...(badFrom === undefined ? [] : [{ value: badFrom, color: RED }]),
  ];
  return { mode: "absolute", defaultColor: badBelow === undefined ? GREEN : RED, steps };
}
