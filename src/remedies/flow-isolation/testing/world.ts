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
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** Carries out an intent as the API server would, preconditions and all. @throws when these don't hold */
export function applyTo(world: World, intent: Intent): void {
  const { target, verb } = intent;
  const { cluster } = world;
  const before = cluster.get(target.name);
  if (verb === "create") {
    if (before !== undefined) throw new Error(`${target.name} exists`);
  } else {
    checkPreconditions(before, intent);
  }
  if (verb === "delete") cluster.delete(target.name);
  else cluster.set(target.name, written(before, intent, `${++world.versions}`));
}

function checkPreconditions(view: ClusterObjectView | undefined, { target }: Intent): void {
  if (view === undefined || view.uid !== target.uid || view.resourceVersion !== target.resourceVersion) {
    throw new Error(`the preconditions on ${target.kind} ${target.name} do not hold`);
  }
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
