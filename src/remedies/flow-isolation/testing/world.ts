import { OWNER_ANNOTATION, REPLICAS_BEFORE_ANNOTATION } from "../../../api/names";
import type { Intent } from "../../../core/intent";
import type { ClusterKind, ClusterObjectView, WorkloadView } from "../../../core/views";

/** A cluster that does what intents ask for. */
export interface World {
  /** FlowSchemas and levels, by name. */
  readonly cluster: Map<string, ClusterObjectView>;
  /** By kind and name. */
  readonly workloads: Map<string, WorkloadView>;
  versions: number;
}

interface Body {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string | null>>;
  };
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** Carries out an intent as the API server would, preconditions and all. @throws when these don't hold */
export function applyTo(world: World, intent: Intent): void {
  const { target, verb } = intent;
  const { cluster, workloads } = world;
  if (target.namespace !== undefined) {
    const key = `${target.kind}/${target.name}`;
    workloads.set(key, patched(held(workloads.get(key), intent), intent.body as Body, `${++world.versions}`));
    return;
  }
  const before = cluster.get(target.name);
  if (verb === "create") {
    if (before !== undefined) throw new Error(`${target.name} exists`);
  } else {
    held(before, intent);
  }
  if (verb === "delete") cluster.delete(target.name);
  else cluster.set(target.name, written(before, intent, `${++world.versions}`));
}

function held<T extends { readonly uid: string; readonly resourceVersion: string }>(
  view: T | undefined,
  { target }: Intent,
): T {
  if (view === undefined || view.uid !== target.uid || view.resourceVersion !== target.resourceVersion) {
    throw new Error(`the preconditions on ${target.kind} ${target.name} do not hold`);
  }
  return view;
}

function written(before: ClusterObjectView | undefined, { target, body }: Intent, version: string): ClusterObjectView {
  const { metadata, spec } = body as Body;
  return {
    createdAtMs: 0,
    ...before,
    apiVersion: target.apiVersion,
    kind: target.kind as ClusterKind,
    name: target.name,
    uid: before?.uid ?? `uid-${version}`,
    resourceVersion: version,
    labels: { ...before?.labels, ...metadata.labels },
    annotations: { ...before?.annotations, ...(metadata.annotations as Record<string, string>) },
    spec: spec ?? {},
    conditions:
      target.kind === "FlowSchema" ? [{ type: "Dangling", status: "False", reason: "Found", message: "" }] : [],
  };
}

function patched(before: WorkloadView, { metadata, spec }: Body, resourceVersion: string): WorkloadView {
  const replicas = metadata.annotations[REPLICAS_BEFORE_ANNOTATION];
  const owner = metadata.annotations[OWNER_ANNOTATION];
  const after = { ...before, resourceVersion, replicas: Number(spec?.["replicas"] ?? before.replicas) };
  if (replicas && owner) return { ...after, scaledDown: { replicas: Number(replicas), owner } };
  delete after.scaledDown;
  return after;
}
