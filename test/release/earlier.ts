import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { must, run } from "../lab/commands";

const root = join(__dirname, "..", "..");
const RELEASES = join("test", "fixtures", "releases");

/** What is needed of an earlier version: the operator, its definitions and its chart. */
const PARTS = [
  "pepr.ts",
  "capabilities",
  "src",
  "crds",
  "deploy",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
];

/** A version of this project that is not checked out. */
export interface Earlier {
  readonly commit: string;
  /** A folder with its sources. */
  readonly folder: string;
}

/**
 * Unpacks an earlier version into a folder: the named one, or the newest release in test/fixtures/releases. Without its libraries.
 *
 * @throws if the history of `repository` does not reach that far: nothing else may stand in for it
 */
export async function unpackEarlier(folder: string, name = "", repository = root): Promise<Earlier> {
  const git = (...args: string[]): Promise<string> => must(["git", "-C", repository, ...args]);
  const known = await run(["git", "-C", repository, "rev-parse", "--is-shallow-repository"]);
  if (known.code !== 0)
    throw new Error(`an earlier version needs the history of this project, and there is none: ${known.stderr.trim()}`);
  const isShallow = known.stdout.trim() === "true";
  const commit = name === "" ? await newestRelease(repository, isShallow) : await commitOf(repository, name);
  if (commit === undefined)
    throw new Error(
      `the history of this clone has no ${name === "" ? "commit of the newest release" : name}${isShallow ? ", because it is shallow: run `git fetch --unshallow --tags`" : ""}`,
    );
  mkdirSync(folder, { recursive: true });
  const archive = join(folder, "earlier.tar");
  await git("archive", `--output=${archive}`, commit, ...PARTS);
  await must(["tar", "-xf", archive, "-C", folder]);
  rmSync(archive);
  return { commit, folder };
}

/** The tag of the newest release or, before there is one, the commit that keeps what it writes. */
async function newestRelease(repository: string, isShallow: boolean): Promise<string | undefined> {
  const [newest] = readdirSync(join(repository, RELEASES)).toSorted((a, b) =>
    b.localeCompare(a, "en", { numeric: true }),
  );
  const tagged = await commitOf(repository, `v${newest ?? ""}`);
  // The oldest commit of a shallow clone seems to have written every file.
  if (tagged !== undefined || newest === undefined || isShallow) return tagged;
  const found = await must(["git", "-C", repository, "log", "-1", "--format=%H", "--", join(RELEASES, newest)]);
  return found.trim() || undefined;
}

async function commitOf(repository: string, name: string): Promise<string | undefined> {
  const { code, stdout } = await run(["git", "-C", repository, "rev-parse", "--verify", "--quiet", `${name}^{commit}`]);
  return code === 0 ? stdout.trim() : undefined;
}
