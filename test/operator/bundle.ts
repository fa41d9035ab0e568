import { join } from "node:path";
import { build } from "esbuild";
import { ENTRY } from "./process";

const root = join(__dirname, "..", "..");

/** Makes one file of the operator in that folder, as in its image, and returns its path. It starts in a fraction of the time that the sources take, which are compiled at each start. */
export async function bundleEntry(folder: string): Promise<string> {
  const bundle = join(folder, "operator.cjs");
  await build({
    entryPoints: [join(root, ENTRY)],
    outfile: bundle,
    bundle: true,
    platform: "node",
    target: "node20",
    nodePaths: [join(root, "node_modules")],
    logLevel: "error",
  });
  return bundle;
}
