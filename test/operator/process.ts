import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { startBound, stopChild } from "../lab/commands";
import { complaintsIn, type LogLine, parseLine } from "./log";

const root = join(__dirname, "..", "..");

/** The entry point of `npm start`. */
export const ENTRY = "src/cli/start.ts";

/** Whether the process with these metrics leads. */
export function leads(metrics: string): boolean {
  return /^controller_resilience_leader 1$/m.test(metrics);
}

/** How to run the operator as a host process. */
export interface OperatorOptions {
  /** Path of a kubeconfig with the rights of the operator's own ServiceAccount. */
  readonly kubeconfig: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The path of another Node.js, and options for it. */
  readonly node?: string | undefined;
  readonly nodeArgs?: readonly string[];
  /** A bundle of {@link ENTRY} to run; by default the sources run, as with `npm start`. */
  readonly bundle?: string | undefined;
}

/** The operator as a host process, run by the entry point of `npm start`, with a free health port. It ends with this process. */
export class OperatorProcess {
  readonly log: LogLine[] = [];
  /** Output lines that are not JSON, such as a crash report. */
  readonly noise: string[] = [];
  private port: number | undefined;
  private exit: { code: number | null; signal: NodeJS.Signals | null } | undefined;

  private constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on("line", line => this.take(line));
    }
    // Then its whole output has been read, too.
    child.on("close", (code, signal) => (this.exit = { code, signal }));
  }

  /** Starts the operator, without waiting until it is ready. */
  static start({
    kubeconfig,
    args = [],
    env = {},
    node = process.execPath,
    nodeArgs = [],
    bundle,
  }: OperatorOptions): OperatorProcess {
    const program = bundle === undefined ? [join(root, "scripts", "run.mjs"), ENTRY] : [bundle];
    const child = startBound([node, ...nodeArgs, ...program, "--health-port", "0", ...args], {
      cwd: root,
      // A lab's API server has just started; tests and demonstrations do not wait for its clients to settle.
      env: { ...process.env, RESILIENCE_API_SERVER_SETTLE_SECONDS: "0", KUBECONFIG: kubeconfig, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    return new OperatorProcess(child);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Host and port of /metrics, once the health port is open. */
  get address(): string {
    return `127.0.0.1:${this.port ?? 0}`;
  }

  /** Undefined while the operator runs. */
  get exitCode(): number | undefined {
    return this.exit === undefined ? undefined : (this.exit.code ?? 128);
  }

  /** Status and text of /healthz, /readyz or /metrics. Status 0 means that no server answers. */
  async probe(path: string): Promise<{ status: number; text: string }> {
    if (this.port === undefined) return { status: 0, text: "the health port is not open yet" };
    try {
      const response = await fetch(`http://127.0.0.1:${this.port}${path}`, { signal: AbortSignal.timeout(5_000) });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      return { status: 0, text: String(error) };
    }
  }

  /** Whether the operator leads, according to its metrics; false if they can't be read. */
  async leads(): Promise<boolean> {
    return leads((await this.probe("/metrics")).text);
  }

  /** Waits until /readyz returns 200; throws with the end of its log after a time limit or if it exits. */
  async ready(timeoutMs = 180_000): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    let last = { status: 0, text: "" };
    while (performance.now() < deadline && this.exit === undefined) {
      last = await this.probe("/readyz");
      if (last.status === 200) return;
      await sleep(200);
    }
    const end = [...this.complaints(), ...this.noise.slice(-20)].join("\n");
    throw new Error(
      `the operator is not ready (/readyz: ${last.status} ${last.text.trim()}; exit ${this.exitCode ?? "none"}):\n${end}`,
    );
  }

  /** The last lines of its log that are warnings or errors. */
  complaints(): string[] {
    return complaintsIn(this.log);
  }

  /** Sends a signal. */
  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Stops the operator with SIGTERM, and after 10 s with SIGKILL. Returns its exit code. */
  async stop(): Promise<number> {
    await stopChild(this.child);
    while (this.exit === undefined) await sleep(20);
    return this.exitCode ?? 128;
  }

  private take(line: string): void {
    const parsed = parseLine(line);
    if (parsed === undefined) {
      this.noise.push(line);
      return;
    }
    if (parsed.msg === "health port is open" && typeof parsed["port"] === "number") this.port = parsed["port"];
    this.log.push(parsed);
  }
}
