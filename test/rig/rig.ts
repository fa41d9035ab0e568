import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { WaitError } from "../../src/core/errors";
import { Admin, eventually } from "../cluster/admin";
import { ClusterClient } from "../cluster/client";
import { install, OPERATOR } from "../cluster/installation";
import type { Lab } from "../lab";
import { foldersOf } from "../lab/folders";
import { bundleEntry } from "../operator/bundle";
import { leads, type OperatorOptions, OperatorProcess } from "../operator/process";
import { StandInNode } from "./node";
import { kubeconfigVia, RecordingProxy, type Upstream, upstreamOf } from "./proxy";
import type { Scene } from "./scenario";

/** Path of the operator's Lease. */
export const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${OPERATOR.namespace}/leases/controller-resilience`;
const CRES = "/apis/controller-resilience.io/v1alpha1";

/** Longer than a run with every write of every scenario. */
const TOKEN_LIFE = "12h";

/** Time limit for the operator to clean up, even if it has just lost the lead on a busy machine; in milliseconds. */
const CLEAR_MS = 180_000;

/** Time limit for a process to start, to take over, and to reconcile every object, on a busy machine; in milliseconds. */
const LEAD_MS = 180_000;

/** An operator process, and the proxy that is its only way to the API server. */
export interface Replica {
  readonly proxy: RecordingProxy;
  readonly operator: OperatorProcess;
}

/** A version of the operator. */
export interface Version {
  /** Bundles it into a folder, and returns the path. */
  readonly bundle: (folder: string) => Promise<string>;
  /** Installs its definitions and rights. */
  readonly install: (client: ClusterClient) => Promise<void>;
}

const PRESENT: Version = { bundle: bundleEntry, install };

/** A control plane with a proxy, and an operator process that reaches the API server only through that proxy. */
export class Rig implements Replica {
  operator: OperatorProcess;
  /** Further replicas. */
  readonly #replicas: Replica[] = [];
  /** When the operator was first seen to lead, by the monotonic clock. */
  #ledFromMs = Infinity;

  private constructor(
    readonly proxy: RecordingProxy,
    private readonly hands: Pick<Scene, "admin" | "client" | "node">,
    private readonly way: { readonly upstream: Upstream; readonly kubeconfig: string; readonly folder: string },
    private readonly how: Pick<OperatorOptions, "env" | "bundle">,
  ) {
    this.operator = this.#start();
  }

  /** Installs the operator on that lab and starts it. */
  static async up(lab: Lab, env: OperatorOptions["env"] = {}, version = PRESENT): Promise<Rig> {
    const folder = mkdtempSync(join(foldersOf(lab.name).folder, "rig-"));
    const bundle = await version.bundle(folder);
    const client = ClusterClient.of(lab);
    await version.install(client);
    const admin = Admin.of(lab);
    const upstream = upstreamOf(lab);
    const proxy = new RecordingProxy(upstream);
    await proxy.start();
    const node = new StandInNode(admin);
    await node.start();
    const { namespace, serviceAccount } = OPERATOR;
    const kubeconfig = await lab.serviceAccountKubeconfig(namespace, serviceAccount, TOKEN_LIFE);
    const rig = new Rig(proxy, { admin, client, node }, { upstream, kubeconfig, folder }, { env, bundle });
    try {
      await rig.operator.ready(LEAD_MS);
      await rig.#taken();
    } catch (error) {
      await rig.down();
      throw error;
    }
    return rig;
  }

  /** Stops everything. */
  async down(): Promise<void> {
    for (const { operator, proxy } of [...this.#replicas, this]) {
      await operator.stop();
      await proxy.stop();
    }
    await this.hands.node.stop();
    this.hands.admin.connection.close();
  }

  /** Starts another operator process with its own proxy, perhaps of another version. It ends with the rig. */
  async replica(bundle = this.how.bundle): Promise<Replica> {
    const proxy = new RecordingProxy(this.way.upstream);
    await proxy.start();
    const replica = { proxy, operator: this.#start(proxy, bundle) };
    this.#replicas.push(replica);
    await replica.operator.ready(LEAD_MS);
    return replica;
  }

  /** Creates a namespace for one run. */
  async scene(name: string): Promise<Scene> {
    const namespace = await this.hands.admin.namespace(`rig-${name}`);
    const untilLedFor = (ms: number): Promise<void> => sleep(Math.max(0, this.#ledFromMs + ms - performance.now()));
    return { ...this.hands, namespace, untilLedFor };
  }

  /** Starts another process after the last one has ended. */
  async succeed(): Promise<void> {
    this.operator = this.#start();
    await this.operator.ready(LEAD_MS);
    await this.#taken();
  }

  /** Deletes the objects of these namespaces, and the namespaces once the operator has cleaned up. */
  async clear(namespaces: readonly string[]): Promise<void> {
    for (const namespace of namespaces) {
      await this.hands.admin.delete(`${CRES}/namespaces/${namespace}/controllerresiliences`);
    }
    const left = await eventually(
      async () => (await this.#objects()).filter(namespace => namespaces.includes(namespace)),
      found => found.length === 0,
      CLEAR_MS,
    );
    if (left.length > 0) throw new Error(`${left.length} objects are still there after ${CLEAR_MS / 1000} s`);
    for (const namespace of namespaces) await this.hands.admin.delete(`/api/v1/namespaces/${namespace}`);
  }

  /** Waits until the operator leads and has reconciled every object: earlier observations mean nothing. */
  async #taken(): Promise<void> {
    const { length } = await this.#objects();
    const metrics = await eventually(
      async () => (await this.operator.probe("/metrics")).text,
      text => leads(text) && passesIn(text) >= length,
      LEAD_MS,
    );
    if (!leads(metrics) || passesIn(metrics) < length) throw new Error("the operator does not lead");
    this.#ledFromMs = performance.now();
  }

  /** Namespaces with ControllerResiliences. */
  async #objects(): Promise<string[]> {
    const path = `${CRES}/controllerresiliences`;
    const list = await eventually(
      () => this.hands.admin.get<{ items: { metadata: { namespace: string } }[] }>(path).catch(whileItBegins),
      answer => answer !== undefined,
      LEAD_MS,
    );
    if (list === undefined) throw new Error("the API server does not serve ControllerResiliences");
    return list.items.map(({ metadata }) => metadata.namespace);
  }

  #start({ url } = this.proxy, bundle = this.how.bundle): OperatorProcess {
    return OperatorProcess.start({ ...this.how, bundle, kubeconfig: this.#writeKubeconfig(url) });
  }

  #writeKubeconfig(url: string): string {
    const path = join(this.way.folder, `${new URL(url).port}.kubeconfig`);
    writeFileSync(path, kubeconfigVia(url, this.way.kubeconfig), { mode: 0o600 });
    return path;
  }
}

const LOOK_MS = 100;

/** Polls these replicas until called; then returns how often it looked, and how often all led. */
export function watchLeaders(replicas: readonly Replica[]): () => Promise<{ all: number; looks: number }> {
  const seen = { all: 0, looks: 0 };
  const state = { isOver: false };
  const looking = (async () => {
    while (!state.isOver) {
      const leading = await Promise.all(replicas.map(({ operator }) => operator.leads()));
      seen.looks++;
      if (leading.every(Boolean)) seen.all++;
      await sleep(LOOK_MS);
    }
  })();
  return async () => {
    state.isOver = true;
    await looking;
    return seen;
  };
}

/** Number of passes of the operator, over all objects. */
export function passesIn(metrics: string): number {
  const found = metrics.matchAll(
    // The first versions had no other controller, and no such label.
    /^controller_resilience_reconciles_total\{(?:controller="controllerresilience",|result).*\} (\d+)$/gm,
  );
  return [...found].reduce((sum, [, passes]) => sum + Number(passes), 0);
}

/** The API server answers 429 for a moment after a kind was installed. */
function whileItBegins(error: unknown): undefined {
  if (!(error instanceof WaitError)) throw error;
}
