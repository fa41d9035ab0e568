import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { freeIndex, jointOf, overlaps, parseRoutes, portsOf } from "./addresses";
import { run } from "./commands";
import { takeDown } from "./down";
import { foldersOf, labsFolder, PROJECT } from "./folders";
import { takeLock, type Lock } from "./lock";
import { endWithThisProcess, isOrphan } from "./keeper";
import { startKwok } from "./kwok";
import { ensurePackages, NODE_REQUIREMENTS } from "./packages";
import type { Minor } from "./kubernetes";
import { makePki } from "./pki";
import { linkPrograms } from "./programs";
import { recordOfPid } from "./processes";
import type { Progress } from "./progress";
import { startContainerd, startNode } from "./node";
import { startControlPlane, startSandbox, waitForControllers } from "./control-plane";
import { heldIndices, readState, writeState, type LabState } from "./state";

interface UpOptions {
  name: string;
  /** Without kubelet and containerd: needs no root, and is up in a few seconds. */
  controlPlaneOnly: boolean;
  /** A new lab outlives this process. */
  stays: boolean;
  progress: Progress;
  /** The API server of a new lab records the requests of these users. */
  auditedUsers?: readonly string[] | undefined;
  /** The minor version of Kubernetes; without it the newest. */
  kubernetes?: Minor | undefined;
}

/** Longer than building everything takes on a slow machine. */
const LOCK_TIMEOUT_MS = 3_600_000;
const ALLOCATION_TIMEOUT_MS = 30_000;

/** Brings a lab up, or starts its missing components; a lab whose start was interrupted is created again. */
export async function bringUp(options: UpOptions): Promise<LabState> {
  const lock = await takeLock({
    path: foldersOf(options.name).lock,
    timeoutMs: LOCK_TIMEOUT_MS,
    onWait: () => options.progress(`another process is changing the lab "${options.name}"; waiting for it`),
  });
  try {
    return await bringUpLocked(options);
  } finally {
    lock.release();
  }
}

async function bringUpLocked(options: UpOptions): Promise<LabState> {
  const { name, controlPlaneOnly, progress } = options;
  await removeRemains(name, progress);
  const lab = readState(name) ?? (await create(options, kindOf(controlPlaneOnly, progress)));
  refuseOther(lab, options);
  if (lab.phase === "creating") await prepare(lab, progress);
  if (lab.kind === "node") {
    await startSandbox(lab, progress);
    await startContainerd(lab);
  }
  await startControlPlane(lab, progress);
  if (lab.kind === "node") await startNode(lab, progress);
  if (lab.kwokNodes > 0) await startKwok(lab, progress);
  await waitForControllers(lab);
  lab.phase = "ready";
  writeState(lab);
  return lab;
}

/** Throws if the lab of this name is not what was asked for, or ends with another process: a test's worker may repair the lab of its parent. */
function refuseOther({ name, kind, version, owner }: LabState, asked: UpOptions): void {
  if (owner !== undefined && ![process.pid, process.ppid].includes(owner.pid))
    throw new Error(`the lab "${name}" belongs to process ${owner.pid}; wait for its end, or choose another name`);
  const way = "remove it first (down), or choose another name";
  const { kubernetes, controlPlaneOnly } = asked;
  if (kubernetes !== undefined && version !== "" && !version.startsWith(`v${kubernetes}.`))
    throw new Error(`the lab "${name}" runs ${version}; ${way}`);
  if (kind === "control-plane" && !controlPlaneOnly && whyNoNode() === undefined)
    throw new Error(`the lab "${name}" has only a control plane; ${way}`);
}

/** Removes the remains of an interrupted start, of a process that has ended, or of a restart of the machine. */
async function removeRemains(name: string, progress: Progress): Promise<void> {
  const before = readState(name);
  if (before === undefined || (before.phase === "ready" && isWhole(before) && !isOrphan(before))) return;
  progress(`an earlier "${name}" was interrupted: removing its remains`);
  await takeDown(name);
}

/** Why a node can't run on this machine, or undefined if it can. */
function whyNoNode(): string | undefined {
  if (process.platform !== "linux") return `a kubelet needs Linux, found ${process.platform}`;
  return process.getuid?.() === 0 ? undefined : "a kubelet needs root";
}

function kindOf(controlPlaneOnly: boolean, progress: Progress): LabState["kind"] {
  if (controlPlaneOnly) return "control-plane";
  const why = whyNoNode();
  if (why === undefined) return "node";
  progress(`${why}: this lab has only a control plane (etcd, API server, controller-manager) and runs no pods`);
  return "control-plane";
}

/** Records the resources of the lab before any of them is created. */
async function create({ name, stays, auditedUsers, kubernetes }: UpOptions, kind: LabState["kind"]): Promise<LabState> {
  const lock = await takeAllocation();
  try {
    const id = randomBytes(8).toString("hex");
    const owner = stays ? undefined : recordOfPid(process.pid);
    const lab: LabState = {
      name,
      id,
      kind,
      index: await freeIndex(heldIndices(), kind === "node" ? await jointIsFree() : portsAreFree),
      phase: "creating",
      ...(owner === undefined ? {} : { owner }),
      createdAt: new Date().toISOString(),
      version: "",
      ...(kubernetes === undefined ? {} : { kubernetes }),
      cgroup: kind === "node" ? `${PROJECT}-${name}-${id}` : "",
      // Interface names have at most 15 characters.
      link: kind === "node" ? `crlab-${id.slice(0, 8)}` : "",
      extraApiServerArgs: [],
      ...(auditedUsers === undefined ? {} : { auditedUsers }),
      signingKey: 1,
      kwokNodes: 0,
      kwokConfigs: [],
    };
    writeState(lab);
    if (owner !== undefined) endWithThisProcess(lab);
    return lab;
  } finally {
    lock.release();
  }
}

async function prepare(lab: LabState, progress: Progress): Promise<void> {
  if (lab.kind === "node") await ensurePackages(NODE_REQUIREMENTS, progress);
  const [{ version }] = await Promise.all([linkPrograms(lab, progress), makePki(lab)]);
  lab.version = version;
  writeState(lab);
}

/** Lock for all labs of this user, held while an index is chosen. */
function takeAllocation(): Promise<Lock> {
  return takeLock({ path: join(labsFolder(), ".allocation"), timeoutMs: ALLOCATION_TIMEOUT_MS });
}

/** False after a restart of the machine: then no process of the lab runs any more. */
function isWhole(lab: LabState): boolean {
  return lab.kind === "control-plane" || existsSync(join("/sys/class/net", lab.link));
}

async function jointIsFree(): Promise<(index: number) => boolean> {
  const { stdout } = await run(["ip", "-json", "-4", "route", "show", "table", "all"]);
  const routes = parseRoutes(stdout.trim());
  return index => !overlaps(jointOf(index), routes);
}

async function portsAreFree(index: number): Promise<boolean> {
  const free = await Promise.all(Object.values(portsOf(index)).map(isFree));
  return free.every(Boolean);
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
  });
}
