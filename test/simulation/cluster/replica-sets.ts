import type { Obj } from "../server/objects";
import {
  Agenda,
  type Condition,
  controlled,
  controllerOf,
  type Ground,
  isReady,
  keyOfObject,
  nowMs,
  ownedBy,
  setCondition,
  share,
  split,
  stamp,
  templateHash,
} from "./ground";
import { PodMaker } from "./pods";

/** Label of all pods of one template of a Deployment. */
const HASH = "pod-template-hash";

/** How long controllers take to see a change, in milliseconds. */
const LAG_MS = [20, 300] as const;

/** The Deployment and ReplicaSet controllers. */
export class Deployments {
  readonly #deployments: Agenda;
  readonly #sets: Agenda;
  readonly #pods: PodMaker;
  /** When a rollout last made progress, by uid of the Deployment. */
  readonly #progress = new Map<string, { readonly atMs: number; readonly state: string }>();

  constructor(private readonly ground: Ground) {
    const { clock, store } = ground;
    this.#deployments = new Agenda(clock, key => this.#reconcile(key));
    this.#sets = new Agenda(clock, key => this.#scale(key));
    this.#pods = new PodMaker(ground, this.#sets);
    store.subscribe("deployments", ({ object }) => this.#soon(this.#deployments, object));
    store.subscribe("replicasets", ({ object }) => {
      this.#soon(this.#sets, object);
      this.#wakeOwner(object, "Deployment", this.#deployments);
    });
    store.subscribe("pods", ({ object }) => this.#wakeOwner(object, "ReplicaSet", this.#sets));
  }

  /** Looks at everything again. */
  catchUp(): void {
    for (const object of this.ground.store.list("deployments")) this.#soon(this.#deployments, object);
    for (const object of this.ground.store.list("replicasets")) this.#soon(this.#sets, object);
  }

  #soon(agenda: Agenda, object: Obj): void {
    agenda.add(keyOfObject(object), this.ground.dice.between(...LAG_MS));
  }

  #wakeOwner(object: Obj, kind: string, agenda: Agenda): void {
    const owner = controllerOf(object);
    if (owner?.kind === kind)
      agenda.add(`${object.metadata.namespace ?? ""}/${owner.name}`, this.ground.dice.between(...LAG_MS));
  }

  #reconcile(key: string): void {
    const deployment = this.ground.store.get("deployments", ...split(key));
    if (deployment === undefined || deployment.metadata.deletionTimestamp !== undefined) return;
    const spec = deployment["spec"] as DeploymentSpec;
    const sets = controlled(this.ground, "replicasets", deployment);
    const hash = templateHash(this.ground, deployment);
    const current = sets.find(({ metadata }) => metadata.labels?.[HASH] === hash);
    const old = sets.filter(set => set !== current);
    if (spec.paused === true) this.#scalePaused(sets, current, spec);
    else if (current === undefined) this.#createSet(deployment, hash, old);
    else this.#roll(current, old, spec);
    this.#writeStatus(deployment, current, sets);
  }

  #createSet(deployment: Obj, hash: string, old: readonly Obj[]): void {
    const { namespace = "", name, labels } = deployment.metadata;
    const spec = deployment["spec"] as DeploymentSpec;
    const label = { [HASH]: hash };
    const replicas = roomFor(spec, old, 0);
    const template = spec.template as unknown as { metadata?: { labels?: object }; spec: object };
    this.ground.store.create("replicasets", {
      metadata: {
        ...{ namespace, name: `${name}-${hash}`, labels: { ...labels, ...label } },
        ownerReferences: [ownedBy(deployment)],
      },
      spec: {
        replicas,
        selector: { matchLabels: { ...spec.selector?.matchLabels, ...label } },
        template: {
          ...template,
          metadata: { ...template.metadata, labels: { ...template.metadata?.labels, ...label } },
        },
      },
      status: { replicas: 0 },
    });
  }

  /** A paused Deployment is still scaled. */
  #scalePaused(sets: readonly Obj[], current: Obj | undefined, spec: DeploymentSpec): void {
    const total = sum(sets, wanted);
    if (current !== undefined && total !== replicasOf(spec) && sets.length === 1) this.#set(current, replicasOf(spec));
  }

  #roll(current: Obj, old: readonly Obj[], spec: DeploymentSpec): void {
    const have = wanted(current);
    if (have > replicasOf(spec)) {
      this.#set(current, replicasOf(spec));
      return;
    }
    const more = roomFor(spec, old, have);
    if (more > 0) {
      this.#set(current, have + more);
      return;
    }
    this.#shrink(current, old, spec);
  }

  /** Takes old pods away as far as maxUnavailable allows: broken ones first. */
  #shrink(current: Obj, old: readonly Obj[], spec: DeploymentSpec): void {
    const all = [current, ...old];
    const least = replicasOf(spec) - limitsOf(spec).unavailable;
    const fresh = wanted(current) - this.#available(current);
    let room = sum(all, wanted) - least - fresh;
    for (const set of old) {
      const broken = Math.min(room, wanted(set) - this.#available(set));
      if (broken <= 0) continue;
      room -= broken;
      this.#set(set, wanted(set) - broken);
    }
    let spare = Math.min(room, sum(all, set => this.#available(set)) - least);
    for (const set of old) {
      const fewer = Math.min(spare, this.#wantedNow(set));
      if (fewer <= 0) continue;
      spare -= fewer;
      this.#set(set, this.#wantedNow(set) - fewer);
    }
  }

  #wantedNow({ metadata }: Obj): number {
    const set = this.ground.store.get("replicasets", metadata.namespace, metadata.name);
    return set === undefined ? 0 : wanted(set);
  }

  #set({ metadata }: Obj, replicas: number): void {
    this.ground.store.update("replicasets", metadata.namespace, metadata.name, draft => {
      (draft["spec"] as { replicas: number }).replicas = replicas;
    });
  }

  #podsOf(set: Obj): readonly Obj[] {
    return controlled(this.ground, "pods", set);
  }

  #available(set: Obj): number {
    return this.#podsOf(set).filter(pod => isReady(pod) && pod.metadata.deletionTimestamp === undefined).length;
  }

  /** The ReplicaSet controller. */
  #scale(key: string): void {
    const set = this.ground.store.get("replicasets", ...split(key));
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return;
    const pods = this.#podsOf(set).filter(isAlive);
    const missing = wanted(set) - pods.length;
    const { template } = set["spec"] as { template: Obj };
    for (let at = 0; at < missing; at++) if (!this.#pods.create({ owner: set, template })) break;
    if (missing < 0) for (const pod of leastNeeded(pods).slice(0, -missing)) this.#delete(pod);
    this.#writeSetStatus(set);
  }

  #delete({ metadata }: Obj): void {
    this.ground.store.delete("pods", metadata.namespace, metadata.name);
  }

  #writeSetStatus({ metadata, spec }: Obj): void {
    const { store } = this.ground;
    const set = store.get("replicasets", metadata.namespace, metadata.name);
    if (set === undefined) return;
    const pods = this.#podsOf(set).filter(isAlive);
    const ready = pods.filter(isReady).length;
    const failed = this.#pods.isRefused(set) && pods.length < (spec as { replicas: number }).replicas;
    store.update("replicasets", metadata.namespace, metadata.name, draft => {
      draft["status"] = {
        ...{
          replicas: pods.length,
          fullyLabeledReplicas: pods.length,
          readyReplicas: ready,
          availableReplicas: ready,
        },
        observedGeneration: draft.metadata.generation,
        ...(failed ? { conditions: [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate" }] } : {}),
      };
    });
  }

  #writeStatus(deployment: Obj, current: Obj | undefined, sets: readonly Obj[]): void {
    const spec = deployment["spec"] as DeploymentSpec;
    const pods = sets.flatMap(set => this.#podsOf(set)).filter(isAlive);
    const ready = pods.filter(isReady).length;
    const updated = current === undefined ? 0 : this.#podsOf(current).filter(isAlive).length;
    const isDone = updated >= replicasOf(spec) && ready >= replicasOf(spec) && pods.length === updated;
    const progressing = this.#progressOf(deployment, isDone, `${updated}/${ready}/${pods.length}`);
    const least = replicasOf(spec) - limitsOf(spec).unavailable;
    const available = { type: "Available", status: ready >= least ? "True" : "False" };
    const failed = sets.some(({ status }) => (status as { conditions?: unknown[] } | undefined)?.conditions);
    const { namespace, name } = deployment.metadata;
    this.ground.store.as(STATUS_WRITER, () =>
      this.ground.store.update("deployments", namespace, name, draft => {
        Object.assign((draft["status"] ??= {}) as object, {
          observedGeneration: deployment.metadata.generation,
          ...{ replicas: pods.length, updatedReplicas: updated, readyReplicas: ready, availableReplicas: ready },
          unavailableReplicas: Math.max(0, replicasOf(spec) - ready),
        });
        for (const condition of [available, progressing, ...(failed ? [FAILED] : [])])
          setCondition(draft, condition, stamp(this.ground));
      }),
    );
  }

  #progressOf({ metadata, spec }: Obj, isDone: boolean, state: string): Condition {
    const now = nowMs(this.ground);
    const before = this.#progress.get(metadata.uid);
    const mark = `${metadata.generation ?? 0}/${state}`;
    if (before?.state !== mark) this.#progress.set(metadata.uid, { atMs: now, state: mark });
    if (isDone) return { type: "Progressing", status: "True", reason: "NewReplicaSetAvailable" };
    const deadlineMs = ((spec as DeploymentSpec).progressDeadlineSeconds ?? 600) * 1_000;
    const waitedMs = now - (this.#progress.get(metadata.uid)?.atMs ?? now);
    if (waitedMs >= deadlineMs) return { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" };
    this.#deployments.add(`${metadata.namespace ?? ""}/${metadata.name}`, deadlineMs - waitedMs + 1);
    return { type: "Progressing", status: "True", reason: "ReplicaSetUpdated" };
  }
}

/** Who writes the status of workloads, as managedFields says it. */
export const STATUS_WRITER = { manager: "kube-controller-manager", subresource: "status" } as const;

const FAILED: Condition = { type: "ReplicaFailure", status: "True", reason: "FailedCreate" };

interface DeploymentSpec {
  readonly replicas?: number;
  readonly paused?: boolean;
  readonly template: object;
  readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly progressDeadlineSeconds?: number;
  readonly strategy?: {
    readonly rollingUpdate?: { readonly maxSurge?: number | string; readonly maxUnavailable?: number | string };
  };
}

function replicasOf({ replicas = 1 }: DeploymentSpec): number {
  return replicas;
}

function limitsOf(spec: DeploymentSpec): { readonly surge: number; readonly unavailable: number } {
  const { maxSurge, maxUnavailable } = spec.strategy?.rollingUpdate ?? {};
  const whole = replicasOf(spec);
  const surge = share(maxSurge, whole, { up: true, otherwise: "25%" });
  const unavailable = share(maxUnavailable, whole, { up: false, otherwise: "25%" });
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

/** How many pods of the new template may be created beside those that there are. */
function roomFor(spec: DeploymentSpec, old: readonly Obj[], have: number): number {
  const most = replicasOf(spec) + limitsOf(spec).surge;
  return Math.max(0, Math.min(most - sum(old, wanted) - have, replicasOf(spec) - have));
}

function wanted(set: Obj): number {
  return (set["spec"] as { replicas: number }).replicas;
}

function sum(sets: readonly Obj[], of: (set: Obj) => number): number {
  return sets.reduce((total, set) => total + of(set), 0);
}

/** Neither being deleted nor at its end. */
export function isAlive({ metadata, status }: Obj): boolean {
  const phase = (status as { phase?: string } | undefined)?.phase;
  return metadata.deletionTimestamp === undefined && phase !== "Failed" && phase !== "Succeeded";
}

/** Pods that are not Ready first, then the youngest. */
function leastNeeded(pods: readonly Obj[]): readonly Obj[] {
  const rank = (pod: Obj): number => (isReady(pod) ? 1 : 0);
  const age = (pod: Obj): number => Date.parse(pod.metadata.creationTimestamp);
  return [...pods].sort((a, b) => rank(a) - rank(b) || age(b) - age(a));
}
