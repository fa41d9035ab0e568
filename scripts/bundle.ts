import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";

const root = join(__dirname, "..");

/** Contents of the image: deploy/image/Dockerfile and the lab copy this folder. */
export const IMAGE_FOLDER = join(root, "dist", "image");

/**
 * Bundles the operator's command line, the module from `pepr build` and all their libraries into one file.
 *
 * @param module path of the module
 * @throws Error if the bundle contains a development dependency
 */
export async function bundleOperator(module: string): Promise<void> {
  mkdirSync(IMAGE_FOLDER, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ["src/cli/start.ts"],
    outfile: join(IMAGE_FOLDER, "operator.js"),
    bundle: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    minify: true,
    // For stack traces.
    keepNames: true,
    // Writes the licenses of the libraries to a separate file.
    legalComments: "linked",
    // Loaded at run time, only with --pretty.
    external: ["pino-pretty"],
    metafile: true,
    logLevel: "error",
    plugins: [builtModule(module)],
  });
  refuseDevelopmentPackages(metafile);
  copyFileSync(join(root, "LICENSE"), join(IMAGE_FOLDER, "LICENSE"));
}

/** @throws Error if a bundle contains a development dependency */
export function refuseDevelopmentPackages(metafile: Metafile): void {
  const lock = readFileSync(join(root, "package-lock.json"), "utf8");
  const unwanted = developmentPackages(metafile, JSON.parse(lock) as LockFile);
  if (unwanted.length === 0) return;
  const names = unwanted.slice(0, 5).join(", ");
  throw new Error(
    `expected only packages that package-lock.json lists for production, got ${unwanted.length} others: ${names}`,
  );
}

export interface LockFile {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
}

/** Returns the bundled packages that the lock file lists as development dependencies, or not at all. */
export function developmentPackages({ inputs }: Pick<Metafile, "inputs">, { packages }: LockFile): string[] {
  const used = Object.keys(inputs).map(path => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
  return [...new Set(used)]
    .filter(path => path !== undefined)
    .filter(path => packages[path]?.dev ?? !(path in packages));
}

/** `src/cli/start.ts` imports pepr.ts; the bundle contains the built module instead. */
function builtModule(path: string): Plugin {
  return {
    name: "built-module",
    setup: build => build.onResolve({ filter: /^\.\.\/\.\.\/pepr$/ }, () => ({ path })),
  };
}
