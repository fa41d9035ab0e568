import { type Obj, same } from "../server/objects";
import {
  Agenda,
  controlled,
  controllerOf,
  type Ground,
  templateHash,
  isReady,
  keyOfObject,
  share,
  split,
} from "./ground";
import { PodMaker } from "./pods";
import { isAlive, STATUS_WRITER } from "./replica-sets";

/** Label that says from which template a pod of a StatefulSet or DaemonSet is. */
export const REVISION = "controller-revision-hash";
const TEMPLATE_GENERATION = "pod-template-generation";
const GENERATION_ANNOTATION = "deprecated.daemonset.template.generation";

const LAG_MS = [20, 300] as const;

interface SetSpec {
  readonly replicas?: number;
  readonly template: Obj;
  readonly updateStrategy?: {
    readonly type?: string;
    readonly rollingUpdate?: {
      readonly maxUnavailable?: number | string;
      readonly maxSurge?: number | string;
    };
  };
}

function isRolling({ updateStrategy }: SetSpec): boolean {
  return (updateStrategy?.type ?? "RollingUpdate") === "RollingUpdate";
}

/** What the controllers of StatefulSets and DaemonSets have in common. */
abstract class SetController {
  protected readonly agenda: Agenda;
  protected readonly pods: PodMaker;

  constructor(
    protected readonly ground: Ground,
    protected readonly resource: "statefulsets" | "daemonsets",
    kind: string,
  ) {
    const { clock, store } = ground;
    this.agenda = new Agenda(clock, key => this.#look(key));
    this.pods = new PodMaker(ground, this.agenda);
    store.subscribe(resource, ({ object }) => this.soon(keyOfObject(object)));
    store.subscribe("pods", ({ object }) => {
      const owner = controllerOf(object);
      if (owner?.kind === kind) this.soon(`${object.metadata.namespace ?? ""}/${owner.name}`);
    });
  }

  /** Looks at everything again. */
  catchUp(): void {
    for (const object of this.ground.store.list(this.resource)) this.soon(keyOfObject(object));
  }

  protected soon(key: string): void {
    this.agenda.add(key, this.ground.dice.between(...LAG_MS));
  }

  protected abstract reconcile(set: Obj, pods: readonly Obj[]): void;

  #look(key: string): void {
    const set = this.ground.store.get(this.resource, ...split(key));
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return;
    this.reconcile(set, controlled(this.ground, "pods", set));
  }

  protected delete({ metadata }: Obj): void {
    this.ground.store.delete("pods", metadata.namespace, metadata.name);
  }

  protected writeStatus({ metadata: { namespace, name, generation } }: Obj, status: object): void {
    const { store } = this.ground;
    const before = store.get(this.resource, namespace, name)?.["status"] as object | undefined;
    const next = { ...before, ...status, observedGeneration: generation };
    if (same(before, next)) return;
    store.as(STATUS_WRITER, () => store.update(this.resource, namespace, name, draft => void (draft["status"] = next)));
  }
}

/** The StatefulSet controller, without partitions, and with OrderedReady alone. */
export class StatefulSets extends SetController {
  constructor(ground: Ground) {
    super(ground, "statefulsets", "StatefulSet");
  }

  protected reconcile(set: Obj, pods: readonly Obj[]): void {
    const spec = set["spec"] as SetSpec;
    const update = `${set.metadata.name}-${templateHash(this.ground, set)}`;
    const status = (set["status"] ?? {}) as { currentRevision?: string };
    const current = status.currentRevision ?? update;
    const replicas = spec.replicas ?? 1;
    const byOrdinal = new Map(pods.map(pod => [ordinalOf(pod), pod]));
    const isWhole = this.#fill(set, byOrdinal, update);
    for (const pod of pods) if (ordinalOf(pod) >= replicas && isAlive(pod)) this.delete(pod);
    if (isWhole && isRolling(spec)) this.#roll(spec, byOrdinal, update);
    this.#report(set, { update, current });
  }

  /** Creates one pod after the other. Returns whether a rollout may go on. */
  #fill(set: Obj, pods: ReadonlyMap<number, Obj>, revision: string): boolean {
    const { replicas = 1 } = set["spec"] as SetSpec;
    for (let ordinal = 0; ordinal < replicas; ordinal++) {
      const pod = pods.get(ordinal);
      if (pod !== undefined && isAlive(pod) && isReady(pod)) continue;
      if (pod === undefined) this.#createAt(set, ordinal, revision);
      return false;
    }
    return true;
  }

  #createAt(set: Obj, ordinal: number, revision: string): void {
    const { template } = set["spec"] as SetSpec;
    const name = `${set.metadata.name}-${ordinal}`;
    const labels = {
      "statefulset.kubernetes.io/pod-name": name,
      "apps.kubernetes.io/pod-index": String(ordinal),
      [REVISION]: revision,
    };
    this.pods.create({ owner: set, name, labels, template });
  }

  /** From the last to the first, one at a time, and only while all are healthy. */
  #roll(spec: SetSpec, pods: ReadonlyMap<number, Obj>, update: string): void {
    for (let ordinal = (spec.replicas ?? 1) - 1; ordinal >= 0; ordinal--) {
      const pod = pods.get(ordinal);
      if (pod === undefined || !isAlive(pod)) return;
      if (pod.metadata.labels?.[REVISION] !== update) {
        this.delete(pod);
        return;
      }
      if (!isReady(pod)) return;
    }
  }

  #report(set: Obj, { update, current }: { update: string; current: string }): void {
    const spec = set["spec"] as SetSpec;
    const pods = controlled(this.ground, "pods", set).filter(isAlive);
    const updated = pods.filter(({ metadata }) => metadata.labels?.[REVISION] === update).length;
    const ready = pods.filter(isReady).length;
    const replicas = spec.replicas ?? 1;
    const isDone = isRolling(spec) && updated === replicas && ready === replicas;
    const currentRevision = isDone ? update : current;
    this.writeStatus(set, {
      ...{ replicas: pods.length, readyReplicas: ready, availableReplicas: ready, updatedReplicas: updated },
      currentReplicas: pods.filter(({ metadata }) => metadata.labels?.[REVISION] === currentRevision).length,
      ...{ currentRevision, updateRevision: update, collisionCount: 0 },
    });
  }
}

function ordinalOf({ metadata }: Obj): number {
  return Number(metadata.name.slice(metadata.name.lastIndexOf("-") + 1));
}

/** The DaemonSet controller. */
export class DaemonSets extends SetController {
  constructor(ground: Ground) {
    super(ground, "daemonsets", "DaemonSet");
    ground.store.subscribe("nodes", () => {
      this.catchUp();
    });
  }

  protected reconcile(set: Obj, pods: readonly Obj[]): void {
    const spec = set["spec"] as SetSpec;
    const nodes = this.#nodesFor(spec.template);
    const names = new Set(nodes.map(({ metadata }) => metadata.name));
    for (const pod of pods) if (!names.has(nodeOfPod(pod)) && isAlive(pod)) this.delete(pod);
    const labels = { [REVISION]: templateHash(this.ground, set), [TEMPLATE_GENERATION]: generationOf(set) };
    const taken = new Set(pods.map(nodeOfPod));
    for (const node of names)
      if (!taken.has(node))
        if (!this.pods.create({ owner: set, nodeName: node, labels, template: spec.template })) break;
    if (isRolling(spec)) this.#roll(set, names.size);
    this.#report(set, names.size);
  }

  #nodesFor(template: Obj): readonly Obj[] {
    const selector = Object.entries((template["spec"] as { nodeSelector?: Record<string, string> }).nodeSelector ?? {});
    return this.ground.store
      .list("nodes")
      .filter(({ metadata }) => selector.every(([key, value]) => metadata.labels?.[key] === value));
  }

  /** Old pods that are not Ready go first, then as many Ready ones as maxUnavailable allows. */
  #roll(set: Obj, nodes: number): void {
    const { updateStrategy } = set["spec"] as SetSpec;
    const most = Math.max(1, share(updateStrategy?.rollingUpdate?.maxUnavailable, nodes, { up: true, otherwise: 1 }));
    const pods = controlled(this.ground, "pods", set);
    const old = pods.filter(pod => isAlive(pod) && !this.#isCurrent(pod, set));
    const broken = old.filter(pod => !isReady(pod));
    broken.forEach(pod => this.delete(pod));
    const down = nodes - pods.filter(pod => isAlive(pod) && isReady(pod)).length;
    for (const pod of old.filter(isReady).slice(0, Math.max(0, most - down))) this.delete(pod);
  }

  #report(set: Obj, desired: number): void {
    const pods = controlled(this.ground, "pods", set).filter(isAlive);
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

function generationOf({ metadata }: Obj): string {
  return metadata.annotations?.[GENERATION_ANNOTATION] ?? "1";
}

function nodeOfPod(pod: Obj): string {
  return (pod["spec"] as { nodeName?: string }).nodeName ?? "";
}
