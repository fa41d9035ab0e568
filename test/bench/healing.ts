import { labCluster } from "../demo/cluster";
import { StaleToken } from "../demo/stale-token";
import { Timeline } from "../demo/timeline";
import { ClusterClient } from "../cluster/client";
import { install } from "../cluster/installation";
import { OperatorProcess } from "../operator/process";

const RUNS = 5;

/** Seconds from a recreated ServiceAccount to the next Ready pod, with the default spec: five controllers, one by one. */
export async function benchHealing(print: (line: string) => void): Promise<void> {
  const cluster = await labCluster(line => print(`lab: ${line}`), "bench");
  let operator: OperatorProcess | undefined;
  try {
    await install(new ClusterClient(cluster.kubectl));
    operator = OperatorProcess.start({ kubeconfig: await cluster.operatorKubeconfig() });
    await operator.ready();
    const seconds: number[] = [];
    for (let run = 1; run <= RUNS; run++) {
      // A new namespace each time, since the cooldown of a healed controller is ten minutes.
      const scenario = new StaleToken(cluster, new Timeline(() => undefined), `bench-${run}`);
      await scenario.prepare();
      const took = await scenario.breakAndWatch();
      await scenario.cleanUp();
      seconds.push(took);
      print(`run ${run}: new pod Ready after ${took.toFixed(1)} s`);
    }
    seconds.sort((a, b) => a - b);
    print(
      `median of ${RUNS}: ${seconds[Math.floor(RUNS / 2)]?.toFixed(1)} s (${seconds[0]?.toFixed(1)} to ${seconds.at(-1)?.toFixed(1)} s)`,
    );
  } finally {
    await operator?.stop();
    await cluster.close();
  }
}
