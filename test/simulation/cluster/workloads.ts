import { isReady, type Obj, same, type Spec } from "../server/objects";
import { Agenda, controllerOf, type Ground, isAlive, keyOfObject, nodeOf, type OwnedResource } from "./ground";
import { share, split, suits, templateHash } from "./ground";
import { PodMaker } from "./pods";

/** Label that says from which template a pod of a StatefulSet or DaemonSet is. */
export const REVISION = "controller-revision-hash";
const TEMPLATE_GENERATION = "pod-template-generation";
const GENERATION_ANNOTATION = "deprecated.daemonset.template.generation";

/** How long controllers take to see a change, in milliseconds. */
const LAG_MS = [20, 300] as const;

/** Who writes the status of workloads, as managedFields says it. */
export const STATUS_WRITER = { manager: "kube-controller-manager", subresource: "status" } as const;

/** What the controllers of workloads have in common: each looks at an object soon after that, or what it controls, has changed. */
export abstract class WorkloadController {
  protected readonly agenda: Agenda;
  protected readonly pods: PodMaker;

  constructor(
    protected readonly ground: Ground,
    protected readonly resource: "deployments" | "replicasets" | "statefulsets" | "daemonsets",
    kind: string,
    children: OwnedResource = "pods",
  ) {
    const { clock, store } = ground;
    this.agenda = new Agenda(clock, key => this.#look(key));
    this.pods = new PodMaker(ground, this.agenda);
    store.subscribe(resource, ({ object }) => this.#soon(keyOfObject(object)));
    store.subscribe(children, ({ object }) => {
      const owner = controllerOf(object);
      if (owner?.kind === kind) this.#soon(`${object.metadata.namespace ?? ""}/${owner.name}`);
    });
  }

  /** Looks at everything again. */
  catchUp(): void {
    for (const object of this.ground.store.list(this.resource)) this.#soon(keyOfObject(object));
  }

  protected abstract reconcile(object: Obj): void;

  #soon(key: string): void {
    this.agenda.add(key, this.ground.dice.between(...LAG_MS));
  }

  #look(key: string): void {
    const object = this.ground.store.get(this.resource, ...split(key));
    if (object !== undefined && object.metadata.deletionTimestamp === undefined) this.reconcile(object);
  }

  /** The pods of an owner that neither end nor have ended. */
  protected alive(owner: Obj): readonly Obj[] {
    return this.ground.children.of("pods", owner).filter(isAlive);
  }

  protected delete({ metadata }: Obj): void {
    this.ground.store.delete("pods", metadata.namespace, metadata.name);
  }

  protected writeStatus({ metadata: { namespace, name, generation }, status: before }: Obj, status: object): void {
    const { store } = this.ground;
    const next = { ...before, ...status, observedGeneration: generation };
    if (same(before, next)) return;
    store.as(STATUS_WRITER, () => store.update(this.resource, namespace, name, draft => void (draft.status = next)));
  }
}

function isRolling({ updateStrategy }: Spec): boolean {
  return (updateStrategy?.type ?? "RollingUpdate") === "RollingUpdate";
}

/** The StatefulSet controller, without partitions, and with OrderedReady alone. */
export class StatefulSets extends WorkloadController {
  constructor(ground: Ground) {
    super(ground, "statefulsets", "StatefulSet");
  }

  protected reconcile(set: Obj): void {
    const spec = set.spec!;
    const { replicas = 1 } = spec;
    const update = `${set.metadata.name}-${templateHash(this.ground, set)}`;
    const pods = this.ground.children.of("pods", set);
    const byOrdinal = new Map(pods.map(pod => [ordinalOf(pod), pod]));
    const isWhole = this.#fill(set, byOrdinal, update);
    for (const pod of pods) if (ordinalOf(pod) >= replicas && isAlive(pod)) this.delete(pod);
    if (isWhole && isRolling(spec)) this.#roll(replicas, byOrdinal, update);
    this.#report(set, update);
  }

  /** Creates one pod after the other. Returns whether a rollout may go on. */
  #fill(set: Obj, pods: ReadonlyMap<number, Obj>, revision: string): boolean {
    const { replicas = 1 } = set.spec!;
    for (let ordinal = 0; ordinal < replicas; ordinal++) {
      const pod = pods.get(ordinal);
      if (pod !== undefined && isAlive(pod) && isReady(pod)) continue;
      if (pod === undefined) this.#createAt(set, ordinal, revision);
      return false;
    }
    return true;
  }

  #createAt(set: Obj, ordinal: number, revision: string): void {
    const name = `${set.metadata.name}-${ordinal}`;
    const labels = {
      "statefulset.kubernetes.io/pod-name": name,
      "apps.kubernetes.io/pod-index": String(ordinal),
      [REVISION]: revision,
    };
    this.pods.create({ owner: set, name, labels, template: set.spec!.template });
  }

  /** From the last to the first, one at a time, and only while all are healthy. */
  #roll(replicas: number, pods: ReadonlyMap<number, Obj>, update: string): void {
    for (let ordinal = replicas - 1; ordinal >= 0; ordinal--) {
      const pod = pods.get(ordinal);
      if (pod === undefined || !isAlive(pod)) return;
      const isOld = pod.metadata.labels?.[REVISION] !== update;
      if (isOld) this.delete(pod);
      if (isOld || !isReady(pod)) return;
    }
  }

  #report(set: Obj, update: string): void {
    const { replicas = 1 } = set.spec!;
    const pods = this.alive(set);
    const of = (revision: string): number => pods.filter(one => one.metadata.labels?.[REVISION] === revision).length;
    const [updated, ready] = [of(update), pods.filter(isReady).length];
    const isDone = isRolling(set.spec!) && updated === replicas && ready === replicas;
    const currentRevision = isDone ? update : (set.status?.currentRevision ?? update);
    this.writeStatus(set, {
      ...{ replicas: pods.length, readyReplicas: ready, availableReplicas: ready, updatedReplicas: updated },
      ...{ currentReplicas: of(currentRevision), currentRevision, updateRevision: update, collisionCount: 0 },
    });
  }
}

function ordinalOf({ metadata }: Obj): number {
  return Number(metadata.name.slice(metadata.name.lastIndexOf("-") + 1));
}

/** The DaemonSet controller. */
export class DaemonSets extends WorkloadController {
  constructor(ground: Ground) {
    super(ground, "daemonsets", "DaemonSet");
    ground.store.subscribe("nodes", () => this.catchUp());
  }

  protected reconcile(set: Obj): void {
    const { template } = set.spec!;
    const nodes = this.ground.store.list("nodes").filter(node => suits(node, template.spec));
    const names = new Set(nodes.map(({ metadata }) => metadata.name));
    const pods = this.ground.children.of("pods", set);
    for (const pod of pods) if (!names.has(nodeOf(pod)) && isAlive(pod)) this.delete(pod);
    const generation = set.metadata.annotations?.[GENERATION_ANNOTATION] ?? "1";
    const labels = { [REVISION]: templateHash(this.ground, set), [TEMPLATE_GENERATION]: generation };
    const taken = new Set(pods.map(nodeOf));
    for (const nodeName of names)
      if (!taken.has(nodeName) && !this.pods.create({ owner: set, nodeName, labels, template })) break;
    if (isRolling(set.spec!)) this.#roll(set, names.size);
    this.#report(set, names.size);
  }

  /** Old pods that are not Ready go first, then as many Ready ones as maxUnavailable allows. */
  #roll(set: Obj, nodes: number): void {
    const { maxUnavailable } = set.spec!.updateStrategy?.rollingUpdate ?? {};
    const most = Math.max(1, share(maxUnavailable, nodes, { up: true, otherwise: 1 }));
    const pods = this.alive(set);
    const old = pods.filter(pod => !this.#isCurrent(pod, set));
    old.filter(pod => !isReady(pod)).forEach(pod => this.delete(pod));
    const down = nodes - pods.filter(isReady).length;
    for (const pod of old.filter(isReady).slice(0, Math.max(0, most - down))) this.delete(pod);
  }

  #report(set: Obj, desired: number): void {
    const pods = this.alive(set);
    const ready = pods.filter(isReady).length;
    this.writeStatus(set, {
      ...{ desiredNumberScheduled: desired, currentNumberScheduled: pods.length, numberMisscheduled: 0 },
      ...{ numberReady: ready, numberAvailable: ready, numberUnavailable: desired - ready },
      updatedNumberScheduled: pods.filter(pod => this.#isCurrent(pod, set)).length,
    });
  }

  #isCurrent({ metadata }: Obj, set: Obj): boolean {
    return metadata.labels?.[REVISION] === templateHash(this.ground, set);
  }
}
