import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { Entry, Sight, Truth } from "../checker/sight";
import { Cluster } from "../cluster/cluster";
import { handlesWidgets, install, type WorkloadPlan } from "../cluster/install";
import type { LogLine } from "../operator";
import { METRICS_PORT } from "../programs/widgets";
import { Access } from "../server/access";
import { Answer } from "../server/answer";
import { installDefinitions } from "../server/bootstrap";
import { attempt, type NewObj, type Obj } from "../server/objects";
import { ApiServers, networkError } from "../server/api-servers";
import { Store } from "../server/store";
import { Dice, START_MS, VirtualClock } from "../time";
import { Faults } from "./faults";
import { OperatorPod } from "./operators";

import type { BindingPlan, Happening, Plan } from "./plan";
import { installWidgets } from "./widgets";

// A world: what a plan says, brought to life.

/** What the operator's manifests install, by kind: its definitions, its rights, its ServiceAccount, and the flows of its own requests. */
const INSTALLED = new Set([
  ...["Namespace", "CustomResourceDefinition", "ServiceAccount", "FlowSchema"],
  ...["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
]);

/** The role of the expiring bindings; the operator may bind it, as an installer allows. */
const TEMPORARY = "temporary-access";

/** Read once per process. */
let manifests: readonly NewObj[] | undefined;

function installed(): readonly NewObj[] {
  manifests ??= parseAllDocuments(readFileSync(join(__dirname, "../../../deploy/install.yaml"), "utf8"))
    .map(document => document.toJS() as NewObj | null)
    .filter((object): object is NewObj => object !== null && INSTALLED.has(object.kind ?? ""));
  return manifests;
}

/** A simulated cluster with the operator in it. */
export class World implements Sight {
  readonly clock = new VirtualClock();
  readonly store: Store;
  readonly access: Access;
  readonly cluster: Cluster;
  readonly servers: ApiServers;
  readonly faults: Faults;
  readonly operators: OperatorPod[] = [];
  /** What the operators log, for those who look into a seed. */
  readonly logs: { readonly pod: string; readonly line: LogLine }[] = [];
  /** Pages of metrics instead of their own, by `namespace/name` of their workload; null: no answer comes. */
  readonly oddPages = new Map<string, string | null>();
  /** Blocks of objects in which someone has edited a field for a while, by `namespace/name block`. */
  readonly edits = new Set<string>();
  readonly #dice: Dice;

  constructor(readonly plan: Plan) {
    const dice = new Dice(plan.seed);
    this.#dice = dice;
    const { clock } = this;
    this.store = new Store(clock, dice);
    this.access = new Access({ clock, dice, store: this.store, servers: plan.servers });
    this.servers = new ApiServers({
      ...{ clock, dice, store: this.store, access: this.access, servers: plan.servers },
      runtime: { logs: (pod, container, options) => this.cluster.logs(pod, container, options) },
    });
    this.faults = new Faults({ dice: dice.fork("faults"), servers: this.servers });
    this.cluster = new Cluster({ clock, dice, store: this.store, access: this.access, servers: this.servers });
  }

  /** Creates everything. The operators start when the workloads run. */
  start(): void {
    const { plan, cluster, store, clock } = this;
    for (let at = 0; at < plan.nodes; at++) cluster.addNode(`node-${at}`);
    for (const name of ["kube-system", "default"]) cluster.addNamespace(name);
    installDefinitions(store);
    this.#installManifests();
    this.#allowBinding();
    for (const workload of plan.workloads) this.#install(workload);
    for (const binding of plan.bindings) this.#bind(binding);
    clock.after(90_000, () => this.protect());
    for (const [at, offsetMs] of plan.operators.entries())
      clock.after(100_000 + 3_000 * at, () => this.operators.push(this.#operator(at, offsetMs)));
  }

  metrics(): Promise<string[]> {
    return Promise.all(this.operators.flatMap(({ process }) => process?.metrics() ?? []));
  }

  /** Ends all processes. */
  end(): void {
    for (const { process } of this.operators) process?.kill();
  }

  truths(): readonly Truth[] {
    return this.cluster.truths();
  }

  onRequest(listener: (entry: Entry) => void): void {
    this.servers.listeners.add(listener);
  }

  calmSinceMs(namespace?: string): number {
    const nowMs = this.clock.monotonicMs();
    const past = this.plan.happenings.filter(one => one.atMs <= nowMs && concerns(one, namespace));
    const lastsMs = ({ what, forMs = 0 }: Happening): number =>
      namespace !== undefined && ENDURES.test(what) ? Infinity : forMs;
    return nowMs - Math.max(0, ...past.map(one => Math.min(nowMs, one.atMs + lastsMs(one))));
  }

  refusedMs(): number {
    return this.servers.refusedMs;
  }

  /** GET /metrics of a pod. */
  scrape(
    { address, port }: { readonly address: string; readonly port: number },
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const { pod, page: own } = this.cluster.pageAt(address);
    const odd = this.oddPages.get(`${pod?.metadata.namespace}/${pod?.metadata.labels?.["app"]}`);
    const page = odd === undefined || own === undefined ? own : odd;
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      if (page === null) return;
      const answer = new Answer(200, { "content-type": "text/plain; version=0.0.4" });
      answer.push(Buffer.from(page ?? ""));
      answer.end();
      const isThere = page !== undefined && port === METRICS_PORT;
      this.clock.after(3, () => (isThere ? resolve(answer.message) : reject(networkError("ECONNREFUSED"))));
    });
  }

  /** The pods of the workload of `namespace/name`. */
  podsOf(key = ""): readonly Obj[] {
    const [namespace = "", name = ""] = key.split("/");
    return this.store.list("pods", namespace).filter(({ metadata }) => metadata.labels?.["app"] === name);
  }

  /** One of the nodes that answer. */
  someNode(): string | undefined {
    const nodes = this.store.list("nodes").map(({ metadata }) => metadata.name);
    return nodes.length === 0 ? undefined : this.#dice.fork(`node ${this.clock.monotonicMs()}`).pick(nodes);
  }

  /** Creates what the plan has in a namespace, as soon as the old one is gone. */
  reinstall(namespace: string): void {
    const isThere = this.store.get("namespaces", undefined, namespace) !== undefined;
    if (isThere) {
      this.clock.after(15_000, () => this.reinstall(namespace));
      return;
    }
    const inside = (one: { readonly namespace?: string }): boolean => one.namespace === namespace;
    for (const workload of this.plan.workloads.filter(inside)) attempt(() => this.#install(workload));
    for (const binding of this.plan.bindings.filter(inside)) attempt(() => this.#bind(binding));
    this.protect();
  }

  /** Creates the plan's objects, those of them that are missing. */
  protect(): void {
    for (const { namespace, name, spec } of this.plan.objects)
      attempt(() =>
        this.store.create(namespace === undefined ? "clustercontrollerresiliences" : "controllerresiliences", {
          metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
          spec,
        }),
      );
  }

  #installManifests(): void {
    for (const object of installed()) {
      const resource = `${object.kind!.toLowerCase()}s`;
      const { namespace, name = "" } = object.metadata;
      // With a separate uid, what is installed in addition changes no other draw.
      if (this.store.get(resource, namespace, name) === undefined)
        this.store.create(resource, object, resource === "flowschemas" ? `installed-${name}` : undefined);
    }
  }

  #operator(at: number, offsetMs: number): OperatorPod {
    const { clock, store, access, servers } = this;
    return new OperatorPod(
      {
        ...{ clock, store, access, dice: this.#dice.fork("operators") },
        send: (request, signal) => servers.send(request, signal),
        scrape: (request, signal) => this.scrape(request, signal),
        onLog: (pod, line) => this.logs.push({ pod, line }),
      },
      at,
      offsetMs,
    );
  }

  #install(workload: WorkloadPlan): void {
    this.cluster.addNamespace(workload.namespace, { team: workload.namespace });
    install(this.cluster, { ...workload, labels: { protect: "yes" } });
    if (handlesWidgets(workload)) installWidgets(this, workload, this.#dice.fork(`widgets ${workload.name}`));
  }

  #bind({ namespace, name, account, expiresMs, lifeMs, consents, annotations }: BindingPlan): void {
    const expires = new Date(START_MS + expiresMs).toISOString().replace(/\.\d+/, "");
    this.store.create("rolebindings", {
      metadata: {
        ...{ namespace, name },
        annotations: {
          "controller-resilience.io/expires-at": expires,
          "controller-resilience.io/life-seconds": String(lifeMs / 1_000),
          ...(consents ? { "controller-resilience.io/renew": "true" } : {}),
          ...annotations,
        },
      },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: TEMPORARY },
      subjects: [{ kind: "ServiceAccount", namespace, name: account }],
    });
  }

  /** What an installer grants for bindingRenewal (docs/remedies/binding-renewal.md). */
  #allowBinding(): void {
    const { store } = this;
    const apiGroups = ["rbac.authorization.k8s.io"];
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }];
    store.create("clusterroles", { metadata: { name: TEMPORARY }, rules });
    const name = "controller-resilience-renew";
    store.create("clusterroles", {
      metadata: { name },
      rules: [
        { apiGroups, resources: ["clusterroles"], resourceNames: [TEMPORARY], verbs: ["bind", "get"] },
        { apiGroups, resources: ["rolebindings"], verbs: ["patch"] },
      ],
    });
    store.create("clusterrolebindings", {
      metadata: { name },
      roleRef: { apiGroup: apiGroups[0], kind: "ClusterRole", name },
      subjects: [{ kind: "ServiceAccount", namespace: "controller-resilience-system", name: "controller-resilience" }],
    });
  }
}

/** From then on it disturbs whom it concerns, again and again. */
const ENDURES = /^(git-.*(workload|object)|autoscaler|rolls-out-often)$/;

/** What happens to an object of another namespace, or to one API server of several, is none of a namespace's business. */
function concerns({ what, on = "" }: Happening, namespace: string | undefined): boolean {
  if (namespace === undefined || on === "" || on.startsWith("/")) return true;
  if (/^\d+$/.test(on)) return what !== "server-down";
  return on.split("/", 1)[0] === namespace;
}
