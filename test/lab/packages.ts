import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { run } from "./commands";
import { takeLock } from "./lock";
import { cacheFolder } from "./folders";
import type { Progress } from "./progress";

/** A prerequisite of a node that is not built: found by its files, however they were installed. */
export interface Requirement {
  /** The Debian package that contains it. */
  package: string;
  /** Programs on PATH, or absolute paths; all of them must exist. */
  files: readonly string[];
}

/** Debian installs the plugins here; the archive of the CNI project is usually unpacked there. */
const CNI_FOLDERS = ["/usr/lib/cni", "/opt/cni/bin"];

export const NODE_REQUIREMENTS: readonly Requirement[] = [
  { package: "containerd", files: ["containerd", "containerd-shim-runc-v2", "ctr"] },
  { package: "runc", files: ["runc"] },
  { package: "containernetworking-plugins", files: ["bridge", "host-local", "loopback"] },
  { package: "iproute2", files: ["ip"] },
  { package: "busybox-static", files: ["busybox"] },
  { package: "util-linux", files: ["nsenter", "unshare", "setpriv", "flock"] },
];

const INSTALL_TIMEOUT_MS = 600_000;
/** Never removes other packages, such as Docker's own containerd. */
const INSTALL = ["apt-get", "install", "--yes", "--no-install-recommends", "--no-remove"];

function missingPackages(requirements: readonly Requirement[], found: (file: string) => boolean): string[] {
  return requirements.filter(({ files }) => !files.every(found)).map(requirement => requirement.package);
}

/** The folder with the CNI plugins, or undefined if there is none. */
export function cniFolder(): string | undefined {
  return CNI_FOLDERS.find(folder => existsSync(join(folder, "bridge")));
}

/** True if a program is on PATH or, for a CNI plugin, in a folder of those. */
export function isThere(file: string): boolean {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin", ...CNI_FOLDERS];
  return folders.some(folder => existsSync(join(folder, file)));
}

/** Whether this is Debian or a derivative, such as Ubuntu. */
function isDebian(osRelease: string): boolean {
  return /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(osRelease);
}

/**
 * Ensures that the packages of a node are installed: installs them as root on Debian or Ubuntu, otherwise throws
 * with the necessary command. Services of these packages are neither used nor changed.
 */
export async function ensurePackages(requirements: readonly Requirement[], progress: Progress): Promise<void> {
  if (missingPackages(requirements, isThere).length === 0) return;
  const lock = await takeLock({ path: join(cacheFolder(), "packages.lock"), timeoutMs: INSTALL_TIMEOUT_MS });
  try {
    await install(missingPackages(requirements, isThere), progress);
  } finally {
    lock.release();
  }
  const still = missingPackages(requirements, isThere);
  if (still.length > 0) throw new Error(`installed, but their programs are not on PATH: ${still.join(", ")}`);
}

async function install(packages: string[], progress: Progress): Promise<void> {
  if (packages.length === 0) return;
  const osRelease = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "";
  if (!isDebian(osRelease) || process.getuid?.() !== 0) {
    throw new Error(
      `missing: ${packages.join(", ")}. On Debian and Ubuntu: sudo apt-get install ${packages.join(" ")}`,
    );
  }
  progress(`installing the Debian packages ${packages.join(", ")}`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const options = { env, timeoutMs: INSTALL_TIMEOUT_MS };
  const first = await run([...INSTALL, ...packages], options);
  if (first.code === 0) return;
  // The list of packages may be old or, in a container image, empty.
  progress("refreshing the list of Debian packages");
  await run(["apt-get", "update"], options);
  const second = await run([...INSTALL, ...packages], options);
  if (second.code === 0) return;
  throw new Error(`\`apt-get install ${packages.join(" ")}\` failed: ${second.stderr.trim().slice(-2000)}`);
}
