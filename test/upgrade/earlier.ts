import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { must, run } from "../lab/commands";

const root = join(__dirname, "..", "..");

/** What is needed of an earlier version: the operator, its definitions and its chart. */
const TREE = ["pepr.ts", "capabilities", "src", "crds", "deploy", "package.json", "package-lock.json", "tsconfig.json"];

/** A version of this project that is not checked out. */
export interface Earlier {
  readonly commit: string;
  /** A folder with its sources. */
  readonly folder: string;
}

/**
 * Unpacks an earlier version into a folder: the named one, or the newest release. Before the first release it is the commit that is checked
 * out. Without its libraries.
 *
 * @throws if the history of `repository` does not reach that far: nothing else may stand in for it
 */
export async function unpackEarlier(folder: string, name = "", repository = root): Promise<Earlier> {
  const git = (...args: string[]): Promise<string> => must(["git", "-C", repository, ...args]);
  const [release] = (await git("tag", "--list", "v*", "--sort=-version:refname")).split("\n");
  if (name === "" && release === "" && (await git("rev-parse", "--is-shallow-repository")).trim() === "true")
    throw new Error("this clone is shallow, so its releases are unknown: run `git fetch --unshallow --tags`");
  const wanted = name || release || "HEAD";
  const found = await run(["git", "-C", repository, "rev-parse", "--verify", "--quiet", `${wanted}^{commit}`]);
  if (found.code !== 0) throw new Error(`the history of this clone has no ${wanted}`);
  const commit = found.stdout.trim();
  mkdirSync(folder, { recursive: true });
  const archive = join(folder, "earlier.tar");
  await git("archive", `--output=${archive}`, commit, ...TREE);
  await must(["tar", "-xf", archive, "-C", folder]);
  rmSync(archive);
  return { commit, folder };
}
