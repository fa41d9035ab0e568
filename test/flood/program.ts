// A client that repeats its request right after each answer, whatever the answer, like a controller without backoff. It runs in its own process,
// which client.ts starts with an `Order` as its argument. It exits after the order's time or number of requests, and at the end of its standard
// input, which comes when the parent process dies.
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { parse } from "yaml";
import type { Second } from "./seconds";

/** The parameters of the program. */
export interface Order {
  /** Path of a kubeconfig with a token. */
  readonly kubeconfig: string;
  /** The requested path, such as /api/v1/pods. */
  readonly path: string;
  /** Concurrent requests, each on its own connection. */
  readonly connections: number;
  /** Pause between an answer and the next request on the same connection. */
  readonly pauseMs: number;
  readonly longestSeconds: number;
  readonly mostRequests: number;
}

interface Kubeconfig {
  readonly clusters: readonly [{ cluster: { server: string; "certificate-authority-data"?: string } }];
  readonly users: readonly [{ user: { token: string } }];
}

/** Pause after a refused connection, so that retries do not use a whole processor; there is no pause after an answer. */
const AFTER_FAILURE_MS = 100;
const REPORT_MS = 1000;

/** Sends one request. Reports whether there was an answer. */
type Ask = () => Promise<boolean>;

function asker({ kubeconfig, path, connections }: Order): Ask {
  const { clusters, users } = parse(readFileSync(kubeconfig, "utf8")) as Kubeconfig;
  const { server, "certificate-authority-data": ca } = clusters[0].cluster;
  const agent = new Agent({
    keepAlive: true,
    maxSockets: connections,
    ...(ca === undefined ? {} : { ca: Buffer.from(ca, "base64") }),
  });
  const url = new URL(path, server);
  const options = { agent, headers: { authorization: `Bearer ${users[0].user.token}` } };
  return () =>
    new Promise(resolve => {
      const fail = (): void => resolve(false);
      const call = request(url, options, response => {
        response.on("end", () => resolve(true));
        response.on("error", fail);
        response.resume();
      });
      call.on("error", fail);
      call.end();
    });
}

class Report {
  private latenciesMs: number[] = [];
  private fromMs = Date.now();
  private total = 0;

  constructor(private readonly mostRequests: number) {}

  take(tookMs: number): void {
    this.latenciesMs.push(Number(tookMs.toFixed(3)));
    this.total += 1;
    if (this.total >= this.mostRequests) this.end();
  }

  print(): void {
    const second: Second = { fromMs: this.fromMs, toMs: Date.now(), latenciesMs: this.latenciesMs };
    this.latenciesMs = [];
    this.fromMs = second.toMs;
    process.stdout.write(`${JSON.stringify(second)}\n`);
  }

  end(): void {
    this.print();
    process.exit();
  }
}

async function loop(ask: Ask, report: Report, pauseMs: number): Promise<never> {
  for (;;) {
    const fromMs = performance.now();
    const isAnswered = await ask();
    report.take(performance.now() - fromMs);
    const waitMs = isAnswered ? pauseMs : AFTER_FAILURE_MS;
    if (waitMs > 0) await new Promise(resolve => setTimeout(resolve, waitMs));
  }
}

function run(order: Order): void {
  const report = new Report(order.mostRequests);
  process.stdin.on("end", () => report.end()).resume();
  setTimeout(() => report.end(), order.longestSeconds * 1000);
  setInterval(() => report.print(), REPORT_MS);
  const ask = asker(order);
  for (let i = 0; i < order.connections; i++) void loop(ask, report, order.pauseMs);
}

run(JSON.parse(process.argv[2] ?? "") as Order);
