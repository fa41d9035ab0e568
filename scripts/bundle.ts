import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";
import cfg from "../package.json";
import { notices } from "./release/notices";
import { bundledPackages, filesInOutput, filesOfSourceMap, packageFolders } from "./release/packages";
import { sbom } from "./release/sbom";

const root = join(__dirname, "..");

/** Contents of the image: deploy/image/Dockerfile and the lab copy this folder. */
export const IMAGE_FOLDER = join(root, "dist", "image");

/**
 * Bundles the operator's command line, the module from `pepr build` and all their libraries into one file.
 *
 * @param module path of the module
 * @throws Error if the bundle contains a development dependency, or a package whose license is not allowed
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
    // Pepr's logger loads it at run time where PEPR_PRETTY_LOGS is set.
    external: ["pino-pretty"],
    metafile: true,
    logLevel: "error",
    plugins: [builtModule(module), withoutApiClients(), withoutWebServer()],
  });
  refuseDevelopmentPackages(metafile);
  copyFileSync(join(root, "LICENSE"), join(IMAGE_FOLDER, "LICENSE"));
  writeInventory([...filesInOutput(metafile), ...filesOfSourceMap(root, relative(root, module))]);
}

/** Writes the bill of materials and the notices of the packages that these files belong to. */
function writeInventory(files: readonly string[]): void {
  refuseUnlessProduction(packageFolders(files));
  const packages = bundledPackages(root, files);
  const dockerfile = readFileSync(join(root, "deploy", "image", "Dockerfile"), "utf8");
  const baseImage = [...dockerfile.matchAll(/^FROM (\S+)$/gm)].at(-1)?.[1] ?? "";
  const nodeVersion = /^ARG NODE_VERSION=(\S+)$/m.exec(dockerfile)?.[1] ?? "";
  const bill = sbom({ name: cfg.name, version: cfg.version, nodeVersion, baseImage, packages });
  writeFileSync(join(IMAGE_FOLDER, "sbom.cdx.json"), bill);
  writeFileSync(join(IMAGE_FOLDER, "THIRD-PARTY-NOTICES.txt"), notices("operator.js", packages));
}

/** @throws Error if a bundle contains a development dependency */
export function refuseDevelopmentPackages({ inputs }: Pick<Metafile, "inputs">): void {
  refuseUnlessProduction(packageFolders(Object.keys(inputs)));
}

function refuseUnlessProduction(folders: readonly string[]): void {
  const lock = readFileSync(join(root, "package-lock.json"), "utf8");
  const unwanted = developmentPackages(folders, JSON.parse(lock) as LockFile);
  if (unwanted.length === 0) return;
  const names = unwanted.slice(0, 5).join(", ");
  throw new Error(
    `expected only packages that package-lock.json lists for production, got ${unwanted.length} others: ${names}`,
  );
}

export interface LockFile {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
}

/** Returns the package folders that the lock file lists as development dependencies, or not at all. */
export function developmentPackages(folders: readonly string[], { packages }: LockFile): string[] {
  return folders.filter(path => packages[path]?.dev ?? !(path in packages));
}

/** `src/cli/start.ts` imports pepr.ts; the bundle contains the built module instead. */
function builtModule(path: string): Plugin {
  return {
    name: "built-module",
    setup: build => build.onResolve({ filter: /^\.\.\/\.\.\/pepr$/ }, () => ({ path })),
  };
}

/**
 * Leaves out the generated API clients of `@kubernetes/client-node`, of which nothing calls one (docs/adr/0007). The classes stay, since its own
 * modules extend them; to make one fails.
 */
function withoutApiClients(): Plugin {
  const files = /@kubernetes\/client-node\/dist\/gen\/(apis\/[A-Z]\w*Api|types\/Ob\w+API)\.js$/;
  const empty = (name: string): string =>
    `export class ${name} { constructor() { throw new TypeError("${name} is not in this bundle"); } }`;
  return {
    name: "without-api-clients",
    setup: build =>
      build.onLoad({ filter: files }, ({ path }) => {
        const classes = [...readFileSync(path, "utf8").matchAll(/^export class (\w+)/gm)].map(([, name = ""]) => name);
        return { contents: classes.map(empty).join("\n") };
      }),
  };
}

/**
 * Leaves out express, 1.3 MB that takes 8 MiB of memory: Pepr's server is never started (pepr.ts). Pepr registers its middleware and routes
 * with an object that ignores them, and that no server accepts.
 */
function withoutWebServer(): Plugin {
  const contents = `const ignore = () => undefined;
    module.exports = Object.assign(() => ({ use: ignore, get: ignore, post: ignore }), { json: ignore });`;
  return {
    name: "without-web-server",
    setup: build => {
      build.onResolve({ filter: /^express$/ }, () => ({ path: "express", namespace: "left-out" }));
      build.onLoad({ filter: /.*/, namespace: "left-out" }, () => ({ contents }));
    },
  };
}
