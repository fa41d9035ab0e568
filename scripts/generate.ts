// Generates types from crds/, manifests from the chart, and the tables of reasons in docs/remedies. With --check it writes nothing and fails if a committed file differs.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiTypes, CRD_FILE } from "./api-types";
import { argocdConfig } from "./argocd";
import { manifests } from "./manifests";
import { remedyPages } from "./reason-tables";

const root = join(__dirname, "..");

/** In this order, since rendering the chart needs its copy of the CRD. */
const outputs: readonly { path: string; from: string; text: () => Promise<string> }[] = [
  { path: "src/api/generated/controller-resilience.ts", from: CRD_FILE, text: () => apiTypes(root) },
  {
    // A chart cannot read files outside its folder.
    path: "deploy/chart/files/controllerresilience.yaml",
    from: CRD_FILE,
    text: () => Promise.resolve(readFileSync(join(root, CRD_FILE), "utf8")),
  },
  argocdConfig(root),
  ...remedyPages(root),
  ...manifests(),
];

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
