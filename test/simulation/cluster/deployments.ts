import { type Condition, isReady, type Obj, type Spec } from "../server/objects";
import { type Ground, keyOfObject, nowMs, ownedBy, setCondition, share, templateHash } from "./ground";
import { STATUS_WRITER, WorkloadController } from "./workloads";

/** Label of all pods of one template of a Deployment. */
const HASH = "pod-template-hash";

/** The ReplicaSet controller. */
export class ReplicaSets extends WorkloadController {
  constructor(ground: Ground) {
    super(ground, "replicasets", "ReplicaSet");
  }

  protected reconcile(set: Obj): void {
    const before = this.alive(set);
    const missing = wanted(set) - before.length;
    for (let at = 0; at < missing; at++) if (!this.pods.create({ owner: set, template: set.spec!.template })) break;
    if (missing < 0) for (const pod of leastNeeded(before).slice(0, -missing)) this.delete(pod);
    const { namespace, name, generation: observedGeneration } = set.metadata;
    const pods = this.alive(set);
    const [replicas, ready] = [pods.length, pods.filter(isReady).length];
    const conditions = [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate" }];
    const status = {
      ...{ replicas, fullyLabeledReplicas: replicas, readyReplicas: ready, availableReplicas: ready },
      observedGeneration,
      ...(this.pods.isRefused(set) && replicas < wanted(set) && { conditions }),
    };
    this.ground.store.update("replicasets", namespace, name, draft => void (draft.status = status));
  }
}

/** The Deployment controller. */
export class Deployments extends WorkloadController {
  /** When a rollout last made progress, by uid of the Deployment. */
  readonly #progress = new Map<string, { readonly atMs: number; readonly state: string }>();

  constructor(ground: Ground) {
    super(ground, "deployments", "Deployment", "replicasets");
  }

  protected reconcile(deployment: Obj): void {
    const spec = deployment.spec!;
    const sets = this.ground.children.of("replicasets", deployment);
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
    const { spec } = deployment;
    const { selector, template } = spec!;
    const label = { [HASH]: hash };
    const metadata = { namespace, name: `${name}-${hash}`, labels: { ...labels, ...label } };
    this.ground.store.create("replicasets", {
      metadata: { ...metadata, ownerReferences: [ownedBy(deployment)] },
      spec: {
        replicas: roomFor(spec!, old, 0),
        selector: { matchLabels: { ...selector?.matchLabels, ...label } },
        template: {
          ...template,
          metadata: { ...template.metadata, labels: { ...template.metadata?.labels, ...label } },
        },
      },
      status: { replicas: 0 },
    });
  }

  /** A paused Deployment is still scaled. */
  #scalePaused(sets: readonly Obj[], current: Obj | undefined, spec: Spec): void {
    if (current !== undefined && sum(sets, wanted) !== replicasOf(spec) && sets.length === 1)
      this.#set(current, replicasOf(spec));
  }

  #roll(current: Obj, old: readonly Obj[], spec: Spec): void {
    const have = wanted(current);
    const more = roomFor(spec, old, have);
    if (have > replicasOf(spec)) this.#set(current, replicasOf(spec));
    else if (more > 0) this.#set(current, have + more);
    else this.#shrink(current, old, spec);
  }

  /** Takes old pods away as far as maxUnavailable allows: broken ones first. */
  #shrink(current: Obj, old: readonly Obj[], spec: Spec): void {
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
      draft.spec!.replicas = replicas;
    });
  }

  #available(set: Obj): number {
    const pods = this.ground.children.of("pods", set);
    return pods.filter(pod => isReady(pod) && pod.metadata.deletionTimestamp === undefined).length;
  }

  #writeStatus(deployment: Obj, current: Obj | undefined, sets: readonly Obj[]): void {
    const spec = deployment.spec!;
    const pods = sets.flatMap(set => this.alive(set));
    const ready = pods.filter(isReady).length;
    const updated = current === undefined ? 0 : this.alive(current).length;
    const isDone = updated >= replicasOf(spec) && ready >= replicasOf(spec) && pods.length === updated;
    const progressing = this.#progressOf(deployment, isDone, `${updated}/${ready}/${pods.length}`);
    const least = replicasOf(spec) - limitsOf(spec).unavailable;
    const available = { type: "Available", status: ready >= least ? "True" : "False" };
    const hasFailed = sets.some(({ status }) => status?.conditions !== undefined);
    const { namespace, name, generation } = deployment.metadata;
    this.ground.store.as(STATUS_WRITER, () =>
      this.ground.store.update("deployments", namespace, name, draft => {
        Object.assign((draft.status ??= {}), {
          observedGeneration: generation,
          ...{ replicas: pods.length, updatedReplicas: updated, readyReplicas: ready, availableReplicas: ready },
          unavailableReplicas: Math.max(0, replicasOf(spec) - ready),
        });
        for (const condition of [available, progressing, ...(hasFailed ? [FAILED] : [])])
          setCondition(draft, condition, this.ground.store.time());
      }),
    );
  }

  #progressOf(deployment: Obj, isDone: boolean, state: string): Condition {
    const { uid, generation = 0 } = deployment.metadata;
    const now = nowMs(this.ground);
    const mark = `${generation}/${state}`;
    if (this.#progress.get(uid)?.state !== mark) this.#progress.set(uid, { atMs: now, state: mark });
    if (isDone) return { type: "Progressing", status: "True", reason: "NewReplicaSetAvailable" };
    const deadlineMs = (deployment.spec!.progressDeadlineSeconds ?? 600) * 1_000;
    const waitedMs = now - this.#progress.get(uid)!.atMs;
    if (waitedMs >= deadlineMs) return { type: "Progressing", status: "False", reason: "ProgressDeadlineExceeded" };
    this.agenda.add(keyOfObject(deployment), deadlineMs - waitedMs + 1);
    return { type: "Progressing", status: "True", reason: "ReplicaSetUpdated" };
  }
}

const FAILED: Condition = { type: "ReplicaFailure", status: "True", reason: "FailedCreate" };

function replicasOf({ replicas = 1 }: Spec): number {
  return replicas;
}

function limitsOf(spec: Spec): { readonly surge: number; readonly unavailable: number } {
  const { maxSurge, maxUnavailable } = spec.strategy?.rollingUpdate ?? {};
  const whole = replicasOf(spec);
  const surge = share(maxSurge, whole, { up: true, otherwise: "25%" });
  const unavailable = share(maxUnavailable, whole, { up: false, otherwise: "25%" });
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

/** How many pods of the new template may be created beside those that there are. */
function roomFor(spec: Spec, old: readonly Obj[], have: number): number {
  const most = replicasOf(spec) + limitsOf(spec).surge;
  return Math.max(0, Math.min(most - sum(old, wanted) - have, replicasOf(spec) - have));
}

function wanted(set: Obj): number {
  return replicasOf(set.spec!);
}

function sum(sets: readonly Obj[], of: (set: Obj) => number): number {
  return sets.reduce((total, set) => total + of(set), 0);
}

/** Pods that are not Ready first, then the youngest. */
function leastNeeded(pods: readonly Obj[]): readonly Obj[] {
  const rank = (pod: Obj): number => (isReady(pod) ? 1 : 0);
  const age = (pod: Obj): number => Date.parse(pod.metadata.creationTimestamp);
  return [...pods].sort((a, b) => rank(a) - rank(b) || age(b) - age(a));
}
