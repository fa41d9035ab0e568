import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";

const root = join(__dirname, "..");

/** What goes into the image, as one folder: deploy/image/Dockerfile copies it, and so does the lab. */
export const IMAGE_FOLDER = join(root, "dist", "image");

/**
 * Makes one file of the operator's command line, the module that `pepr build` has made, and every library that they use.
 *
 * @param module path of that module
 * @throws Error when a library is in it that the lock file has for development only
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
    // Names in stack traces.
    keepNames: true,
    // Licences of the libraries, in a file of their own.
    legalComments: "linked",
    // Looked for at run time, by --pretty alone.
    external: ["pino-pretty"],
    metafile: true,
    logLevel: "error",
    plugins: [builtModule(module)],
  });
  const lock = readFileSync(join(root, "package-lock.json"), "utf8");
  const unwanted = developmentPackages(metafile, JSON.parse(lock) as LockFile);
  if (unwanted.length > 0) throw new Error(`in the bundle, and for development only: ${unwanted.join(", ")}`);
  copyFileSync(join(root, "LICENSE"), join(IMAGE_FOLDER, "LICENSE"));
}

/** The part of package-lock.json that is looked at. */
export interface LockFile {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
}

/** Packages that a bundle is made of although the lock file has them for development only, or not at all. */
export function developmentPackages({ inputs }: Pick<Metafile, "inputs">, { packages }: LockFile): string[] {
  const used = Object.keys(inputs).map(path => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
  return [...new Set(used)]
    .filter(path => path !== undefined)
    .filter(path => packages[path]?.dev ?? !(path in packages));
}

/** `src/cli/start.ts` imports pepr.ts; in the image that is what `pepr build` has made of it. */
function builtModule(path: string): Plugin {
  return {
    name: "built-module",
    setup: build => build.onResolve({ filter: /^\.\.\/\.\.\/pepr$/ }, () => ({ path })),
  };
}
