import { readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { ClusterClient } from "../cluster/client";
import { auditLogOf } from "./audit";
import { writeCniConfig, type CniPlugin } from "./cni";
import { run, type CommandOptions, type CommandResult } from "./commands";
import { apiServerUrl, type Component } from "./components";
import { restartApiServer, suspend, type ApiServerChange } from "./control-plane";
import { bringDown } from "./down";
import { foldersOf } from "./folders";
import { configureKwok, kwokNodes, startKwok, waitForKwokNodes } from "./kwok";
import { askedMinor, type Minor } from "./kubernetes";
import { kubeconfig, pkiFiles, writeKubeconfig } from "./pki";
import { helm, helmProgram } from "./helm";
import { link, programPath } from "./programs";
import { takeLock } from "./lock";
import { loadImage, restartKubelet } from "./node";
import { silent, type Progress } from "./progress";
import { type LabState, readState, writeState } from "./state";
import { bringUp } from "./up";

export interface LabOptions {
  /** "lab" by default. */
  name?: string;
  controlPlaneOnly?: boolean;
  /** The lab outlives this process; by default, a new lab ends with it. */
  stays?: boolean;
  onProgress?: Progress;
  /** The API server of a new lab records these users' requests: {@link Lab.auditLogPath}. */
  auditedUsers?: readonly string[];
  /** The minor version of Kubernetes; by default that of LAB_KUBERNETES. */
  kubernetes?: Minor | undefined;
}

const TOKEN_DURATION = "1h";
/** Longer than building kwok takes. */
const CHANGE_TIMEOUT_MS = 1_800_000;

/** A cluster of real Kubernetes components on this machine. */
export class Lab {
  private constructor(
    private readonly state: LabState,
    private readonly progress: Progress,
  ) {}

  /** Brings a lab up; quick if it is up already. */
  static async up(options: LabOptions = {}): Promise<Lab> {
    const { name = "lab", controlPlaneOnly = false, stays = false, onProgress = silent, auditedUsers } = options;
    const { kubernetes = askedMinor() } = options;
    const state = await bringUp({ name, controlPlaneOnly, stays, progress: onProgress, auditedUsers, kubernetes });
    return new Lab(state, onProgress);
  }

  /** Returns a lab that is up; undefined if there is none of this name. */
  static find(name = "lab", onProgress: Progress = silent): Lab | undefined {
    const state = readState(name);
    return state?.phase === "ready" ? new Lab(state, onProgress) : undefined;
  }

  /** Whether the lab outlives the process that brought it up. */
  get stays(): boolean {
    return this.state.owner === undefined;
  }

  get name(): string {
    return this.state.name;
  }

  /** The version of Kubernetes, such as v1.36.3. */
  get version(): string {
    return this.state.version;
  }

  /** Whether the lab has a kubelet and runs pods. */
  get hasNode(): boolean {
    return this.state.kind === "node";
  }

  /** The URL of the API server for programs on this machine. */
  get server(): string {
    return apiServerUrl(this.state);
  }

  /** The path of the kubeconfig of an administrator. */
  get kubeconfigPath(): string {
    return foldersOf(this.name).adminKubeconfig;
  }

  /** The API server's certificate and key, and their authority, for proxies on this machine. PEM. */
  get certificates(): { readonly ca: string; readonly key: string; readonly cert: string } {
    const { ca, apiServerKey, apiServerCertificate } = pkiFiles(this.state);
    const read = (path: string): string => readFileSync(path, "utf8");
    return { ca: read(ca), key: read(apiServerKey), cert: read(apiServerCertificate) };
  }

  /** The environment in which `kubectl`, and every client that reads KUBECONFIG, uses this lab. */
  get environment(): NodeJS.ProcessEnv {
    const host = new URL(this.server).hostname;
    const noProxy = [process.env["NO_PROXY"], host].filter(Boolean).join(",");
    return {
      ...process.env,
      KUBECONFIG: this.kubeconfigPath,
      PATH: [foldersOf(this.name).programs, process.env["PATH"]].join(delimiter),
      NO_PROXY: noProxy,
      no_proxy: noProxy,
    };
  }

  /** The path of the API server's audit log; it exists only with `auditedUsers`. */
  get auditLogPath(): string {
    return auditLogOf(this.name);
  }

  /** Runs the lab's kubectl as administrator; a failure is returned, not thrown. */
  kubectl(args: readonly string[], options: Pick<CommandOptions, "stdin" | "timeoutMs"> = {}): Promise<CommandResult> {
    return run([programPath(this.state, "kubectl"), ...args], { ...options, env: this.environment });
  }

  /** Runs Helm as administrator; a failure is returned. From then on Helm is on the PATH of {@link environment}. */
  async helm(args: readonly string[]): Promise<CommandResult> {
    link(await helmProgram(this.progress), join(foldersOf(this.name).programs, "helm"));
    return helm(args, { env: this.environment });
  }

  /** The path of a kubeconfig with the rights of a ServiceAccount: a real token, from the API server's TokenRequest. */
  async serviceAccountKubeconfig(namespace: string, name: string, duration = TOKEN_DURATION): Promise<string> {
    const args = ["create", "token", name, `--namespace=${namespace}`, `--duration=${duration}`];
    const { stdout, stderr, code } = await this.kubectl(args);
    if (code !== 0) throw new Error(`no token for ServiceAccount ${namespace}/${name}: ${stderr.trim()}`);
    const path = join(foldersOf(this.name).kubeconfigs, `${namespace}.${name}.kubeconfig`);
    return writeKubeconfig(path, kubeconfig(this.state, this.server, stdout.trim()));
  }

  /** Restarts the API server with other arguments or another signing key, and waits until it is ready. */
  async restartApiServer(change: ApiServerChange = {}): Promise<void> {
    await this.change(state => restartApiServer(state, change, this.progress));
  }

  /** Suspends a component of the control plane, such as `etcd`, for a while. */
  async suspend(component: Component, ms: number): Promise<void> {
    await this.change(state => suspend(state, component, ms, this.progress));
  }

  /** Restarts the node's kubelet while its pods keep running, and waits until it is ready again. */
  async restartKubelet(): Promise<void> {
    await this.change(state => restartKubelet(state, this.progress));
  }

  /** Loads an image from a tar into the node; pods use it with `imagePullPolicy: Never`. */
  async loadImage(tar: string): Promise<void> {
    await loadImage(this.state, tar);
  }

  /** Chains a CNI plugin after the bridge for all new pods; without a plugin, removes it. */
  chainCniPlugin(plugin?: CniPlugin): void {
    if (!this.hasNode) throw new Error(`the lab "${this.name}" has no node`);
    writeCniConfig(this.state, plugin);
  }

  /** The folder on this machine of a folder below /var/lib of the lab's node. */
  nodeFolder(name: string): string {
    return join(foldersOf(this.name).node, "lib", name);
  }

  /** Adds simulated nodes and waits until they are Ready. A taint keeps away pods that do not tolerate `kwok.x-k8s.io/node`. */
  async addKwokNodes(count: number): Promise<void> {
    await this.change(async state => {
      await startKwok(state, this.progress);
      await ClusterClient.of(this).apply(kwokNodes(state.kwokNodes, count));
      state.kwokNodes += count;
      writeState(state);
      await waitForKwokNodes(state);
    });
  }

  /** Restarts kwok with these configuration files (stages, ClusterLogs, ...) in addition to its default ones. */
  async configureKwok(files: readonly string[]): Promise<void> {
    await this.change(state => configureKwok(state, files, this.progress));
  }

  /** Stops all processes of the lab, and removes everything it created. */
  async down(): Promise<void> {
    await bringDown(this.name);
  }

  /** Runs an action under the lab's lock, with its current state. */
  private async change(action: (state: LabState) => Promise<void>): Promise<void> {
    const lock = await takeLock({ path: foldersOf(this.name).lock, timeoutMs: CHANGE_TIMEOUT_MS });
    try {
      const state = readState(this.name);
      if (state?.id !== this.state.id) throw new Error(`the lab "${this.name}" was taken down`);
      await action(state);
    } finally {
      lock.release();
    }
  }
}
