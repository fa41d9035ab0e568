import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { CLUSTER_CRD_FILE, CRD_FILE } from "../../scripts/api-types";
import { ClusterReason, EngineReason } from "../../src/api/conditions";
import { createRemedies } from "../../src/remedies/registry";

const root = join(__dirname, "../..");
/** A terminal's usual number of columns. */
const TERMINAL = 80;
/** Length of a namespace or a name that is not unusually long. */
const USUAL_NAME = 14;
/** kubectl separates columns by this many spaces (GetNewTabWriter of k8s.io/cli-runtime). */
const PADDING = 3;
/**
 * Texts of columns other than reasons: an age of less than 100 days, five digits, and the status that comes with the longest
 * reason.
 */
const LONGEST = { date: "99d".length, integer: 5, status: "False".length } as const;

interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "date";
  readonly jsonPath: string;
  readonly priority?: number;
}

function columnsOf(file: string): Column[] {
  const { spec } = parse(readFileSync(join(root, file), "utf8")) as {
    spec: { versions: { additionalPrinterColumns: Column[] }[] };
  };
  return spec.versions[0]!.additionalPrinterColumns;
}

const ofRemedies = createRemedies().flatMap(remedy => Object.keys(remedy.reasons));
const longest = (texts: readonly string[]): number => Math.max(...texts.map(text => text.length));

/** Longest text of a column without priority. */
function widest({ type, jsonPath }: Column, reasons: readonly string[]): number {
  if (jsonPath.endsWith(".reason")) return longest(reasons);
  return type === "string" && jsonPath.endsWith(".status") ? LONGEST.status : LONGEST[type as "date" | "integer"];
}

/** Width of a line of `kubectl get`, with the longest text in each column. */
function width(file: string, names: readonly string[], reasons: readonly string[]): number {
  const usual = columnsOf(file).filter(({ priority = 0 }) => priority === 0);
  const cells = [
    ...names.map(() => USUAL_NAME),
    ...usual.map(column => Math.max(column.name.length, widest(column, reasons))),
  ];
  return cells.reduce((sum, cell) => sum + cell + PADDING, -PADDING);
}

describe("kubectl get", () => {
  const engine = Object.keys(EngineReason);

  it.each([
    ["cres -A", CRD_FILE, ["NAMESPACE", "NAME"], [...ofRemedies, ...engine]],
    ["ccres", CLUSTER_CRD_FILE, ["NAME"], [...Object.keys(ClusterReason), ...engine]],
  ])("%s fits a terminal, with the longest reasons", (_, file, names, reasons) => {
    const found = width(file, names, reasons);
    expect(found).toBeLessThanOrEqual(TERMINAL);
  });

  it("prints the columns that the README shows", () => {
    const readme = readFileSync(join(root, "README.md"), "utf8");
    const [, header = "", row = ""] = /^(NAMESPACE +NAME .*)\n(.+)$/m.exec(readme) ?? [];
    const names = columnsOf(CRD_FILE).filter(({ priority = 0 }) => priority === 0);
    expect(header.split(/ +/)).toEqual(["NAMESPACE", "NAME", ...names.map(({ name }) => name.toUpperCase())]);
    expect(row.trim().split(/ {3,}/)).toHaveLength(header.split(/ +/).length);
  });
});
