// `npm run demo`: a controller dies silently on a real cluster, and is healed.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { ClusterClient } from "../cluster/client";
import { install } from "../cluster/installation";
import { OperatorProcess } from "../operator/process";
import { contextCluster, DEMO_LAB, labCluster, type DemoCluster } from "./cluster";
import { StaleToken } from "./stale-token";
import { Timeline } from "./timeline";

interface DemoOptions {
  readonly context?: string;
  readonly keep?: boolean;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A lab that is still being started can only be taken down by another process, once this one is gone. */
function takeLabDownAndExit(): void {
  const run = join(__dirname, "..", "..", "scripts", "run.mjs");
  const down = [run, "test/lab/cli.ts", "down", "--name", DEMO_LAB];
  spawn(process.execPath, down, { detached: true, stdio: "inherit" }).unref();
  process.exit(130);
}

async function demo({ context, keep = false }: DemoOptions): Promise<void> {
  const timeline = new Timeline();
  const folder = mkdtempSync(join(tmpdir(), "controller-resilience-demo-"));
  let cluster: DemoCluster | undefined;
  let operator: OperatorProcess | undefined;
  let scenario: StaleToken | undefined;
  const end = async (): Promise<void> => {
    await operator?.stop();
    if (!keep) await scenario?.cleanUp();
    if (!keep) await cluster?.close();
    rmSync(folder, { recursive: true, force: true });
  };
  const state = { interrupted: false };
  const onSignal = (): void => {
    if (state.interrupted) return;
    state.interrupted = true;
    console.error("\nInterrupted; cleaning up ...");
    if (cluster === undefined && context === undefined) takeLabDownAndExit();
    else void end().finally(() => process.exit(130));
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    timeline.heading("A cluster");
    cluster = await (context === undefined
      ? labCluster(line => timeline.say("lab", line))
      : contextCluster(context, folder));
    timeline.say("cluster", cluster.description, "good");

    timeline.heading("The operator, with the rights of its own ServiceAccount");
    await install(new ClusterClient(cluster.kubectl));
    operator = OperatorProcess.start({ kubeconfig: await cluster.operatorKubeconfig() });
    await operator.ready();
    timeline.say("operator", "is ready", "good");

    scenario = new StaleToken(cluster, timeline);
    await scenario.prepare();
    const seconds = await scenario.breakAndWatch();
    await scenario.show();
    timeline.heading(`Healed: the new pod was Ready ${seconds.toFixed(1)} s after its ServiceAccount was recreated.`);
    if (keep) timeline.quote(`The cluster stays open (the operator has ended): ${cluster.hint}`);
  } catch (error) {
    operator?.complaints().forEach(line => console.error(`operator: ${line}`));
    throw error;
  } finally {
    if (!state.interrupted) await end();
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}

const program = new Command("npm run demo --")
  .description("Show a silently dead controller being found and healed on a real cluster.")
  .option("--context <name>", "a context of your kubeconfig (default: a lab of its own, which needs Linux and root)")
  .option("--keep", "leave the cluster open at the end")
  .action(async (options: DemoOptions) => {
    try {
      await demo(options);
    } catch (error) {
      console.error(`\nThe demonstration failed: ${error instanceof Error ? error.message : String(error)}`);
      process.exitCode = 1;
    }
  });

void program.parseAsync();
