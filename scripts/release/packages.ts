import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile } from "esbuild";

/** An npm package of which a bundle contains code. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX identifier, as package.json has it. */
  readonly license: string;
  readonly author: string;
  /** Texts of the license and notice files, in the order of their names; empty if the package has none. */
  readonly texts: readonly string[];
}

/** Licenses that an Apache-2.0 work may contain. */
export const ALLOWED_LICENSES = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unlicense"];

const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;
const LICENSE_FILE = /^(un)?licen[cs]e|^notice|^copying/i;

/** Returns the files of which the output contains code, instead of all that esbuild has read. */
export function filesInOutput({ outputs }: Pick<Metafile, "outputs">): string[] {
  return Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  );
}

/**
 * Returns the sources of a file that is itself a bundle, relative to `root`. `pepr build` bundles some packages into the module; the second
 * bundle takes the module for one file.
 */
export function filesOfSourceMap(root: string, path: string): string[] {
  const { sources } = JSON.parse(readFileSync(join(root, `${path}.map`), "utf8")) as { sources: string[] };
  return sources.map(source => join(path, "..", source));
}

/** Returns the folders of the packages that these files belong to. */
export function packageFolders(files: readonly string[]): string[] {
  return [...new Set(files.flatMap(path => PACKAGE.exec(path)?.[0] ?? []))].sort();
}

/**
 * Returns each package once, in the order of name and version.
 *
 * @throws Error if the license of a package is not allowed
 */
export function bundledPackages(root: string, files: readonly string[]): BundledPackage[] {
  const found = new Map(
    packageFolders(files)
      .map(folder => read(join(root, folder)))
      .map(entry => [key(entry), entry]),
  );
  const packages = [...found.values()].sort((a, b) => (key(a) < key(b) ? -1 : 1));
  const refused = packages.filter(({ license }) => !ALLOWED_LICENSES.includes(license));
  if (refused.length === 0) return packages;
  const names = refused.map(entry => `${key(entry)} (${entry.license})`).join(", ");
  throw new Error(`expected packages with one of the licenses ${ALLOWED_LICENSES.join(", ")}, got ${names}`);
}

/** The name and version, as npm writes them. */
export function key({ name, version }: Pick<BundledPackage, "name" | "version">): string {
  return `${name}@${version}`;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly author?: string | { readonly name?: string };
}

function read(folder: string): BundledPackage {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const { name, version, license = "none", author = "" } = manifest;
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    file => file.isFile() && LICENSE_FILE.test(file.name),
  );
  const texts = files.map(file => readFileSync(join(folder, file.name), "utf8").trim());
  return { name, version, license, author: typeof author === "string" ? author : (author.name ?? ""), texts };
}
