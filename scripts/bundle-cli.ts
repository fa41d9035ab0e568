import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import cfg from "../package.json";
import { refuseDevelopmentPackages } from "./bundle";
import { notices } from "./release/notices";
import { bundledPackages, filesInOutput } from "./release/packages";

const root = join(__dirname, "..");

/** The npm package `kubectl-resilience`. */
export const CLI_FOLDER = join(root, "dist", "kubectl-resilience");

/** The program in {@link CLI_FOLDER}. */
export const PROGRAM = "kubectl-resilience.js";

/** The licenses of the libraries in {@link PROGRAM}. */
export const NOTICES = "THIRD-PARTY-NOTICES.txt";

/**
 * Writes the npm package of the kubectl plugin: one file with all libraries, so that `npx` downloads nothing else. It is a package of its own
 * because that of this repository is the operator: `npx` would install Pepr and its 300 dependencies for it.
 */
export async function bundleCli(folder = CLI_FOLDER): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ["src/cli/kubectl-resilience.ts"],
    outfile: join(folder, PROGRAM),
    bundle: true,
    platform: "node",
    target: "node20.19",
    format: "cjs",
    minify: true,
    keepNames: true,
    // NOTICES has the licenses.
    legalComments: "none",
    banner: { js: "#!/usr/bin/env node" },
    // Else ws and node-fetch look for optional packages, and a single executable warns of that.
    // Node's own is deprecated: from Node 21 on, each command would print that.
    alias: { punycode: join(root, "node_modules", "punycode", "punycode.js") },
    define: { "process.env.WS_NO_BUFFER_UTIL": '"1"', "process.env.WS_NO_UTF_8_VALIDATE": '"1"' },
    metafile: true,
    logLevel: "error",
    plugins: [definitions(), withoutEncoding()],
  });
  refuseDevelopmentPackages(metafile);
  chmodSync(join(folder, PROGRAM), 0o755);
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  writeFileSync(join(folder, NOTICES), notices(PROGRAM, bundledPackages(root, filesInOutput(metafile))));
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
}

function manifest(): object {
  return {
    name: "kubectl-resilience",
    version: cfg.version,
    description: "kubectl plugin: finds Kubernetes controllers that fail silently.",
    license: cfg.license,
    engines: cfg.engines,
    bin: { "kubectl-resilience": PROGRAM },
    files: [PROGRAM, NOTICES],
  };
}

/** src/cli/crd-text.ts reads crds/; the bundle contains their text. */
function definitions(): Plugin {
  const names = ["controllerresilience", "clustercontrollerresilience"];
  const texts = names.map(name => [name, readFileSync(join(root, "crds", `${name}.yaml`), "utf8")]);
  return {
    name: "definitions",
    setup: build =>
      build.onLoad({ filter: /src\/cli\/crd-text\.ts$/ }, () => ({
        contents: `const texts = ${JSON.stringify(Object.fromEntries(texts))}; export const crdText = name => texts[name];`,
      })),
  };
}

/** node-fetch needs this optional package only to decode pages of the web. */
function withoutEncoding(): Plugin {
  return {
    name: "without-encoding",
    setup: build => {
      build.onResolve({ filter: /^encoding$/ }, ({ path }) => ({ path, namespace: "none" }));
      build.onLoad({ filter: /.*/, namespace: "none" }, () => ({ contents: "module.exports = {};" }));
    },
  };
}
