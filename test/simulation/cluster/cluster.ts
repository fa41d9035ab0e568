import type { Clock } from "../../../src/core/time";
import type { ProgramFactory, Truth } from "../programs/program";
import type { Access } from "../server/access";
import { type Obj, Refusal } from "../server/objects";
import type { Store } from "../server/store";
import type { Dice } from "../time";
import { Disruptions, GarbageCollector, giveAccount, Namespaces, NodeWatch } from "./caretakers";
import { Children, type Ground, nodeOf, type Servers, workloadOf } from "./ground";
import { Kubelets } from "./kubelet";
import type { LogOptions } from "./log-store";
import type { ContainerTruth, PodRun } from "./pod-run";
import { Deployments, ReplicaSets } from "./deployments";
import { Scheduler } from "./scheduler";
import { Tokens } from "./tokens";
import { DaemonSets, StatefulSets } from "./workloads";

/** The truth about one container of a pod, from the world alone. Of a pod that is being deleted a new one is judged as it was when that began. */
export interface PodTruth extends ContainerTruth {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  /** Kind and name, such as `Deployment/app-3`; empty for a bare pod. */
  readonly workload: string;
  /** Since when it is in that state for that cause, in milliseconds from the start of the world. */
  readonly sinceMs: number;
}

/** What is known of a pod that runs. */
interface Known {
  readonly workload: string;
  /** Of each container. */
  readonly truths: PodTruth[];
}

/** What a cluster is made of. */
export interface ClusterParts {
  readonly clock: Clock;
  readonly dice: Dice;
  readonly store: Store;
  readonly access: Access;
  readonly servers: Servers;
}

/** The simulated cluster: controllers, scheduler, nodes and kubelets on a store. */
export class Cluster {
  readonly ground: Ground;
  readonly #tokens: Tokens;
  readonly #kubelets: Kubelets;
  readonly #controllers: readonly { catchUp(): void }[];
  readonly #nodes: NodeWatch;
  readonly #known = new Map<PodRun, Known>();
  /** Several checks ask at the same moment. */
  #asked: { readonly mark: string; readonly truths: readonly PodTruth[] } = { mark: "", truths: [] };
  #changes = 0;

  constructor({ clock, dice, store, access, servers }: ClusterParts) {
    this.ground = {
      ...{ clock, dice: dice.fork("cluster"), store, access, servers },
      ...{ images: new Map(), podRefusals: new Set(), tokenRefusals: new Set(), programFaults: new Set() },
      ...{ hashes: new Map(), addresses: 0 },
      children: new Children(store),
    };
    this.#tokens = new Tokens(this.ground);
    this.#kubelets = new Kubelets(this.ground, this.#tokens);
    this.#nodes = new NodeWatch(this.ground);
    // Who sees a change first draws first.
    const sets = new ReplicaSets(this.ground);
    const others = [Deployments, StatefulSets, DaemonSets, Scheduler].map(start => new start(this.ground));
    this.#controllers = [others[0]!, sets, ...others.slice(1)];
    for (const start of [GarbageCollector, Namespaces, Disruptions]) new start(this.ground);
    for (const resource of ["serviceaccounts", "rolebindings", "clusterrolebindings", "roles", "clusterroles"])
      store.subscribe(resource, () => this.#observe());
  }

  /** Says what an image contains. */
  addImage(image: string, program: ProgramFactory): void {
    this.ground.images.set(image, program);
  }

  /** Creates a namespace, unless it is there. */
  addNamespace(name: string, labels: Readonly<Record<string, string>> = {}): void {
    const { store } = this.ground;
    if (store.get("namespaces", undefined, name) !== undefined) return;
    const spec = { finalizers: ["kubernetes"] };
    store.create("namespaces", {
      metadata: { name, labels: { ...labels, "kubernetes.io/metadata.name": name } },
      spec,
      status: { phase: "Active" },
    });
    giveAccount(store, name);
  }

  /** A node joins. */
  addNode(name: string): void {
    const { store } = this.ground;
    this.#kubelets.join(name);
    const ready = { type: "Ready", status: "True", reason: "KubeletReady", lastTransitionTime: store.time() };
    store.create("nodes", {
      metadata: { name, labels: { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux" } },
      spec: {},
      status: { allocatable: { pods: "110" }, conditions: [ready] },
    });
  }

  /** A node is switched off for ever, and deleted. */
  removeNode(name: string): void {
    this.#kubelets.leave(name);
    if (this.ground.store.get("nodes", undefined, name) !== undefined)
      this.ground.store.delete("nodes", undefined, name);
    this.changed();
  }

  /** The kubelet of a node no longer answers, and its pods lose the network as well. */
  loseNode(name: string): void {
    this.#kubelets.lose(name);
    this.#nodes.lost(name);
    this.changed();
  }

  /** The node is back. */
  regainNode(name: string): void {
    this.#kubelets.regain(name);
    this.#nodes.found(name);
    this.changed();
  }

  /** Sets the clock of a node. */
  setNodeClock(name: string, offsetMs: number): void {
    const machine = this.#kubelets.machine(name);
    if (machine !== undefined) machine.clockOffsetMs = offsetMs;
  }

  /** Keys, nodes or servers changed: the truth is asked again. Call it after a rotation of keys. */
  changed(): void {
    this.#changes++;
    this.#tokens.changed();
    this.#observe();
  }

  /** After a restore of the store from a backup: all controllers and kubelets look at everything again. */
  catchUp(): void {
    this.ground.hashes.clear();
    this.ground.children.catchUp();
    for (const controller of this.#controllers) controller.catchUp();
    this.#kubelets.catchUp();
    this.#nodes.catchUp();
    // The cloud's controller deletes the nodes that have no machine any more.
    for (const { metadata } of this.ground.store.list("nodes"))
      if (this.#kubelets.machine(metadata.name) === undefined) this.removeNode(metadata.name);
    this.changed();
  }

  /** What a kubelet answers for pods/log; undefined: it has no such log. @throws Refusal 500 while it does not answer */
  logs(pod: Obj, container: string, options: LogOptions = {}): string | undefined {
    if (nodeOf(pod) !== "" && !this.isReachable(pod))
      throw new Refusal(
        500,
        "InternalError",
        'Get "https://192.0.2.10:10250/containerLogs": dial tcp 192.0.2.10:10250: connect: no route to host',
      );
    const run = this.#kubelets.runs.get(pod.metadata.uid);
    return run?.logOf(container, options.previous === true)?.read(options);
  }

  /** The pod of an address, and what it answers for /metrics; undefined: nothing listens there; null: no answer comes. */
  pageAt(address: string): { readonly pod?: Obj; readonly page: string | undefined | null } {
    const pod = this.ground.store.list("pods").find(({ status }) => status?.podIP === address);
    if (pod === undefined || this.#kubelets.machine(nodeOf(pod))?.isUp !== true) return { page: null };
    return { pod, page: this.#kubelets.runs.get(pod.metadata.uid)?.page() };
  }

  /** Writes a record into a log that its program has not written; it looks like an own 401. */
  forgeLog({ metadata: { uid } }: Obj, container: string, record: string): void {
    const slots = this.#kubelets.runs.get(uid)?.slots ?? [];
    slots.find(({ spec }) => spec.name === container)?.life?.forgeLog(record);
  }

  /** The node of a pod answers, so its log can be read. */
  isReachable(pod: Obj): boolean {
    return this.#kubelets.machine(nodeOf(pod))?.isUp === true;
  }

  /** The truth about every container of every pod that is bound to a node. What is as before is told by the same object. */
  truths(): readonly PodTruth[] {
    const { clock, store, access, tokenRefusals } = this.ground;
    const version = [store.revision, access.keysVersion, tokenRefusals.size, this.#changes];
    const mark = `${clock.monotonicMs()}/${version.join("/")}`;
    if (mark !== this.#asked.mark) {
      const truths: PodTruth[] = [];
      for (const pod of store.list("pods")) this.#addTruths(pod, truths);
      this.#asked = { mark, truths };
    }
    return this.#asked.truths;
  }

  #addTruths(pod: Obj, truths: PodTruth[]): void {
    const run = this.#kubelets.runs.get(pod.metadata.uid);
    if (run === undefined) return;
    const known = this.#known.get(run) ?? { workload: workloadOf(pod) ?? "", truths: [] };
    this.#known.set(run, known);
    for (const [at, one] of run.truths().entries()) {
      const before = known.truths[at];
      const truth = overruled(pod, run, one);
      if (before === undefined || !isAsBefore(before, truth))
        known.truths[at] = this.#newTruth(pod, truth, known.workload, before);
      truths.push(known.truths[at]!);
    }
  }

  #newTruth(pod: Obj, truth: ContainerTruth, workload: string, before: PodTruth | undefined): PodTruth {
    const { uid, namespace = "", name } = pod.metadata;
    const isSame = before?.state === truth.state && before.cause === truth.cause;
    const sinceMs = isSame ? before.sinceMs : this.ground.clock.monotonicMs();
    return { ...truth, uid, namespace, name, node: nodeOf(pod), workload, sinceMs };
  }

  /** Notes since when each state lasts. */
  #observe(): void {
    this.truths();
    for (const run of this.#known.keys())
      if (this.#kubelets.runs.get(run.pod.metadata.uid) !== run) this.#known.delete(run);
  }
}

/** What the node and the life of the pod say, before its program has a say. */
function overruled(pod: Obj, run: PodRun, truth: ContainerTruth): ContainerTruth {
  if (run.isStopping) return truth;
  if (pod.metadata.deletionTimestamp !== undefined) return { ...truth, ...TERMINATING };
  return run.isReachable ? truth : { ...truth, ...UNREACHABLE };
}

const TERMINATING: Truth = { state: "terminating", cause: "terminating", healedByRestart: false };
const UNREACHABLE: Truth = { state: "unreachable", cause: "node-away", healedByRestart: false };

function isAsBefore(before: ContainerTruth, now: ContainerTruth): boolean {
  const { state, cause, healedByRestart, logged401Ms, isTokenDead } = now;
  const isSame = before.state === state && before.cause === cause && before.healedByRestart === healedByRestart;
  return isSame && before.logged401Ms === logged401Ms && before.isTokenDead === isTokenDead;
}
