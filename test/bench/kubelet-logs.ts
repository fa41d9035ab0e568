import { closeSync, openSync, readdirSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Connection } from "../../src/cluster/http/connection";
import { systemClock } from "../../src/cluster/system";
import { loadKubeConfigFile } from "../../src/cluster/testing/kubeconfig";
import { TAIL_LINES } from "../../src/logs/reading/cursor";
import { Admin } from "../cluster/admin";
import { Lab } from "../lab";
import { PAUSE_IMAGE } from "../lab/components";
import { foldersOf } from "../lab/folders";
import { recordOf } from "../lab/processes";
import { readState } from "../lab/state";
import { Usage } from "./scale/usage";
import { waitUntil } from "./scale/waiting";

const SIZES_MB = [0.1, 1, 10, 100];
const POD = { namespace: "default", name: "log" };
/** Of an ordinary controller. */
const LINE = `I1120 13:47:14.474533       1 controller.go:12] "Reconciled" object="team/app" generation=7 requeueAfter="30s"`;
const LINES_PER_S = 5;
/** New lines of a read: those of so many seconds. */
const SINCE_S = 30;
const READS_WITHIN_MS = 8_000;
const MOST_READS = 200;
const IDLE_MS = 10_000;

const QUERIES: Readonly<Record<string, string>> = {
  sinceTime: "",
  [`sinceTime and tailLines=${TAIL_LINES}`]: `&tailLines=${TAIL_LINES}`,
};

/** Processor time of the kubelet for one read of a log of which only the last seconds are wanted, by the size of the log. */
export async function benchKubeletLogs(print: (line: string) => void): Promise<void> {
  const lab = await Lab.up({ name: "bench-kubelet", onProgress: line => print(`lab: ${line}`) });
  const admin = new Admin(new Connection(() => loadKubeConfigFile(lab.kubeconfigPath), systemClock));
  try {
    if (!lab.hasNode) throw new Error("the lab has no node: a node needs Linux and root");
    const file = await logOfEndedPod(lab.name, admin, print);
    const pid = kubeletOf(lab.name);
    const idle = await cpuDuring(pid, () => sleep(IDLE_MS));
    print(`idle: ${((100 * idle.cpuMs) / idle.ms).toFixed(1)} % of a core`);
    for (const megabytes of SIZES_MB) {
      const untilMs = writeLog(file, megabytes * 1e6);
      for (const [name, query] of Object.entries(QUERIES)) {
        const { cpuMs, ms, reads, bytes } = await readFor(admin, pid, untilMs, query);
        const own = (cpuMs - (ms * idle.cpuMs) / idle.ms) / reads;
        print(
          `${megabytes} MB, ${name}: ${own.toFixed(2)} ms of CPU and ${(ms / reads).toFixed(2)} ms per read ` +
            `(${reads} reads of ${bytes} bytes)`,
        );
      }
    }
  } finally {
    admin.connection.close();
    await lab.down();
  }
}

/** The log file of a container that has ended: the kubelet rotates those of running ones. */
async function logOfEndedPod(lab: string, admin: Admin, print: (line: string) => void): Promise<string> {
  const containers = [{ name: "main", image: PAUSE_IMAGE, imagePullPolicy: "Never", command: ["true"] }];
  const pods = `/api/v1/namespaces/${POD.namespace}/pods`;
  const look = async (): Promise<true | string> => {
    const { status } = await admin.get<{ status: { phase: string } }>(`${pods}/${POD.name}`);
    return status.phase === "Succeeded" || status.phase;
  };
  // Pods need the namespace's ServiceAccount, which comes a moment after the namespace.
  const create = (): Promise<true> =>
    admin
      .create(pods, { metadata: { name: POD.name }, spec: { restartPolicy: "Never", containers } })
      .then(() => true as const);
  await waitUntil({ what: "a pod to be created", limitMs: 30_000, look: create }, print);
  await waitUntil({ what: "the pod to end", limitMs: 60_000, look }, print);
  const folder = join(foldersOf(lab).node, "log", "pods");
  const own = readdirSync(folder).find(name => name.startsWith(`${POD.namespace}_${POD.name}_`));
  if (own === undefined) throw new Error(`found no log of the pod in ${folder}`);
  return join(folder, own, "main", "0.log");
}

function kubeletOf(lab: string): number {
  const state = readState(lab);
  const record = state && recordOf(state, "kubelet");
  if (record === undefined) throw new Error("found no kubelet");
  return record.pid;
}

/** Writes a log of this size in containerd's format. Returns the time of its last line. */
function writeLog(path: string, bytes: number): number {
  const line = (ms: number): string => `${new Date(ms).toISOString()} stderr F ${LINE}\n`;
  const count = Math.ceil(bytes / line(0).length);
  const untilMs = Date.now();
  const file = openSync(path, "w");
  for (let from = 0; from < count; from += 1_000) {
    const times = Array.from({ length: Math.min(1_000, count - from) }, (_, i) => {
      return untilMs - ((count - 1 - from - i) * 1_000) / LINES_PER_S;
    });
    writeSync(file, times.map(line).join(""));
  }
  closeSync(file);
  return untilMs;
}

async function readFor(admin: Admin, pid: number, untilMs: number, query: string) {
  const since = new Date(untilMs - SINCE_S * 1_000).toISOString();
  const path = `/api/v1/namespaces/${POD.namespace}/pods/${POD.name}/log?timestamps=true&limitBytes=262144&sinceTime=${since}${query}`;
  let reads = 0;
  let bytes = 0;
  const used = await cpuDuring(pid, async () => {
    const startMs = performance.now();
    while (reads < MOST_READS && performance.now() - startMs < READS_WITHIN_MS) {
      const { code, body } = await admin.api.send({ what: "read the log", path });
      if (code !== 200) throw new Error(`expected 200, got ${code}: ${body.toString()}`);
      bytes = body.length;
      reads++;
    }
  });
  return { ...used, reads, bytes };
}

async function cpuDuring(pid: number, work: () => Promise<unknown>): Promise<{ cpuMs: number; ms: number }> {
  const [before, startMs] = [Usage.cpuSecondsOf(pid), performance.now()];
  await work();
  return { cpuMs: 1_000 * (Usage.cpuSecondsOf(pid) - before), ms: performance.now() - startMs };
}
