import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The fields of a panel that tests use. */
export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly legendFormat: string }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
}

export const dashboard = JSON.parse(
  readFileSync(join(__dirname, "../../deploy/chart/files/dashboard.json"), "utf8"),
) as Dashboard;

/** Its panels without the rows. */
export const panels = dashboard.panels.filter(({ type }) => type !== "row");

/** A query with the variables filled in, as Grafana sends it. */
export function filledIn(query: string): string {
  return query.replace(/\$__rate_interval/g, "2m").replace(/\$(job|namespace)/g, ".*");
}
