import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Order } from "./program";
import { summarize, type Second, type Summary } from "./seconds";

/** The parameters of a client. */
export type ClientOptions = Pick<Order, "kubeconfig" | "path"> & Partial<Order>;

/** A runaway: the number of connections that was observed for a client without a limit. */
export const FLOOD = { connections: 64 } as const;

const DEFAULTS = { connections: 1, pauseMs: 0, longestSeconds: 600, mostRequests: 10_000_000 } as const;
const FIRST_REPORT_MS = 20_000;
const STOP_MS = 10_000;

/** A client in its own process that repeats its request right after each answer: a runaway, or a measured client. */
export class LoopingClient {
  /** The reports so far, one per second; may be read while it runs. */
  readonly seconds: Second[] = [];

  private complaint = "";

  private constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on("line", line => this.take(line));
    }
  }

  /** Starts the client and waits for its first report; throws with its output if there is none. */
  static async start(options: ClientOptions): Promise<LoopingClient> {
    const order: Order = { ...DEFAULTS, ...options };
    const script = [join(__dirname, "..", "..", "scripts", "run.mjs"), join(__dirname, "program.ts")];
    // The client exits at the end of its standard input, which comes when this process dies for any reason.
    const child = spawn(process.execPath, [...script, JSON.stringify(order)], { stdio: "pipe" });
    const client = new LoopingClient(child);
    const deadline = performance.now() + FIRST_REPORT_MS;
    while (client.seconds.length === 0 && child.exitCode === null && performance.now() < deadline) {
      await new Promise(resolve => setTimeout(resolve, 20));
    }
    if (client.seconds.length > 0) return client;
    await client.stop();
    throw new Error(
      `the client for ${order.path} has not reported within ${FIRST_REPORT_MS / 1000} s: ${client.complaint}`,
    );
  }

  /** Measurements within a span of time, in milliseconds since the epoch. */
  between(fromMs: number, toMs: number): Summary {
    return summarize(this.seconds, fromMs, toMs);
  }

  /** Stops the client, after 10 s with SIGKILL. Returns its exit code, 128 if a signal killed it. */
  async stop(): Promise<number> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exit = once(this.child, "exit");
      this.child.stdin?.end();
      const timer = setTimeout(() => this.child.kill("SIGKILL"), STOP_MS);
      await exit;
      clearTimeout(timer);
    }
    return this.child.exitCode ?? 128;
  }

  private take(line: string): void {
    try {
      this.seconds.push(JSON.parse(line) as Second);
    } catch {
      this.complaint = line;
    }
  }
}
