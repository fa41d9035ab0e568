import { format } from "prettier";

/** What was seen on one version of Kubernetes. */
export interface VersionResult {
  /** "passed", "failed" or "not run", for the remedies, the integration tests and the demo. */
  readonly remedies: Outcome;
  readonly integration: Outcome;
  readonly demo: Outcome;
}

export type Outcome = "passed" | "failed" | "not run";

/** By complete version, such as v1.36.3, the oldest first. */
export type VersionResults = Readonly<Record<string, VersionResult>>;

/** Where the results are kept, from the root of the project. */
export const RESULTS_FILE = "test/versions/results.json";

interface Row {
  readonly what: string;
  readonly of: (result: VersionResult) => string;
}

const outcome = (of: Outcome): string => ({ passed: "yes", failed: "FAILED", "not run": "not run" })[of];

/** The last column of each row is what the newest version does. */
const ROWS: readonly Row[] = [
  {
    what: "`tokenRestart`, `bindingRenewal`, `flowIsolation`, `stallDetection` (`Lease`), `tokenLifetime`",
    of: ({ remedies }) => outcome(remedies),
  },
  {
    what: "schemas, admission policies, chart",
    of: ({ integration }) => outcome(integration),
  },
  { what: "the demo on a node", of: ({ demo }) => outcome(demo) },
];

/** The table of what works on which version, in Markdown. */
export function versionsTable(results: VersionResults): Promise<string> {
  const versions = Object.keys(results);
  const rows = ROWS.map(({ what, of }) => [what, ...Object.values(results).map(of)]);
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const head = ["", ...versions.map(version => version.replace(/^v/, ""))];
  return format([line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n"), { parser: "markdown" });
}

/** The minor versions on which everything passed that ran, as a sentence names them. */
export function minorsIn(results: VersionResults): string {
  const good = Object.entries(results).filter(([, { remedies, integration, demo }]) =>
    [remedies, integration, demo].every(each => each === "passed"),
  );
  const minors = good.map(([version]) => version.replace(/^v(\d+\.\d+)\..*$/, "$1"));
  return [minors.slice(0, -1).join(", "), ...minors.slice(-1)].filter(Boolean).join(" and ");
}

/** The results with new ones, in the order of versions. */
export function withResults(kept: VersionResults, found: VersionResults): VersionResults {
  const all = Object.entries({ ...kept, ...found });
  return Object.fromEntries(all.toSorted(([a], [b]) => a.localeCompare(b, "en", { numeric: true })));
}
