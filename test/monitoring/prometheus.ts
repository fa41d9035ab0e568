import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { startBound, stopChild } from "../lab/commands";
import { freePort } from "../lab/free-port";
import { ensurePrometheus } from "../lab/prometheus";
import { exampleConfig } from "./prometheus-config";
import { renderRules, rulesIn } from "./rules";

/**
 * What a test may not wait for: it scrapes and evaluates every two seconds, `for` is five seconds, and the bridge over a change of leader is
 * fifteen. The rest of the rules is the chart's.
 */
const HURRY = { intervals: "2s", for: "5s", bridge: "15s" };

/** An alert as Prometheus' API shows it. */
interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: "pending" | "firing";
}

/** A real Prometheus that scrapes one operator with the documented configuration and the chart's alerts. */
export class PrometheusProcess {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    private readonly port: number,
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** @param target address of the operator's health port */
  static async start(target: string): Promise<PrometheusProcess> {
    await ensurePrometheus();
    const folder = mkdtempSync(join(tmpdir(), "prometheus-"));
    const global = { scrape_interval: HURRY.intervals, evaluation_interval: HURRY.intervals };
    writeFileSync(join(folder, "prometheus.yaml"), stringify(exampleConfig(target, global)));
    writeFileSync(join(folder, "alerts.yaml"), await hurriedRules());
    const port = await freePort();
    const args = [
      `--config.file=${join(folder, "prometheus.yaml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ];
    return new PrometheusProcess(startBound(["prometheus", ...args], { stdio: "ignore" }), folder, port);
  }

  /** Returns the alerts that fire. @throws while Prometheus does not answer, or does not scrape */
  async firing(): Promise<Alert[]> {
    const { activeTargets } = await this.ask<{ activeTargets: { health: string; lastError: string }[] }>("targets");
    const [target] = activeTargets;
    if (target?.health !== "up") throw new Error(`the target is ${target?.health}: ${target?.lastError}`);
    const { alerts } = await this.ask<{ alerts: Alert[] }>("alerts");
    return alerts.filter(({ state }) => state === "firing");
  }

  /** Returns the labels of the series that a query has now. @throws if Prometheus does not accept the query */
  async series(query: string): Promise<Readonly<Record<string, string>>[]> {
    const { result } = await this.ask<{ result: { metric: Record<string, string> }[] }>(
      `query?${new URLSearchParams({ query }).toString()}`,
    );
    return result.map(({ metric }) => metric);
  }

  async stop(): Promise<void> {
    await stopChild(this.child);
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async ask<T>(path: string): Promise<T> {
    const response = await fetch(`${this.url}/api/v1/${path}`, { signal: AbortSignal.timeout(5_000) });
    const { data, error } = (await response.json()) as { data?: T; error?: string };
    if (data === undefined) throw new Error(`${path}: ${error ?? response.status}`);
    return data;
  }
}

async function hurriedRules(): Promise<string> {
  const groups = await renderRules();
  for (const rule of rulesIn(groups)) {
    rule.expr = rule.expr.replaceAll("[3m]", `[${HURRY.bridge}]`);
    if (rule.for !== undefined) rule.for = HURRY.for;
  }
  return stringify(groups);
}
