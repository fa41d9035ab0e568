import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { recordOfPid, signal } from "./processes";
import type { LabState } from "./state";

/** A mounted cgroup hierarchy: one for all controllers (version 2), or one of several (version 1). */
interface Hierarchy {
  mountPoint: string;
  version: 1 | 2;
  /** The controllers of a hierarchy of version 1. */
  controllers: string[];
}

const END_TIMEOUT_MS = 60_000;
const POLL_MS = 20;
/** The first mounted hierarchy of these holds the lab's own processes; none of them limits anything by itself. */
const OWN_HIERARCHY = ["pids", "freezer", "name=systemd"];
const V1_CONTROLLERS =
  /^(blkio|cpu|cpuacct|cpuset|devices|freezer|hugetlb|memory|net_cls|net_prio|perf_event|pids|rdma|misc|name=.+)$/;

/** The hierarchies in the text of /proc/self/mountinfo, each once. */
export function parseHierarchies(mountinfo: string): Hierarchy[] {
  const all = mountinfo.split("\n").flatMap(line => parseMount(line) ?? []);
  return [...new Map(all.map(hierarchy => [hierarchy.mountPoint, hierarchy])).values()];
}

function parseMount(line: string): Hierarchy | undefined {
  const match = /^\d+ \d+ \S+ \S+ (?<mountPoint>\S+) .* - (?<type>cgroup2?) \S+ (?<options>\S+)$/.exec(line);
  const { mountPoint = "", type, options = "" } = match?.groups ?? {};
  if (type === undefined) return undefined;
  if (type === "cgroup2") return { mountPoint, version: 2, controllers: [] };
  return { mountPoint, version: 1, controllers: options.split(",").filter(option => V1_CONTROLLERS.test(option)) };
}

/**
 * Makes the lab's cgroup in every hierarchy where the kubelet and runc look for it, and returns the
 * cgroup.procs file that the lab's own processes join.
 */
export function makeCgroups(lab: LabState): string {
  for (const hierarchy of usedHierarchies()) {
    const folder = join(hierarchy.mountPoint, lab.cgroup);
    mkdirSync(folder, { recursive: true });
    // A new cpuset is empty, and no process can join it before it has processors and memory.
    if (hierarchy.controllers.includes("cpuset")) inheritCpuset(hierarchy.mountPoint, folder);
  }
  const own = join(ownHierarchy().mountPoint, lab.cgroup, "system");
  mkdirSync(own, { recursive: true });
  return ownProcs(lab);
}

/** The cgroup.procs file that the lab's own processes join, beside those of its pods. */
export function ownProcs(lab: LabState): string {
  return join(ownHierarchy().mountPoint, lab.cgroup, "system", "cgroup.procs");
}

/** Kills all processes in the lab's cgroups, including pods and shims, and removes the cgroups; runc creates some too. */
export async function endCgroups(lab: LabState): Promise<void> {
  const roots = hierarchies().map(({ mountPoint }) => join(mountPoint, lab.cgroup));
  const deadline = Date.now() + END_TIMEOUT_MS;
  while (roots.some(root => existsSync(root))) {
    if (Date.now() > deadline) throw new Error(`cgroups can't be removed: ${roots.filter(existsSync).join(", ")}`);
    const folders = roots.flatMap(foldersBelow);
    for (const pid of folders.flatMap(members)) {
      const record = recordOfPid(pid);
      if (record !== undefined) signal(record, "SIGKILL");
    }
    for (const folder of folders) removeIfEmpty(folder);
    if (roots.some(root => existsSync(root))) await sleep(POLL_MS);
  }
}

/** The folder itself and all cgroups in it, the deepest first. */
function foldersBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  try {
    const entries = readdirSync(folder, { withFileTypes: true }).filter(entry => entry.isDirectory());
    return [...entries.flatMap(entry => foldersBelow(join(folder, entry.name))), folder];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function members(folder: string): number[] {
  try {
    const pids = readFileSync(join(folder, "cgroup.procs"), "utf8").split("\n");
    // 0 stands for a process outside our process namespace.
    return pids.map(Number).filter(pid => pid > 0);
  } catch {
    // The cgroup has just been removed, or contains only threads.
    return [];
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Busy until its processes have exited: the next round tries again, until the deadline.
  }
}

function inheritCpuset(parent: string, folder: string): void {
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    const value = readFileSync(join(parent, file), "utf8");
    writeFileSync(join(folder, file), value);
  }
}

/** The kubelet needs a hierarchy with controllers; beside hierarchies of version 1, that of version 2 has none. */
function usedHierarchies(): Hierarchy[] {
  const all = hierarchies();
  const first = all.filter(({ version }) => version === 1);
  return first.length > 0 ? first : all;
}

function hierarchies(): Hierarchy[] {
  return parseHierarchies(readFileSync("/proc/self/mountinfo", "utf8"));
}

function ownHierarchy(): Hierarchy {
  const all = usedHierarchies();
  const named = OWN_HIERARCHY.flatMap(controller => all.filter(({ controllers }) => controllers.includes(controller)));
  const own = named[0] ?? all[0];
  if (own === undefined) throw new Error("no cgroup hierarchy is mounted: a kubelet can't run here");
  return own;
}
