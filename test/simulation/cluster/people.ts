import type { Cancel } from "../../../src/core/time";
import type { NewObj, Obj } from "../server/objects";
import { Refusal } from "../server/objects";
import type { Dice } from "../time";
import type { Cluster } from "./cluster";

// What people and their tools do to a cluster, again and again. Each habit takes the world, and returns what ends it.

/** An object, by the plural of its kind. */
export interface Ref {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

/** How often something is done, in milliseconds on average, and with which luck. */
export interface Rhythm {
  readonly everyMs: number;
  readonly dice: Dice;
}

/** Does something again and again. A refusal of the API server, such as for an object that is gone, is no end. */
export function habit(cluster: Cluster, { everyMs, dice }: Rhythm, deed: (dice: Dice) => void): Cancel {
  let isOver = false;
  const again = (): void => {
    cluster.ground.clock.after(everyMs * dice.between(0.5, 1.5), () => {
      if (isOver) return;
      attempt(() => deed(dice));
      again();
    });
  };
  again();
  return () => void (isOver = true);
}

/** Does something that the API server may refuse, such as for an object that is gone. */
export function attempt(deed: () => void): void {
  try {
    deed();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
}

/** Changes an object as `kubectl edit` does; nothing if it is not there. */
export function edit(
  { ground: { store } }: Cluster,
  { resource, namespace, name }: Ref,
  change: (draft: Obj) => void,
): void {
  if (store.get(resource, namespace, name) === undefined) return;
  store.as({ manager: "kubectl-edit" }, () => store.update(resource, namespace, name, change));
}

/** Deletes an object; returns what creates it again, with a new uid, unless there is a new one by then. */
export function remove({ ground: { store } }: Cluster, { resource, namespace, name }: Ref): () => void {
  const object = store.get(resource, namespace, name);
  if (object === undefined) return () => undefined;
  attempt(() => store.delete(resource, namespace, name));
  return () => {
    if (store.get(resource, namespace, name) === undefined) attempt(() => store.create(resource, copyOf(object)));
  };
}

/** The object as a manifest has it. */
export function copyOf(object: Obj): NewObj {
  const { name, namespace, labels, annotations } = object.metadata;
  const fields = Object.entries(object).filter(([field]) => field !== "metadata" && field !== "status");
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels === undefined ? {} : { labels: { ...labels } }),
    ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
  };
  return { ...Object.fromEntries(fields), metadata };
}

/** Deletes an object and creates it again, as `kubectl replace --force` and hooks of Helm do. */
export function recreatesIt(
  cluster: Cluster,
  ref: Ref,
  { gapMs, ...rhythm }: Rhythm & { readonly gapMs: number },
): Cancel {
  return habit(cluster, rhythm, dice => {
    const again = remove(cluster, ref);
    cluster.ground.clock.after(gapMs * dice.between(0.5, 1.5), again);
  });
}

/** Suspends an object for a while. */
export function suspendsIt(
  cluster: Cluster,
  ref: Ref,
  { forMs, ...rhythm }: Rhythm & { readonly forMs: number },
): Cancel {
  const set = (suspend: boolean): void =>
    edit(cluster, ref, draft => void ((draft["spec"] as { suspend?: boolean }).suspend = suspend));
  return habit(cluster, rhythm, dice => {
    set(true);
    cluster.ground.clock.after(forMs * dice.between(0.5, 1.5), () => attempt(() => set(false)));
  });
}

/** Deletes pods of a namespace by hand. */
export function deletesPods(cluster: Cluster, namespace: string, rhythm: Rhythm): Cancel {
  return habit(cluster, rhythm, dice => {
    const pods = cluster.ground.store.list("pods", namespace);
    if (pods.length === 0) return;
    cluster.ground.store.delete("pods", namespace, dice.pick(pods).metadata.name);
  });
}

/** Scales a workload between two sizes, as an autoscaler does. */
export function scalesIt(
  cluster: Cluster,
  ref: Ref,
  { from, to, ...rhythm }: Rhythm & { readonly from: number; readonly to: number },
): Cancel {
  return habit(cluster, rhythm, dice =>
    edit(
      cluster,
      ref,
      draft => void ((draft["spec"] as { replicas: number }).replicas = from + dice.int(to - from + 1)),
    ),
  );
}

interface Workload {
  readonly template: { metadata?: { annotations?: Record<string, string> }; spec: { containers: { image: string }[] } };
}

/** `kubectl rollout restart`. */
export function rollOut(cluster: Cluster, ref: Ref): void {
  edit(cluster, ref, draft => {
    const template = (draft["spec"] as Workload).template;
    const metadata = (template.metadata ??= {});
    metadata.annotations = {
      ...metadata.annotations,
      "kubectl.kubernetes.io/restartedAt": cluster.ground.store.time(),
    };
  });
}

/** Rolls a workload out again and again. */
export function rollsItOut(cluster: Cluster, ref: Ref, rhythm: Rhythm): Cancel {
  return habit(cluster, rhythm, () => rollOut(cluster, ref));
}

/** Rolls out an image that does not work; returns what rolls it back. An image that is not in the library of the cluster cannot be pulled. */
export function breakRollout(cluster: Cluster, ref: Ref, image: string): Cancel {
  const before = (cluster.ground.store.get(ref.resource, ref.namespace, ref.name)?.["spec"] as Workload | undefined)
    ?.template.spec.containers[0]?.image;
  const set = (next: string | undefined): void => {
    edit(cluster, ref, draft => {
      const [first] = (draft["spec"] as Workload).template.spec.containers;
      if (first !== undefined && next !== undefined) first.image = next;
    });
  };
  set(image);
  return () => set(before);
}

/** Sets an annotation; undefined removes it. */
export function annotate(cluster: Cluster, ref: Ref, key: string, value: string | undefined): void {
  edit(cluster, ref, ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations };
    if (value === undefined) Reflect.deleteProperty(metadata.annotations, key);
    else metadata.annotations[key] = value;
  });
}

/** Limits the pods of a namespace to as many as there are, or to a number; returns what lifts the limit. */
export function limitPods({ ground: { store } }: Cluster, namespace: string, most?: number): Cancel {
  const pods = String(most ?? store.list("pods", namespace).length);
  const name = "pods";
  if (store.get("resourcequotas", namespace, name) === undefined)
    store.create("resourcequotas", { metadata: { namespace, name }, spec: { hard: { pods } } });
  return () => attempt(() => void store.delete("resourcequotas", namespace, name));
}

/** A webhook that refuses the pods of a namespace; returns what removes it. */
export function refusePods({ ground }: Cluster, namespace: string, why = "not now"): Cancel {
  const rule = (pod: NewObj): string | undefined =>
    pod.metadata.namespace === namespace ? `admission webhook "policy.example" denied the request: ${why}` : undefined;
  ground.podRefusals.add(rule);
  return () => void ground.podRefusals.delete(rule);
}

/** Upgrades a chart whose ServiceAccount is a hook: the account is recreated, its workload keeps its pods. */
export function upgradeWithHook(cluster: Cluster, namespace: string, account: string): void {
  const again = remove(cluster, { resource: "serviceaccounts", namespace, name: account });
  again();
}

/** Deletes a namespace with everything in it. */
export function deleteNamespace({ ground: { store } }: Cluster, name: string): void {
  attempt(() => void store.delete("namespaces", undefined, name));
}
