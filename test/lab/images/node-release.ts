import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { must } from "../commands";
import { cacheFolder } from "../folders";
import { takeLock } from "../lock";
import { type Progress, silent } from "../progress";

/** The Node.js of the operator's image; deploy/image/Dockerfile and .nvmrc name the same. */
export const NODE_VERSION = "24.21.0";

/** The output of `npm view node-linux-ARCH@VERSION dist.integrity`; the download is checked against it. */
const INTEGRITY: Partial<Record<string, string>> = {
  x64: "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
  arm64: "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
};

const DOWNLOAD_TIMEOUT_MS = 600_000;

/** Path of that Node.js for Linux, a package of the npm registry. Downloaded once, checked, and kept in the cache. Its license is beside `bin`. */
export async function nodeRelease(progress: Progress = silent, arch: string = process.arch): Promise<string> {
  const folder = join(cacheFolder(), `node-${NODE_VERSION}-${arch}`);
  const lock = await takeLock({ path: `${folder}.lock`, timeoutMs: DOWNLOAD_TIMEOUT_MS });
  try {
    if (!existsSync(folder)) await download({ folder, arch, progress });
  } finally {
    lock.release();
  }
  return join(folder, "bin", "node");
}

async function download(wish: { folder: string; arch: string; progress: Progress }): Promise<void> {
  const { folder, arch, progress } = wish;
  const wanted = INTEGRITY[arch];
  if (wanted === undefined) throw new Error(`no checksum of Node.js ${NODE_VERSION} for ${arch}`);
  progress(`downloading Node.js ${NODE_VERSION} from the npm registry`);
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  const spec = `node-linux-${arch}@${NODE_VERSION}`;
  const pack = ["npm", "pack", spec, "--silent", "--pack-destination", unfinished];
  const said = await must(pack, { timeoutMs: DOWNLOAD_TIMEOUT_MS });
  const tarball = join(unfinished, said.trim());
  const found = `sha512-${createHash("sha512").update(readFileSync(tarball)).digest("base64")}`;
  if (found !== wanted) throw new Error(`${spec}: found ${found}, expected ${wanted}`);
  const members = ["package/bin/node", "package/LICENSE"];
  await must(["tar", "--extract", "--strip-components=1", "--file", tarball, "--directory", unfinished, ...members]);
  rmSync(tarball);
  renameSync(unfinished, folder);
}
