import type { Cancel } from "../../../src/core/time";
import type { Cluster } from "../cluster/cluster";
import { attempt, clone, type NewObj, type Obj, type Template } from "../server/objects";

// What people and their tools do to objects of a cluster, as kubectl does it.

/** An object, by the plural of its kind; with no namespace one of the whole cluster. */
export interface Ref {
  readonly resource: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** The object, if it is there. */
export function find({ ground: { store } }: Cluster, { resource, namespace, name }: Ref): Obj | undefined {
  return store.get(resource, namespace, name);
}

/** Changes an object as `kubectl edit` does; nothing if it is not there. */
export function edit(cluster: Cluster, ref: Ref, change: (draft: Obj) => void): void {
  const { store } = cluster.ground;
  if (find(cluster, ref) === undefined) return;
  attempt(() =>
    store.as({ manager: "kubectl-edit" }, () => void store.update(ref.resource, ref.namespace, ref.name, change)),
  );
}

/** Deletes an object; returns what creates it again, with a new uid, unless there is a new one by then. */
export function remove(cluster: Cluster, ref: Ref): () => void {
  const object = find(cluster, ref);
  if (object === undefined) return () => undefined;
  attempt(() => void cluster.ground.store.delete(ref.resource, ref.namespace, ref.name));
  return () => {
    if (find(cluster, ref) === undefined) attempt(() => void cluster.ground.store.create(ref.resource, copyOf(object)));
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

type Fields = Record<string, unknown>;

/** Sets a field of an object's spec, such as `suspend` or `tokenRestart.cooldown`; returns what sets it back. */
export function setSpec(cluster: Cluster, ref: Ref, path: string, value: unknown): Cancel {
  const fields = path.split(".");
  const last = fields.pop() ?? "";
  const parentOf = (object: Obj | undefined): Fields | undefined => {
    let parent: Fields | undefined = object?.spec;
    for (const field of fields) parent = parent?.[field] as Fields | undefined;
    return parent;
  };
  const set = (next: unknown): void =>
    edit(cluster, ref, draft => {
      const parent = parentOf(draft);
      if (parent === undefined) return;
      if (next === undefined) Reflect.deleteProperty(parent, last);
      // What was there before is a part of an object of the store, which never changes.
      else parent[last] = clone(next);
    });
  const parent = parentOf(find(cluster, ref));
  // Who finds no object takes nothing back later.
  if (parent === undefined) return () => undefined;
  const before = parent[last];
  set(value);
  return () => set(before);
}

/** Sets an annotation or a label; undefined removes it. Returns what sets it back. */
export function mark(
  cluster: Cluster,
  ref: Ref,
  { map = "annotations", key, value }: { map?: "annotations" | "labels"; key: string; value: string | undefined },
): Cancel {
  const before = find(cluster, ref)?.metadata[map]?.[key];
  const set = (next: string | undefined): void =>
    edit(cluster, ref, ({ metadata }) => {
      metadata[map] = { ...metadata[map] };
      if (next === undefined) Reflect.deleteProperty(metadata[map], key);
      else metadata[map][key] = next;
    });
  set(value);
  return () => set(before);
}

/** Changes the pod template of a workload. */
export function editTemplate(cluster: Cluster, ref: Ref, change: (template: Template) => void): void {
  edit(cluster, ref, draft => change(draft.spec!.template));
}

/** `kubectl rollout restart`. */
export function rollOut(cluster: Cluster, ref: Ref): void {
  editTemplate(cluster, ref, template => {
    const restartedAt = cluster.ground.store.time();
    const annotations = { ...template.metadata?.annotations, "kubectl.kubernetes.io/restartedAt": restartedAt };
    template.metadata = { ...template.metadata, annotations };
  });
}

/** Rolls out an image that does not exist; returns what rolls back. */
export function breakRollout(cluster: Cluster, ref: Ref, image = "registry.example/missing:1"): Cancel {
  let before: string | undefined;
  const set = (next: string | undefined): void =>
    editTemplate(cluster, ref, ({ spec: { containers: [first] = [] } }) => {
      before ??= first?.image;
      if (first !== undefined && next !== undefined) first.image = next;
    });
  set(image);
  return () => set(before);
}

/** Limits the pods of a namespace to as many as there are, or to a number; returns what lifts the limit. */
export function limitPods(cluster: Cluster, namespace: string, most?: number): Cancel {
  const { store } = cluster.ground;
  const pods = String(most ?? store.list("pods", namespace).length);
  const ref = { resource: "resourcequotas", namespace, name: "pods" };
  attempt(() => void store.create(ref.resource, { metadata: { namespace, name: ref.name }, spec: { hard: { pods } } }));
  return () => void remove(cluster, ref);
}

/** A webhook that refuses the pods of a namespace, or of all; returns what removes it. */
export function refusePods({ ground }: Cluster, namespace?: string): Cancel {
  const rule = ({ metadata }: NewObj): string | undefined =>
    namespace === undefined || metadata.namespace === namespace
      ? 'admission webhook "policy.example" denied the request: not now'
      : undefined;
  ground.podRefusals.add(rule);
  return () => void ground.podRefusals.delete(rule);
}
