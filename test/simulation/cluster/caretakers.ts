import { attempt, isReady, type Meta, type Obj, same } from "../server/objects";
import { matches } from "../server/selectors";
import type { Store } from "../server/store";
import { Agenda, type Ground, isAlive, keyOfObject, nodeOf, nowMs, setCondition, share, split } from "./ground";

// Small controllers: garbage collection, namespaces, nodes, PodDisruptionBudgets.

/** Resources whose objects go with their owner, in the order in which a namespace is emptied. */
const OWNED = ["replicasets", "pods", "controllerrevisions", "leases", "configmaps"] as const;
const OWNERS = ["deployments", "replicasets", "statefulsets", "daemonsets"] as const;

/** What is in a namespace. */
const CONTENTS = [
  ...["deployments", "statefulsets", "daemonsets", "replicasets", "pods", "rolebindings", "roles", "serviceaccounts"],
  ...["leases", "events", "configmaps", "secrets", "poddisruptionbudgets", "resourcequotas", "controllerresiliences"],
];

/** Deletes what a deleted owner leaves. */
export class GarbageCollector {
  constructor(private readonly ground: Ground) {
    for (const resource of OWNERS)
      ground.store.subscribe(resource, ({ type, object }) => {
        if (type === "DELETED") ground.clock.after(ground.dice.between(100, 1_500), () => this.#collect(object));
      });
  }

  #collect(owner: Obj): void {
    const { store } = this.ground;
    for (const resource of OWNED)
      for (const { metadata } of store.list(resource, owner.metadata.namespace)) {
        const owners = metadata.ownerReferences ?? [];
        const isOrphan = owners.some(({ uid }) => uid === owner.metadata.uid) && owners.length === 1;
        if (isOrphan) remove(this.ground, resource, metadata);
      }
  }
}

function remove({ store }: Ground, resource: string, { namespace, name }: Pick<Meta, "namespace" | "name">): void {
  attempt(() => void store.delete(resource, namespace, name));
}

/** Gives each namespace its default ServiceAccount, and empties those that are being deleted. */
export class Namespaces {
  readonly #agenda: Agenda;

  constructor(private readonly ground: Ground) {
    const { store, clock, dice } = ground;
    this.#agenda = new Agenda(clock, name => this.#look(name));
    store.subscribe("namespaces", ({ type, object }) => {
      if (type !== "DELETED") this.#agenda.add(object.metadata.name, dice.between(50, 500));
    });
    store.subscribe("serviceaccounts", ({ type, object }) => {
      if (type === "DELETED" && object.metadata.name === "default")
        this.#agenda.add(object.metadata.namespace ?? "", dice.between(50, 500));
    });
  }

  #look(name: string): void {
    const { store, dice } = this.ground;
    const namespace = store.get("namespaces", undefined, name);
    if (namespace === undefined) return;
    if (namespace.metadata.deletionTimestamp === undefined) {
      giveAccount(store, name);
      return;
    }
    let left = 0;
    for (const resource of CONTENTS)
      for (const { metadata } of store.kind(resource)?.isNamespaced === true ? store.list(resource, name) : []) {
        left++;
        if (metadata.deletionTimestamp === undefined) remove(this.ground, resource, metadata);
      }
    if (left > 0) {
      this.#agenda.add(name, dice.between(1_000, 5_000));
      return;
    }
    store.update("namespaces", undefined, name, draft => void (draft.spec!.finalizers = []));
  }
}

/** Each namespace has a default ServiceAccount. */
export function giveAccount(store: Store, namespace: string): void {
  if (store.get("serviceaccounts", namespace, "default") === undefined)
    store.create("serviceaccounts", { metadata: { namespace, name: "default" } });
}

/** A node that is silent for this long is NotReady; its pods are evicted later. In milliseconds. */
const NODE_GRACE_MS = 40_000;
const EVICTION_MS = 300_000;

/** The node lifecycle controller. */
export class NodeWatch {
  /** Nodes that do not answer, and since when. */
  readonly #away = new Map<string, number>();

  constructor(private readonly ground: Ground) {
    ground.store.subscribe("nodes", ({ type, object }) => {
      if (type === "DELETED") this.#clearLater(object.metadata.name);
    });
  }

  /** Pods of a backup may be on nodes that neither it nor the cluster has. */
  catchUp(): void {
    const { store } = this.ground;
    for (const node of new Set(store.list("pods").map(nodeOf)))
      if (node !== "" && store.get("nodes", undefined, node) === undefined) this.#clearLater(node);
  }

  /** The kubelet of a node no longer answers. */
  lost(node: string): void {
    const now = nowMs(this.ground);
    this.#away.set(node, now);
    const still = (): boolean => this.#away.get(node) === now;
    this.ground.clock.after(NODE_GRACE_MS, () => still() && this.#mark(node, "Unknown"));
    this.ground.clock.after(NODE_GRACE_MS + EVICTION_MS, () => still() && this.#evict(node));
  }

  /** It answers again. */
  found(node: string): void {
    if (this.#away.delete(node)) this.#mark(node, "True");
  }

  #mark(node: string, status: "True" | "Unknown"): void {
    const { store } = this.ground;
    const reason = status === "True" ? "KubeletReady" : "NodeStatusUnknown";
    if (store.get("nodes", undefined, node) === undefined) return;
    store.update("nodes", undefined, node, draft =>
      setCondition(draft, { type: "Ready", status, reason }, store.time()),
    );
    if (status === "True") return;
    for (const { metadata } of this.#podsOn(node))
      store.update("pods", metadata.namespace, metadata.name, draft =>
        setCondition(draft, { type: "Ready", status: "False", reason: "NodeNotReady" }, store.time()),
      );
  }

  /** Pods of DaemonSets tolerate it. */
  #evict(node: string): void {
    for (const pod of this.#podsOn(node))
      if (!(pod.metadata.ownerReferences ?? []).some(({ kind }) => kind === "DaemonSet"))
        remove(this.ground, "pods", pod.metadata);
  }

  /** Pods of a node that is gone are deleted by force. */
  #clearLater(node: string): void {
    const { store, clock, dice } = this.ground;
    clock.after(dice.between(20_000, 60_000), () => {
      if (store.get("nodes", undefined, node) !== undefined) return;
      for (const { metadata } of this.#podsOn(node))
        store.delete("pods", metadata.namespace, metadata.name, { graceSeconds: 0 });
    });
  }

  #podsOn(node: string): readonly Obj[] {
    return this.ground.store.list("pods").filter(pod => nodeOf(pod) === node);
  }
}

/** The disruption controller: the status of PodDisruptionBudgets. */
export class Disruptions {
  readonly #agenda: Agenda;

  constructor(private readonly ground: Ground) {
    const { store, clock, dice } = ground;
    this.#agenda = new Agenda(clock, key => this.#look(key));
    store.subscribe("poddisruptionbudgets", ({ object }) =>
      this.#agenda.add(keyOfObject(object), dice.between(20, 200)),
    );
    store.subscribe("pods", ({ object }) => this.#wake(object.metadata.namespace ?? ""));
  }

  #wake(namespace: string): void {
    const { store, dice } = this.ground;
    for (const budget of store.list("poddisruptionbudgets", namespace))
      this.#agenda.add(keyOfObject(budget), dice.between(20, 200));
  }

  #look(key: string): void {
    const { store } = this.ground;
    const budget = store.get("poddisruptionbudgets", ...split(key));
    if (budget === undefined) return;
    const spec = budget.spec!;
    const pods = store
      .list("pods", budget.metadata.namespace)
      .filter(({ metadata }) => matches(spec.selector, metadata.labels));
    const expectedPods = this.#expected(pods);
    const desiredHealthy =
      spec.maxUnavailable === undefined
        ? share(spec.minAvailable, expectedPods, { up: true, otherwise: 1 })
        : Math.max(0, expectedPods - share(spec.maxUnavailable, expectedPods, { up: true, otherwise: 1 }));
    const currentHealthy = pods.filter(pod => isAlive(pod) && isReady(pod)).length;
    const disruptionsAllowed = expectedPods > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0;
    const observedGeneration = budget.metadata.generation;
    const counts = { currentHealthy, desiredHealthy, expectedPods, disruptionsAllowed, observedGeneration };
    const conditions = budget.status?.conditions ?? [];
    if (same(budget.status, { ...counts, conditions })) return;
    store.update("poddisruptionbudgets", budget.metadata.namespace, budget.metadata.name, draft => {
      draft.status = { ...counts, conditions: [...conditions] };
      const reason = disruptionsAllowed > 0 ? "SufficientPods" : "InsufficientPods";
      const status = disruptionsAllowed > 0 ? "True" : "False";
      setCondition(draft, { type: "DisruptionAllowed", status, reason }, store.time());
    });
  }

  /** By the replicas of their controllers, not by how many pods there are. */
  #expected(pods: readonly Obj[]): number {
    const { store } = this.ground;
    const owners = new Map<string, number>();
    for (const { metadata } of pods) {
      const owner = (metadata.ownerReferences ?? []).find(({ controller }) => controller === true);
      if (owner === undefined || owners.has(owner.uid)) continue;
      const resource = { ReplicaSet: "replicasets", StatefulSet: "statefulsets" }[owner.kind];
      const found = resource === undefined ? undefined : store.get(resource, metadata.namespace, owner.name);
      owners.set(owner.uid, found?.spec?.replicas ?? pods.filter(pod => isOwnedBy(pod, owner.uid)).length);
    }
    return [...owners.values()].reduce((sum, count) => sum + count, 0);
  }
}

function isOwnedBy({ metadata }: Obj, owner: string): boolean {
  return (metadata.ownerReferences ?? []).some(({ uid }) => uid === owner);
}
