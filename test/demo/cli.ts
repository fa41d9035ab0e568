// `npm run demo`: breaks a controller on a real cluster, and shows how the operator heals it.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { isBuilt, operatorImage } from "../controllers/operator-image";
import { builtPath } from "../lab/go-build";
import { controlPlane } from "../lab/kubernetes";
import { contextCluster, type DemoCluster, labCluster } from "./cluster";
import { type DemoOperator, OperatorInCluster, OperatorOnHost } from "./operator";
import { writeRecording } from "./recording";
import { StaleToken } from "./stale-token";
import { Timeline } from "./timeline";

interface DemoOptions {
  readonly context?: string;
  readonly hostProcess?: boolean;
  readonly keep?: boolean;
  readonly record?: string;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Tells what is going to happen, and how long that takes on two cores. */
const forecast = (builds: string): string =>
  `${builds === "" ? "" : `Builds ${builds}once. `}Starts a cluster and the operator, breaks a controller, watches: 1 to 3 minutes.`;

/** The demonstration's own lab, unless the user has named a cluster. Tells what it is going to do, and builds the operator meanwhile. */
async function clusterOf(
  { context, hostProcess = false, keep = false }: DemoOptions,
  timeline: Timeline,
  folder: string,
): Promise<DemoCluster> {
  if (context !== undefined) {
    timeline.quote(forecast(""));
    return contextCluster(context, folder);
  }
  const isNeeded = !existsSync(builtPath(controlPlane()));
  if (isNeeded) timeline.quote(forecast("etcd, Kubernetes and the operator: 4 to 12 minutes, "));
  else timeline.quote(forecast(isBuilt() ? "" : "the operator: 1 to 2 minutes, "));
  const say = (who: string) => (line: string) => void timeline.say(who, line);
  // What fails here fails again when it is needed, and is reported then.
  const building = hostProcess ? undefined : operatorImage(say("operator")).catch(() => undefined);
  const cluster = await labCluster(say("lab"), { stays: keep });
  await building;
  return cluster;
}

/** Runs the operator in the cluster if that is a lab; otherwise, or if requested, as a process on this machine. */
function operatorOf(cluster: DemoCluster, timeline: Timeline, hostProcess: boolean): DemoOperator {
  const { lab } = cluster;
  if (lab !== undefined && !hostProcess) return new OperatorInCluster(lab, line => timeline.say("lab", line));
  return new OperatorOnHost(cluster);
}

async function printComplaints(operator: DemoOperator): Promise<void> {
  for (const line of await operator.complaints()) console.error(`operator: ${line}`);
}

async function demo(options: DemoOptions): Promise<void> {
  const { context, hostProcess = false, keep = false, record } = options;
  const timeline = new Timeline();
  const folder = mkdtempSync(join(tmpdir(), "controller-resilience-demo-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  let cluster: DemoCluster | undefined;
  let operator: DemoOperator | undefined;
  let play: StaleToken | undefined;
  const end = async (): Promise<void> => {
    await operator?.stop();
    if (!keep) await play?.cleanUp();
    if (!keep) await cluster?.close();
  };
  const state = { interrupted: false };
  const onSignal = (): void => {
    if (state.interrupted) return;
    state.interrupted = true;
    console.error("\nInterrupted; cleaning up ...");
    // The demonstration's own lab ends with this process.
    if (context === undefined) process.exit(130);
    void end().finally(() => process.exit(130));
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    timeline.heading("Start a cluster");
    cluster = await clusterOf(options, timeline, folder);
    timeline.say("cluster", cluster.description, "good");

    operator = operatorOf(cluster, timeline, hostProcess);
    timeline.heading(operator.description);
    await operator.start();
    timeline.say("operator", "the operator is ready", "good");

    play = new StaleToken(cluster, timeline);
    await play.prepare();
    const ending = await play.play();
    await play.show();
    timeline.heading(ending);
    writeRecording(record, { ending, told: timeline.told });
    if (keep) timeline.quote(`The cluster keeps running (${operator.afterwards}): ${cluster.hint}`);
  } catch (error) {
    if (operator !== undefined && !state.interrupted) await printComplaints(operator);
    throw error;
  } finally {
    if (!state.interrupted) await end();
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}

const program = new Command("npm run demo --")
  .description("Break a controller on a real cluster, and watch the operator heal it.")
  .option(
    "--context <name>",
    "use this context of your kubeconfig (default: start a lab, which needs Linux and root); implies --host-process",
  )
  .option(
    "--host-process",
    "run the operator as a process on this machine (default: in the lab, from deploy/install.yaml)",
  )
  .option("--keep", "keep the cluster and its objects at the end")
  .option(
    "--record <file>",
    "write what happened since the failure as JSON; `npm run generate` draws docs/demo.svg from test/demo/recording.json",
  )
  .action(async (options: DemoOptions) => {
    try {
      await demo(options);
    } catch (error) {
      console.error(`\nThe demonstration failed: ${error instanceof Error ? error.message : String(error)}`);
      process.exitCode = 1;
    }
  });

void program.parseAsync();
