import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { linkPlugins, writeCniConfig } from "./cni";
import { must, run } from "./commands";
import { containerdConfig, kubeletArgs, kubeletConfig, PAUSE_IMAGE } from "./components";
import { componentKubeconfig, get, logOf, mustRun, startComponent } from "./control-plane";
import { foldersOf } from "./folders";
import { pauseImage } from "./images/programs";
import { cniFolder } from "./packages";
import { NODE_NAME } from "./pki";
import { running, stop } from "./processes";
import { programPath } from "./programs";
import type { Progress } from "./progress";
import { inside } from "./sandbox";
import type { LabState } from "./state";
import { waitFor } from "./wait";

const CONTAINERD_TIMEOUT_MS = 120_000;
const NODE_TIMEOUT_MS = 120_000;
const IMPORT_TIMEOUT_MS = 300_000;
const GRACE_MS = 5_000;

/** Starts containerd, unless it runs; it needs no API server. */
export async function startContainerd(lab: LabState): Promise<void> {
  if (running(lab, "containerd") !== undefined) return;
  const { node } = foldersOf(lab.name);
  const plugins = cniFolder();
  if (plugins === undefined)
    throw new Error("no CNI plugins; on Debian and Ubuntu: apt-get install containernetworking-plugins");
  writeCniConfig(lab);
  const config = join(node, "containerd.toml");
  const snapshotter = (await canOverlay(lab)) ? "overlayfs" : "native";
  writeFileSync(config, containerdConfig(lab, { cniPlugins: linkPlugins(lab, plugins), snapshotter }));
  await startComponent(lab, "containerd", ["containerd", "--config", config], "network-and-mounts");
}

/** Starts the kubelet, unless it runs, and waits until the node is Ready. */
export async function startNode(lab: LabState, progress: Progress): Promise<void> {
  if (running(lab, "kubelet") === undefined) progress("starting the kubelet");
  await waitForContainerd(lab);
  if (!(await hasImage(lab, PAUSE_IMAGE))) await loadImage(lab, (await pauseImage()).tar);
  writeKubeletFiles(lab);
  const args = kubeletArgs(lab, componentKubeconfig(lab, "kubelet"));
  await startComponent(lab, "kubelet", [programPath(lab, "kubelet"), ...args], "network-and-mounts");
  await waitFor({
    what: "the node to be Ready",
    timeoutMs: NODE_TIMEOUT_MS,
    until: () => nodeIsReady(lab),
    check: () => mustRun(lab, "kubelet"),
    log: logOf(lab, "kubelet"),
  });
}

/** Restarts the kubelet while its pods keep running, and waits until it has renewed the node's Lease. */
export async function restartKubelet(lab: LabState, progress: Progress): Promise<void> {
  if (lab.kind !== "node") throw new Error(`the lab "${lab.name}" has only a control plane, and no kubelet`);
  await stop(lab, "kubelet", GRACE_MS);
  const endedMs = Date.now();
  await startNode(lab, progress);
  await waitFor({
    what: "the kubelet to renew the node's Lease",
    timeoutMs: NODE_TIMEOUT_MS,
    until: () => hasRenewedLease(lab, endedMs),
    check: () => mustRun(lab, "kubelet"),
    log: logOf(lab, "kubelet"),
  });
}

/** Loads an image into the node; pods use it with `imagePullPolicy: Never`. */
export async function loadImage(lab: LabState, tar: string): Promise<void> {
  if (lab.kind !== "node")
    throw new Error(`the lab "${lab.name}" has only a control plane, and no node to load an image into`);
  const argv = [...ctr(lab), "images", "import", tar];
  await must(argv, { timeoutMs: IMPORT_TIMEOUT_MS });
}

async function hasImage(lab: LabState, reference: string): Promise<boolean> {
  const { stdout } = await run([...ctr(lab), "images", "list", "--quiet", `name==${reference}`]);
  return stdout.trim() !== "";
}

async function waitForContainerd(lab: LabState): Promise<void> {
  await waitFor({
    what: "containerd to answer",
    timeoutMs: CONTAINERD_TIMEOUT_MS,
    until: async () =>
      existsSync(foldersOf(lab.name).containerdSocket) && (await run([...ctr(lab), "version"])).code === 0,
    check: () => mustRun(lab, "containerd"),
    log: logOf(lab, "containerd"),
  });
}

function writeKubeletFiles(lab: LabState): void {
  const { node } = foldersOf(lab.name);
  writeFileSync(join(node, "kubelet.json"), JSON.stringify(kubeletConfig(lab), undefined, 2));
  const resolv = join(node, "resolv.conf");
  // The host's own file is often a link into /run, which the kubelet does not see.
  if (existsSync("/etc/resolv.conf")) copyFileSync("/etc/resolv.conf", resolv);
  else writeFileSync(resolv, "");
}

async function nodeIsReady(lab: LabState): Promise<boolean> {
  const { status, body } = await get(lab, `/api/v1/nodes/${NODE_NAME}`);
  if (status !== 200) return false;
  const node = JSON.parse(body) as { status?: { conditions?: { type: string; status: string; message: string }[] } };
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status === "True") return true;
  throw new Error(ready?.message ?? "the node has no status yet");
}

/** The node's status may still be that of the previous kubelet. */
async function hasRenewedLease(lab: LabState, sinceMs: number): Promise<boolean> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${NODE_NAME}`;
  const { status, body } = await get(lab, path);
  if (status !== 200) throw new Error(`${path} answered ${status}`);
  const { spec } = JSON.parse(body) as { spec: { renewTime: string } };
  return Date.parse(spec.renewTime) > sinceMs;
}

/** Overlay mounts do not work if the lab's folder is itself on an overlay, as in a container. */
async function canOverlay(lab: LabState): Promise<boolean> {
  const probe = join(foldersOf(lab.name).node, "overlay-probe");
  for (const name of ["lower", "upper", "work", "merged"]) mkdirSync(join(probe, name), { recursive: true });
  const layers = `lowerdir=${probe}/lower,upperdir=${probe}/upper,workdir=${probe}/work`;
  const mount = ["mount", "-t", "overlay", "overlay", "-o", layers, join(probe, "merged")];
  const { code } = await run([...inside(lab, "network-and-mounts"), ...mount]);
  if (code === 0) await run([...inside(lab, "network-and-mounts"), "umount", join(probe, "merged")]);
  return code === 0;
}

function ctr(lab: LabState): string[] {
  return ["ctr", "--address", foldersOf(lab.name).containerdSocket, "--namespace", "k8s.io"];
}
