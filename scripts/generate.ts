// Makes what is made from something else: types from crds/, manifests from the chart. With --check it writes nothing and fails when what is
// committed differs.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { apiTypes, CRD_FILE } from "./api-types";
import { argocdConfig } from "./argocd";
import { manifests } from "./manifests";

const root = join(__dirname, "..");

/** In this order: a chart without its CRD can't be rendered. */
const outputs: readonly { path: string; from: string; text: () => Promise<string> }[] = [
  { path: "src/api/generated/controller-resilience.ts", from: CRD_FILE, text: () => apiTypes(root) },
  {
    // A chart can't reach beyond its own folder.
    path: "deploy/chart/files/controllerresilience.yaml",
    from: CRD_FILE,
    text: () => Promise.resolve(readFileSync(join(root, CRD_FILE), "utf8")),
  },
  argocdConfig(root),
  ...manifests(),
];

function committed(path: string): string {
  try {
    return readFileSync(join(root, path), "utf8");
  } catch {
    // Missing counts as different.
    return "";
  }
}

async function main(): Promise<void> {
  for (const { path, from, text } of outputs) {
    const wanted = await text();
    if (!process.argv.includes("--check")) {
      writeFileSync(join(root, path), wanted);
    } else if (committed(path) !== wanted) {
      console.error(`${path} differs from what ${from} gives: run "npm run generate" and commit the result.`);
      process.exitCode = 1;
    }
  }
}

void main();
