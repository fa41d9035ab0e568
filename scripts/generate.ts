// Generates types from crds/, manifests from the chart, and tables in docs/. With --check it writes nothing and fails if a committed file differs.
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { apiTypes, CLUSTER_CRD_FILE, clusterApiTypes, CRD_FILE } from "./api-types";
import { argocdConfig } from "./argocd";
import { choices } from "./choices";
import { chartReadme } from "./chart-readme";
import { clusterCrd } from "./cluster-crd";
import { dashboardFile } from "./dashboard/dashboard";
import { demoPicture } from "./demo-picture";
import { knownKinds } from "./known-kinds";
import { manifests } from "./manifests";
import { metricsPage } from "./metrics-page";
import { persesFile } from "./dashboard/perses";
import { remedyPages } from "./reason-tables";
import { restartLimits } from "./restart-limits";
import { versionsPages } from "./versions-table";

const root = join(__dirname, "..");

interface Output {
  readonly path: string;
  readonly from: string;
  readonly text: () => Promise<string>;
}

/** In this order, since rendering the chart needs its copies of the CRDs, and types their blocks. */
const outputs: readonly Output[] = [
  { path: CLUSTER_CRD_FILE, from: CRD_FILE, text: () => clusterCrd(root) },
  ...[apiTypes(root), clusterApiTypes(root), choices(root)],
  ...[CRD_FILE, CLUSTER_CRD_FILE].map(chartCopy),
  knownKinds(),
  argocdConfig(root),
  ...remedyPages(root),
  restartLimits(),
  ...versionsPages(root),
  chartReadme(root),
  metricsPage(),
  dashboardFile(),
  persesFile(),
  demoPicture(),
  ...manifests(),
];

/** A chart cannot read files outside its folder. */
function chartCopy(from: string): Output {
  const text = (): Promise<string> => Promise.resolve(readFileSync(join(root, from), "utf8"));
  return { path: `deploy/chart/files/${basename(from)}`, from, text };
}

function committed(path: string): string {
  try {
    return readFileSync(join(root, path), "utf8");
  } catch {
    // A missing file counts as different.
    return "";
  }
}

async function main(): Promise<void> {
  for (const { path, from, text } of outputs) {
    const wanted = await text();
    if (!process.argv.includes("--check")) {
      writeFileSync(join(root, path), wanted);
    } else if (committed(path) !== wanted) {
      console.error(`${path} is not up to date with ${from}: run "npm run generate" and commit the result.`);
      process.exitCode = 1;
    }
  }
}

void main();
