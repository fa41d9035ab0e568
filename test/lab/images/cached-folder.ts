import { createHash } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "../folders";
import { takeLock } from "../lock";

/** Longest time that a download may take. */
export const DOWNLOAD_TIMEOUT_MS = 600_000;

/** Returns a folder of the cache that is made once for these inputs: by a script in an unfinished folder, by one process at a time. */
export async function cachedFolder(
  name: string,
  inputs: readonly unknown[],
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify([...inputs, process.arch]));
  const folder = join(cacheFolder(), `${name}-${hash.digest("hex").slice(0, 12)}`);
  const lock = await takeLock({ path: `${folder}.lock`, timeoutMs: DOWNLOAD_TIMEOUT_MS });
  try {
    if (!existsSync(folder)) {
      const unfinished = `${folder}.unfinished`;
      rmSync(unfinished, { recursive: true, force: true });
      mkdirSync(unfinished, { recursive: true });
      await make(unfinished);
      renameSync(unfinished, folder);
    }
  } finally {
    lock.release();
  }
  return folder;
}
