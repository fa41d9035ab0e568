import { join, resolve } from "node:path";
import { build, type Plugin } from "esbuild";
import { ENTRY } from "./process";

const root = join(__dirname, "..", "..");

/** Bundles the operator into one file, as in its image, and returns its path. It starts faster than the sources, which are compiled each time. */
export function bundleEntry(folder: string, plugins: readonly Plugin[] = []): Promise<string> {
  return bundleProgram(ENTRY, join(folder, "operator.cjs"), plugins);
}

/** Bundles a program of this project, or one at an absolute path, into one file, and returns its path. */
export async function bundleProgram(entry: string, outfile: string, plugins: readonly Plugin[] = []): Promise<string> {
  await build({
    entryPoints: [resolve(root, entry)],
    outfile,
    bundle: true,
    platform: "node",
    target: "node20",
    nodePaths: [join(root, "node_modules")],
    logLevel: "error",
    plugins: [...plugins],
  });
  return outfile;
}
