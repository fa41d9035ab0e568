import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { auditArgs } from "./audit";
import { makeCgroups, ownProcs } from "./cgroups";
import {
  apiServerArgs,
  apiServerUrl,
  type Component,
  controllerManagerArgs,
  etcdArgs,
  innerApiServerUrl,
  schedulerArgs,
} from "./components";
import { foldersOf } from "./folders";
import { kubeconfig, makeSigningKey, pkiFiles, tokenOf, type User, writeKubeconfig } from "./pki";
import { running, signal, start, stop } from "./processes";
import { type Program, programPath } from "./programs";
import type { Progress } from "./progress";
import { inside, makeSandbox, SANDBOX } from "./sandbox";
import { type LabState, writeState } from "./state";
import { waitFor } from "./wait";

const READY_TIMEOUT_MS = 120_000;
const REQUEST_TIMEOUT_MS = 5000;
/** Time until SIGKILL: the API server would wait for open requests, which a lab does not need. */
const GRACE_MS = 1000;

/** Creates the namespaces and cgroups of a lab with a node, unless they exist. */
export async function startSandbox(lab: LabState, progress: Progress): Promise<void> {
  if (running(lab, SANDBOX) !== undefined) return;
  progress("creating the lab's network and cgroups");
  await makeSandbox(lab, makeCgroups(lab));
}

/**
 * Starts the missing ones of etcd, API server, controller-manager and scheduler, and waits until the API server is
 * ready. The controllers need more time: `waitForControllers`.
 */
export async function startControlPlane(lab: LabState, progress: Progress): Promise<void> {
  if (running(lab, "kube-apiserver") === undefined) progress("starting etcd and the API server");
  await startProgram(lab, "etcd", etcdArgs(lab));
  await startApiServer(lab);
  await startClients(lab);
}

export interface ApiServerChange {
  /** Replaces the earlier extra arguments; undefined keeps them. */
  extraArgs?: readonly string[];
  /** If true, ServiceAccount tokens are signed with a new key, and all earlier tokens become invalid. */
  newSigningKey?: boolean;
  /** It is away for this long. */
  awayMs?: number;
}

/** Restarts the API server with other arguments or another signing key, and waits until it is ready. */
export async function restartApiServer(lab: LabState, change: ApiServerChange, progress: Progress): Promise<void> {
  lab.extraApiServerArgs = [...(change.extraArgs ?? lab.extraApiServerArgs)];
  if (change.newSigningKey === true) {
    lab.signingKey++;
    await makeSigningKey(lab);
    // The controller-manager has tokens of the old key, and signs with the key that it was started with.
    await stop(lab, "kube-controller-manager", GRACE_MS);
  }
  writeState(lab);
  await stop(lab, "kube-apiserver", GRACE_MS);
  await sleep(change.awayMs ?? 0);
  await startControlPlane(lab, progress);
  await waitForControllers(lab);
}

/** Suspends a component: its connections stay open, and nothing is answered. Then waits until the control plane works again. */
export async function suspend(lab: LabState, component: Component, ms: number, progress: Progress): Promise<void> {
  mustRun(lab, component);
  const record = running(lab, component);
  if (record !== undefined) signal(record, "SIGSTOP");
  try {
    await sleep(ms);
  } finally {
    if (record !== undefined) signal(record, "SIGCONT");
  }
  await startControlPlane(lab, progress);
  await waitForControllers(lab);
}

/** Waits until the controller-manager provides what pods depend on. */
export async function waitForControllers(lab: LabState): Promise<void> {
  const what = "the controller-manager to create the first ServiceAccount";
  await waitForPath(lab, what, "/api/v1/namespaces/default/serviceaccounts/default", "kube-controller-manager");
}

/** The kubeconfig of one of the lab's components. */
export function componentKubeconfig(lab: LabState, user: User): string {
  const path = join(foldersOf(lab.name).kubeconfigs, `${user}.kubeconfig`);
  return writeKubeconfig(path, kubeconfig(lab, innerApiServerUrl(lab), tokenOf(lab, user)));
}

/** Returns status code and body of a GET as admin. */
export function get(lab: LabState, path: string): Promise<{ status: number; body: string }> {
  const options = {
    ca: readFileSync(pkiFiles(lab).ca),
    headers: { authorization: `Bearer ${tokenOf(lab, "admin")}` },
    timeout: REQUEST_TIMEOUT_MS,
    agent: false as const,
  };
  return new Promise((resolve, reject) => {
    const call = request(`${apiServerUrl(lab)}${path}`, options, response => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
      response.on("error", reject);
    });
    call.on("timeout", () => call.destroy(new Error(`no answer to ${path} within ${REQUEST_TIMEOUT_MS / 1000} s`)));
    call.on("error", reject);
    call.end();
  });
}

/** Waits until the API server answers a path with 200. */
async function waitForPath(lab: LabState, what: string, path: string, component: Component): Promise<void> {
  await waitFor({
    what,
    timeoutMs: READY_TIMEOUT_MS,
    until: async () => {
      const { status, body } = await get(lab, path);
      if (status !== 200) throw new Error(`${path} answered ${status}: ${body.slice(-300)}`);
      return true;
    },
    check: () => mustRun(lab, component),
    log: logOf(lab, component),
  });
}

/** Starts a component of the lab unless it runs. */
async function startProgram(lab: LabState, program: Program, args: readonly string[]): Promise<void> {
  await startComponent(lab, program, [programPath(lab, program), ...args]);
}

/** Starts a process in the lab's network unless it runs. */
export async function startComponent(
  lab: LabState,
  name: string,
  argv: readonly string[],
  namespaces: "network" | "network-and-mounts" = "network",
): Promise<void> {
  if (running(lab, name) !== undefined) return;
  const entered = lab.kind === "node" ? [...inside(lab, namespaces), ...argv] : argv;
  await start(lab, { name, argv: entered, group: lab.kind === "node" ? ownProcs(lab) : "" });
}

/** Throws if a component does not run but should. */
export function mustRun(lab: LabState, component: string): void {
  if (running(lab, component) === undefined) throw new Error(`${component} has ended`);
}

export function logOf(lab: LabState, component: string): string {
  return join(foldersOf(lab.name).logs, `${component}.log`);
}

async function startApiServer(lab: LabState): Promise<void> {
  const admin = kubeconfig(lab, apiServerUrl(lab), tokenOf(lab, "admin"));
  await startProgram(lab, "kube-apiserver", [...auditArgs(lab), ...apiServerArgs(lab)]);
  await waitForPath(lab, "the API server to be ready", "/readyz", "kube-apiserver");
  writeKubeconfig(foldersOf(lab.name).adminKubeconfig, admin);
}

async function startClients(lab: LabState): Promise<void> {
  const config = componentKubeconfig(lab, "kube-controller-manager");
  await startProgram(lab, "kube-controller-manager", controllerManagerArgs(lab, config));
  if (lab.kind === "node")
    await startProgram(lab, "kube-scheduler", schedulerArgs(componentKubeconfig(lab, "kube-scheduler")));
}
