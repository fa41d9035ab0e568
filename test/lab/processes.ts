import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { foldersOf } from "./folders";
import type { LabState, ProcessRecord } from "./state";

/** In the environment of every process that a lab starts, with the lab's id. */
export const MARKER = "CONTROLLER_RESILIENCE_LAB";

const POLL_MS = 20;
const KILL_TIMEOUT_MS = 60_000;
const COLLECT_TIMEOUT_MS = 6000;

/**
 * Runs before the program, in the same process: joins the cgroup and records its own number,
 * so that every process of a lab is on record.
 */
const PRELUDE = `
set -e
record=$1 group=$2
shift 2
if [ -n "$group" ]; then echo $$ > "$group"; fi
echo "$$ $(cut -d ' ' -f 22 /proc/$$/stat)" > "$record.new"
mv "$record.new" "$record"
exec "$@"
`;

export interface Start {
  /** The component's name: that of its record and of its log. */
  name: string;
  argv: readonly string[];
  /** The cgroup.procs file to join, or "" for none. */
  group: string;
}

/** Starts a program that outlives this process, with its output in the lab's log folder. */
export async function start(lab: LabState, { name, argv, group }: Start): Promise<void> {
  const { processes, logs } = foldersOf(lab.name);
  mkdirSync(processes, { recursive: true });
  mkdirSync(logs, { recursive: true });
  const record = join(processes, name);
  rmSync(record, { force: true });
  const log = openSync(join(logs, `${name}.log`), "a", 0o600);
  const child = spawn("sh", ["-c", PRELUDE, "sh", record, group, ...argv], {
    detached: true,
    stdio: ["ignore", log, log],
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], [MARKER]: lab.id },
  });
  closeSync(log);
  child.unref();
  await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  while (child.exitCode === null && !existsSync(record)) await sleep(POLL_MS / 4);
}

/** The record of a component, or undefined if it was never started. */
export function recordOf(lab: LabState, name: string): ProcessRecord | undefined {
  const file = join(foldersOf(lab.name).processes, name);
  return existsSync(file) ? parseRecord(readFileSync(file, "utf8")) : undefined;
}

/** The process of a component, if it runs. */
export function running(lab: LabState, name: string): ProcessRecord | undefined {
  const record = recordOf(lab, name);
  return record !== undefined && isAlive(record) ? record : undefined;
}

/** Every component that was ever started. */
export function recordedNames(lab: LabState): string[] {
  const { processes } = foldersOf(lab.name);
  return existsSync(processes) ? readdirSync(processes).filter(name => !name.endsWith(".new")) : [];
}

/** Stops one component with SIGTERM, and with SIGKILL after `graceMs`. Does nothing if it does not run. */
export async function stop(lab: LabState, name: string, graceMs: number): Promise<void> {
  const record = running(lab, name);
  if (record === undefined) return;
  signal(record, "SIGTERM");
  if (await isGone(record, graceMs)) return;
  signal(record, "SIGKILL");
  if (!(await isGone(record, KILL_TIMEOUT_MS))) throw new Error(`${name} (process ${record.pid}) does not exit`);
}

/** Kills all processes that have the lab's marker or are in its records. */
export async function killAll(lab: LabState): Promise<void> {
  const deadline = Date.now() + KILL_TIMEOUT_MS;
  for (;;) {
    const recorded = recordedNames(lab).flatMap(name => running(lab, name) ?? []);
    const alive = [...recorded, ...marked(lab.id)];
    if (alive.length === 0) return collected(recordedNames(lab).flatMap(name => recordOf(lab, name) ?? []));
    if (Date.now() > deadline) throw new Error(`processes do not exit: ${alive.map(({ pid }) => pid).join(", ")}`);
    for (const record of alive) signal(record, "SIGKILL");
    await sleep(POLL_MS);
  }
}

/** Processes with this lab's id in their environment; those of other users can't be read and do not belong to us. */
export function marked(id: string): ProcessRecord[] {
  const wanted = `${MARKER}=${id}`;
  return allProcesses().filter(({ pid }) => readProc(pid, "environ")?.split("\0").includes(wanted) ?? false);
}

/** Whether exactly this process runs; a zombie does not. */
export function isAlive(record: ProcessRecord): boolean {
  const stat = readProc(record.pid, "stat");
  if (stat === undefined) return false;
  const now = parseStat(stat);
  return now.startTime === record.startTime && now.state !== "Z" && now.state !== "X";
}

/** Sends a signal to exactly this process, if it still runs. */
export function signal(record: ProcessRecord, name: NodeJS.Signals): void {
  if (!isAlive(record)) return;
  try {
    process.kill(record.pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Parses a line of /proc/PID/stat; the name in parentheses may contain anything, even ")". */
export function parseStat(stat: string): { pid: number; state: string; startTime: number } {
  const afterName = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // The state is field 3 of the line and 0 here, the start time field 22.
  return { pid: Number.parseInt(stat, 10), state: afterName[0] ?? "", startTime: Number(afterName[22 - 3]) };
}

/** Reads "PID STARTTIME"; undefined if it is anything else. */
export function parseRecord(text: string): ProcessRecord | undefined {
  const match = /^(\d+) (\d+)\n?$/.exec(text);
  return match === null ? undefined : { pid: Number(match[1]), startTime: Number(match[2]) };
}

/** The record of a process that is running. */
export function recordOfPid(pid: number): ProcessRecord | undefined {
  const stat = readProc(pid, "stat");
  return stat === undefined ? undefined : { pid, startTime: parseStat(stat).startTime };
}

function allProcesses(): ProcessRecord[] {
  if (!existsSync("/proc")) return [];
  const pids = readdirSync("/proc").filter(entry => /^\d+$/.test(entry));
  return pids.flatMap(pid => recordOfPid(Number(pid)) ?? []);
}

function readProc(pid: number, file: "stat" | "environ"): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    // The process has exited, or belongs to another user.
    return undefined;
  }
}

/**
 * Waits until exited processes have left the process table, too: process 1 collects them, which in a
 * container may take time. The wait has a limit, since this process can't influence it.
 */
async function collected(records: readonly ProcessRecord[]): Promise<void> {
  const deadline = Date.now() + COLLECT_TIMEOUT_MS;
  const listed = ({ pid, startTime }: ProcessRecord) => recordOfPid(pid)?.startTime === startTime;
  while (records.some(listed) && Date.now() < deadline) await sleep(POLL_MS);
}

async function isGone(record: ProcessRecord, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (isAlive(record)) {
    if (Date.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}
