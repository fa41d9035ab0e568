import { labCluster, type DemoCluster } from "../demo/cluster";
import { StaleToken } from "../demo/stale-token";
import { Timeline } from "../demo/timeline";
import { ClusterClient } from "../cluster/client";
import { install } from "../cluster/installation";
import { median } from "./median";
import { OperatorProcess } from "../operator/process";

/** Runs with each block: the default one, and one that ignores the proof. */
const BLOCKS = [
  { name: "with proof", runs: 5, tokenRestart: {} },
  { name: "logs alone", runs: 3, tokenRestart: { evidence: ["Logs"] } },
];

/** Seconds from a recreated ServiceAccount to the next Ready pod: controllers one by one, with the proof and with their logs alone. */
export async function benchHealing(print: (line: string) => void): Promise<void> {
  const cluster = await labCluster(line => print(`lab: ${line}`), { name: "bench" });
  let operator: OperatorProcess | undefined;
  try {
    await install(new ClusterClient(cluster.kubectl));
    operator = OperatorProcess.start({ kubeconfig: await cluster.operatorKubeconfig() });
    await operator.ready();
    for (const block of BLOCKS) await healAll(cluster, block, print);
  } finally {
    await operator?.stop();
    await cluster.close();
  }
}

async function healAll(
  cluster: DemoCluster,
  { name, runs, tokenRestart }: (typeof BLOCKS)[number],
  print: (line: string) => void,
): Promise<void> {
  const seconds: number[] = [];
  for (let run = 1; run <= runs; run++) {
    // A new namespace each time, since the cooldown of a healed controller is ten minutes.
    const namespace = `bench-${name.replace(" ", "-")}-${run}`;
    const scenario = new StaleToken(cluster, new Timeline(() => undefined), namespace, tokenRestart);
    await scenario.prepare();
    const took = await scenario.breakAndWatch();
    await scenario.cleanUp();
    seconds.push(took);
    print(`${name}, run ${run}: new pod Ready after ${took.toFixed(1)} s`);
  }
  const least = Math.min(...seconds).toFixed(1);
  print(
    `${name}, median of ${runs}: ${median(seconds).toFixed(1)} s (${least} to ${Math.max(...seconds).toFixed(1)} s)`,
  );
}
