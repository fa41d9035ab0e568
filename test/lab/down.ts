import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { endCgroups } from "./cgroups";
import { must } from "./commands";
import { foldersOf, labsFolder } from "./folders";
import { isOrphan } from "./keeper";
import { takeLock } from "./lock";
import { killAll } from "./processes";
import { type Progress, silent } from "./progress";
import { removeLink } from "./sandbox";
import { labNames, readState } from "./state";

/** A running `up` ends within this time, or was stopped by the `down` that waits for it. */
const LOCK_TIMEOUT_MS = 60_000;

/** Removes every lab whose process has ended. */
export async function bringDownOrphans(progress: Progress): Promise<void> {
  const isOrphaned = (name: string): boolean => {
    const lab = readState(name);
    return lab !== undefined && isOrphan(lab);
  };
  const ends = labNames()
    .filter(isOrphaned)
    .map(name => bringDown(name, progress, () => isOrphaned(name)));
  const failed = (await Promise.allSettled(ends)).find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}

/** Removes a lab, complete or partial; returns false if there was none, or if it is not wanted once it is locked. */
export async function bringDown(name: string, progress = silent, isWanted = (): boolean => true): Promise<boolean> {
  const { folder, lock: path } = foldersOf(name);
  if (!existsSync(folder) && !existsSync(path)) return false;
  const lock = await takeLock({
    path,
    timeoutMs: LOCK_TIMEOUT_MS,
    onWait: () => progress(`another process is changing the lab "${name}"; waiting for it`),
  });
  try {
    // Once the folder is gone, what remains is the lock.
    if (existsSync(folder) && !isWanted()) return false;
    await takeDown(name);
    rmSync(path, { force: true });
    removeEmptyRoots();
  } finally {
    lock.release();
  }
  return true;
}

/** Stops and removes everything in the lab's state; the caller must hold its lock. */
export async function takeDown(name: string): Promise<void> {
  const lab = readState(name);
  const { folder } = foldersOf(name);
  if (lab !== undefined) {
    if (lab.kind === "node") await endCgroups(lab);
    await killAll(lab);
    if (lab.kind === "node") await removeLink(lab);
  }
  await unmountBelow(folder);
  rmSync(folder, { recursive: true, force: true });
}

/** The mount points at or below a folder in the text of /proc/self/mountinfo, the innermost first. */
export function mountsBelow(mountinfo: string, folder: string): string[] {
  const points = mountinfo.split("\n").map(line => unescapeMount(line.split(" ")[4] ?? ""));
  return points.filter(point => point === folder || point.startsWith(`${folder}/`)).reverse();
}

/**
 * A lab's mounts are in its own mount namespace and end with it. Should one exist in this namespace nevertheless,
 * it must be unmounted before the folder is deleted: deleting must never reach through a mount.
 */
async function unmountBelow(folder: string): Promise<void> {
  const mountinfo = "/proc/self/mountinfo";
  if (!existsSync(mountinfo)) return;
  for (const point of mountsBelow(readFileSync(mountinfo, "utf8"), folder)) await must(["umount", "--lazy", point]);
}

/** The kernel escapes space, tab, newline and backslash in octal. */
function unescapeMount(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** Without labs, no folder of labs. */
function removeEmptyRoots(): void {
  const labs = labsFolder();
  if (labNames().length > 0) return;
  rmSync(join(labs, ".allocation"), { force: true });
  for (const folder of [labs, join(labs, "..")]) {
    if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
  }
}
