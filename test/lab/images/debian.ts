import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { must, run } from "../commands";
import type { Progress } from "../progress";
import { cachedFolder, DOWNLOAD_TIMEOUT_MS } from "./cached-folder";
import { type Entry, folderEntries } from "./image";

/** Packages that a container does not need: the package system itself, dialogs, Perl, and time zones. */
const NOT_IN_IMAGES =
  /^(cdebconf|debconf|dpkg|gcc-\d+-base|install-info|lib(debian-installer|newt|perl|slang|textwrap|db5).*|mailcap|media-types|mime-support|openssl|perl.*|readline-common|tar|tzdata)$/;
const NOT_FOR_READING = /^\/usr\/share\/(doc|man|locale|lintian|info|bug|menu|pixmaps|applications)$/;

export interface DebianFiles {
  packages: readonly string[];
  /** Shell commands that replace the package scripts, run inside the unpacked files. */
  finish?: string;
  progress: Progress;
}

/**
 * The files of Debian packages and their dependencies, unpacked but not installed on this machine.
 * Kept in the cache.
 */
export async function debianEntries({ packages, finish = "", progress }: DebianFiles): Promise<Entry[]> {
  const root = await cachedFolder("debian", [packages, finish], folder =>
    unpack(folder, { packages, finish, progress }),
  );
  return folderEntries(root, "", path => !NOT_FOR_READING.test(path));
}

/** Returns the package names in the output of `apt-cache depends --recurse`, without those that an image does not need. */
export function parseClosure(output: string): string[] {
  const names = output.split("\n").filter(line => /^[a-z0-9]/.test(line));
  return [...new Set(names.map(name => name.trim()))].filter(name => !NOT_IN_IMAGES.test(name)).sort();
}

async function unpack(root: string, { packages, finish = "", progress }: DebianFiles): Promise<void> {
  progress(`downloading ${packages.join(", ")} and their dependencies from Debian`);
  const downloads = join(root, "downloads");
  mkdirSync(downloads, { recursive: true });
  const names = await closure(packages);
  const script = 'cd "$1" && shift && exec apt-get download --quiet=2 "$@"';
  await must(["sh", "-c", script, "sh", downloads, ...names], { timeoutMs: DOWNLOAD_TIMEOUT_MS });
  for (const file of readdirSync(downloads)) await must(["dpkg-deb", "--extract", join(downloads, file), root]);
  rmSync(downloads, { recursive: true });
  if (finish !== "")
    await must(["chroot", root, "/bin/busybox", "sh", "-ec", finish], { timeoutMs: DOWNLOAD_TIMEOUT_MS });
}

async function closure(packages: readonly string[]): Promise<string[]> {
  const without = ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"].map(kind => `--no-${kind}`);
  const argv = ["apt-cache", "depends", "--recurse", ...without, ...packages];
  const first = await run(argv);
  if (first.code === 0) return parseClosure(first.stdout);
  if (first.code === 127) throw new Error("images with Python are built from Debian packages, which needs apt");
  // The list of packages may be empty, as in a fresh container.
  await must(["apt-get", "update"], { timeoutMs: DOWNLOAD_TIMEOUT_MS });
  return parseClosure(await must(argv));
}
