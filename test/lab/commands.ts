import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";

export interface CommandResult {
  stdout: string;
  stderr: string;
  /** The exit code; 137 after a signal or our own time limit, 127 if the command could not be started. */
  code: number;
}

export interface CommandOptions {
  stdin?: string;
  env?: NodeJS.ProcessEnv;
  timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const KILLED = 128 + 9;
const NOT_STARTED = 127;

const STOP_MS = 10_000;

/** Starts a program that is bound to this process: on Linux, the kernel sends it this signal when this process ends, however it ends. */
export function startBound(
  argv: readonly string[],
  options: SpawnOptions,
  signal: "KILL" | "TERM" = "KILL",
): ChildProcess {
  const bound = process.platform === "linux" ? ["setpriv", "--pdeathsig", signal, "--"] : [];
  const [command = "", ...args] = [...bound, ...argv];
  return spawn(command, args, options);
}

/** Stops a child with SIGTERM, and after 10 s with SIGKILL. Does nothing if it has ended. */
export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  await exit;
  clearTimeout(timer);
}

/** Runs a command to its end and returns its output, also after a failure. */
export function run(argv: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const { stdin = "", env = process.env, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  return new Promise(resolve => {
    const child = spawn(argv[0] ?? "", argv.slice(1), { env, stdio: "pipe" });
    const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
    const end = (code: number, note = "") => {
      clearTimeout(timer);
      resolve({ stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() + note, code });
    };
    child.once("error", error => end(NOT_STARTED, error.message));
    child.once("close", (code, signal) => end(code ?? KILLED, signal === null ? "" : `ended by ${signal}`));
    // A command that does not read its input closes the pipe; only its exit code matters.
    child.stdin.on("error", () => undefined);
    child.stdin.end(stdin);
  });
}

/** Runs a command that must succeed; throws with the command and its output. */
export async function must(argv: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { stdout, stderr, code } = await run(argv, options);
  if (code === 0) return stdout;
  throw new Error(`\`${argv.join(" ")}\` failed with code ${code}: ${(stderr.trim() || stdout.trim()).slice(-2000)}`);
}
