import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ClusterClient } from "../cluster/client";
import { Lab } from "../lab";
import { must } from "../lab/commands";
import { BRIDGE } from "../lab/components";
import { foldersOf, labsFolder } from "../lab/folders";
import { isAlive, MARKER, running, signal as signalTo } from "../lab/processes";
import { inside } from "../lab/sandbox";
import { type LabState, readState } from "../lab/state";

/** A lab must be removed completely, whenever its start was interrupted, without touching other labs. */

const NAME = `broken-${process.pid}`;
const BYSTANDER = `stays-${process.pid}`;
const CLI = ["--import", "tsx", join(__dirname, "..", "lab", "cli.ts")];
const START_TIMEOUT_MS = 180_000;

type Signal = "SIGINT" | "SIGTERM" | "SIGKILL";

/** A moment of the start, and the file whose appearance marks it. */
const moments: { moment: string; file: string; signal: Signal }[] = [
  { moment: "it has only its lock", file: "../NAME.lock", signal: "SIGKILL" },
  { moment: "its keys are being made", file: "pki", signal: "SIGTERM" },
  { moment: "its namespaces are being made", file: "processes/sandbox", signal: "SIGKILL" },
  { moment: "etcd is starting", file: "processes/etcd", signal: "SIGINT" },
  { moment: "containerd has been given an image", file: "node/kubelet.json", signal: "SIGKILL" },
  { moment: "the kubelet is starting", file: "processes/kubelet", signal: "SIGKILL" },
];

/** All processes, namespaces, mounts and files that one lab has on this machine. */
interface Traces {
  processes: string[];
  interfaces: string[];
  cgroups: string[];
  mounts: string[];
  folders: string[];
}

const NOTHING: Traces = { processes: [], interfaces: [], cgroups: [], mounts: [], folders: [] };

describe("a lab", () => {
  let bystander: Lab;
  let gateway: string;

  beforeAll(async () => {
    bystander = await Lab.up({ name: BYSTANDER });
    gateway = await gatewayOf(BYSTANDER);
    await ClusterClient.of(bystander).apply([pod("untouched")]);
    await mustSucceed(bystander, ["wait", "--for=condition=Ready", "pod/untouched", "--timeout=170s"]);
  });

  afterAll(async () => {
    await bystander.down();
    await runCli("down", "--name", NAME);
  });

  it.each(moments)("leaves nothing behind after $signal when $moment", async ({ file, signal }) => {
    await interruptUp(join(foldersOf(NAME).folder, file.replace("NAME", NAME)), signal);
    const state = readState(NAME);
    expect(await runCli("down", "--name", NAME)).toBe(0);
    expect(traces(state)).toEqual(NOTHING);
  });

  it("comes up after an interrupted start, reuses what is running, and goes down with its pods", async () => {
    await interruptUp(join(foldersOf(NAME).processes, "kube-apiserver"), "SIGKILL");
    const lab = await Lab.up({ name: NAME });
    await ClusterClient.of(lab).apply([pod("short-lived")]);
    await mustSucceed(lab, ["wait", "--for=condition=Ready", "pod/short-lived", "--timeout=170s"]);
    const state = readState(NAME);
    const { processes } = traces(state);
    await Lab.up({ name: NAME });
    expect(traces(state).processes).toEqual(processes);
    await lab.down();
    expect(traces(state)).toEqual(NOTHING);
  });

  it("restarts a component that has died, and keeps the cluster's objects", async () => {
    const lab = await Lab.up({ name: NAME });
    const kept = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "kept", namespace: "default" } };
    await ClusterClient.of(lab).apply([kept]);
    const etcd = running(readState(NAME)!, "etcd")!;
    signalTo(etcd, "SIGKILL");
    while (isAlive(etcd)) await sleep(20);
    await Lab.up({ name: NAME });
    await mustSucceed(lab, ["get", "configmap", "kept"]);
    const state = readState(NAME);
    await lab.down();
    expect(traces(state)).toEqual(NOTHING);
  });

  it("starts pods after a restart of the kubelet", async () => {
    const kubelet = (): string => readFileSync(join(foldersOf(BYSTANDER).processes, "kubelet"), "utf8");
    const before = kubelet();
    await bystander.restartKubelet();
    expect(kubelet()).not.toBe(before);
    await ClusterClient.of(bystander).apply([pod("after-the-kubelet")]);
    await mustSucceed(bystander, ["wait", "--for=condition=Ready", "pod/after-the-kubelet", "--timeout=170s"]);
  });

  it("keeps the same gateway address when pods come and go", async () => {
    expect(await gatewayOf(BYSTANDER)).toBe(gateway);
  });

  it("does not disturb another running lab", async () => {
    const { stdout } = await bystander.kubectl(["get", "pod", "untouched", "--output=jsonpath={.status}"]);
    const status = JSON.parse(stdout) as { phase: string; containerStatuses: { restartCount: number }[] };
    expect(status.phase).toBe("Running");
    expect(status.containerStatuses.map(({ restartCount }) => restartCount)).toEqual([0]);
  });
});

/** Starts a lab with its command line, and interrupts the start as soon as a file exists. */
async function interruptUp(file: string, signal: Signal): Promise<void> {
  const child = spawn(process.execPath, [...CLI, "up", "--name", NAME], { stdio: ["ignore", "ignore", "pipe"] });
  const said: Buffer[] = [];
  child.stderr.on("data", (chunk: Buffer) => said.push(chunk));
  const ended = new Promise<void>(resolve => child.once("exit", () => resolve()));
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!existsSync(file)) {
    if (child.exitCode !== null || Date.now() > deadline) {
      throw new Error(`the lab never had ${file}: ${Buffer.concat(said).toString()}`);
    }
    await sleep(2);
  }
  child.kill(signal);
  await ended;
}

function runCli(...args: string[]): Promise<number | null> {
  const child = spawn(process.execPath, [...CLI, ...args], { stdio: "ignore" });
  return new Promise(resolve => child.once("exit", resolve));
}

async function mustSucceed(lab: Lab, args: string[]): Promise<void> {
  const { code, stderr } = await lab.kubectl(args, { timeoutMs: START_TIMEOUT_MS });
  expect(code, stderr).toBe(0);
}

/** The hardware address to which pods send their packets for the API server. */
async function gatewayOf(name: string): Promise<string> {
  const state = readState(name);
  if (state === undefined) throw new Error(`the lab "${name}" is not up`);
  const json = await must([...inside(state, "network"), "ip", "-json", "link", "show", "dev", BRIDGE]);
  const [link] = JSON.parse(json) as { address: string }[];
  return link?.address ?? "none";
}

function pod(name: string): object {
  const container = { name: "main", image: "lab.local/pause:1", imagePullPolicy: "Never" };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" }, spec: { containers: [container] } };
}

/** Searches by the names in the lab's state file, if it has one, and by the name of the lab. */
function traces(lab: LabState | undefined): Traces {
  const { folder } = foldersOf(NAME);
  const signs = lab === undefined ? [folder] : [folder, `${MARKER}=${lab.id}`];
  const hierarchies = ["/sys/fs/cgroup", ...entries("/sys/fs/cgroup").map(name => join("/sys/fs/cgroup", name))];
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  return {
    processes: entries("/proc").filter(entry => /^\d+$/.test(entry) && carries(entry, signs)),
    interfaces: entries("/sys/class/net").filter(name => name === lab?.link),
    cgroups: hierarchies.flatMap(entries).filter(name => name.startsWith(`controller-resilience-${NAME}-`)),
    mounts: mounts.filter(line => line.includes(folder)),
    folders: entries(labsFolder()).filter(name => name.startsWith(NAME)),
  };
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // The process is gone, or this is a file.
    return [];
  }
}

function carries(pid: string, signs: readonly string[]): boolean {
  try {
    const text = ["environ", "cmdline"].map(file => readFileSync(join("/proc", pid, file), "utf8")).join("\0");
    return signs.some(sign => text.includes(sign));
  } catch {
    // The process has ended meanwhile.
    return false;
  }
}
