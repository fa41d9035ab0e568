import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { KubeConfig } from "@kubernetes/client-node";
import { Api } from "../../src/cluster/http/api";
import { Connection } from "../../src/cluster/http/connection";
import { podView } from "../../src/cluster/read/pod-view";
import { systemClock, systemRandom } from "../../src/cluster/system";
import { Watch } from "../../src/cluster/watch/watch";
import { KINDS } from "../../src/core/kinds";

const CHANGES = 10_000;

/** Which namespaces have a watch of pods; an empty name stands for all of them together. */
const VARIANTS: Readonly<Record<string, readonly string[]>> = {
  "no watch": [],
  "3 namespaces, each": ["team-0", "team-1", "team-2"],
  "1,000 namespaces, each": Array.from({ length: 1_000 }, (_, i) => `team-${i}`),
  "all together": [""],
};

/** Prints the memory and CPU of watches of pods in a cluster with 10,000 pods, each variant in a process of its own. */
export async function benchWatches(print: (line: string) => void): Promise<void> {
  const server = fork(join(__dirname, "pods-server.mjs"));
  const [port] = (await once(server, "message")) as [number];
  for (const variant of Object.keys(VARIANTS)) {
    const client = fork(__filename, [variant, String(port)], { execArgv: ["--import", "tsx"] });
    const [line] = (await once(client, "message")) as [string];
    print(`${variant}: ${line}`);
  }
  server.kill();
}

async function measure(namespaces: readonly string[], port: number): Promise<string> {
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: "c", server: `http://127.0.0.1:${port}`, skipTLSVerify: true }, {
    name: "u",
  } as never);
  const connection = new Connection(() => config, systemClock);
  const api = new Api(connection, systemClock, { userAgent: "bench" });
  const quiet = { debug: () => undefined, info: () => undefined, warn: console.error, error: console.error };
  const metrics = { watchEnded: () => undefined, relisted: () => undefined } as never;
  const context = { api, clock: systemClock, random: systemRandom, log: quiet as never, metrics };
  let seen = 0;
  const subject = { resource: KINDS.Pod, project: podView, onDelta: () => void seen++ };
  const [beforeMiB, start] = [usedMiB(), process.cpuUsage()];
  const watches = namespaces.map(namespace => new Watch(context, { ...subject, ...(namespace && { namespace }) }));
  for (const watch of watches) watch.start();
  await Promise.all(watches.map(watch => watch.attempted()));
  await new Promise(resolve => setTimeout(resolve, 3_000));
  const [filled, heapMiB, rssMiB] = [cpuMs(start), usedMiB() - beforeMiB, process.memoryUsage().rss / 2 ** 20];
  const [changing, listed] = [process.cpuUsage(), seen];
  await api.json({ what: "change pods", path: `/changes/${CHANGES}`, method: "POST", body: {} });
  await new Promise(resolve => setTimeout(resolve, 5_000));
  return [
    `${listed} pods, RSS ${rssMiB.toFixed(0)} MiB, of which caches and connections ${heapMiB.toFixed(1)} MiB`,
    `first list ${filled.toFixed(0)} ms of CPU, ${CHANGES} changes ${cpuMs(changing).toFixed(0)} ms (${seen - listed} seen)`,
  ].join("; ");
}

function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
}

function usedMiB(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let i = 0; i < 3; i++) collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

const [, , variant = "", port = ""] = process.argv;
if (process.send !== undefined && variant in VARIANTS)
  void measure(VARIANTS[variant] ?? [], Number(port)).then(line => process.send?.(line, () => process.exit(0)));
