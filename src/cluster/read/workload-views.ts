import type {
  V1DaemonSet,
  V1DaemonSetSpec,
  V1DaemonSetStatus,
  V1Deployment,
  V1DeploymentStatus,
  V1PodSpec,
  V1StatefulSet,
} from "@kubernetes/client-node";
import { MANAGER } from "../../api/names";
import { numberOf, objectOf, textOf } from "../../core/json";
import type { DaemonSetView, RolloutView, WorkloadView } from "../../core/views";
import {
  annotationsOf,
  fieldsAt,
  identityOf,
  isSkipped,
  itemsOf,
  labelsOf,
  lastManagerOf,
  type ManagedFields,
  ownerOf,
  present,
  projectAnnotationsOf,
  type Received,
} from "./received";
import { isComponent, logsForeign401s } from "./components";
import { serviceAccountNameOf, signsOf, tokenSourcesOf } from "./pod-view";

/** Returns the view of a Deployment, StatefulSet or DaemonSet; null without uid, name or creation time. */
export function workloadView(kind: WorkloadView["kind"], raw: unknown): WorkloadView | null {
  const { metadata, spec } = objectOf(raw) as Received<V1Deployment | V1StatefulSet | V1DaemonSet>;
  const identity = identityOf(metadata);
  if (identity === null) return null;
  const { namespace, name, uid, resourceVersion, createdAtMs } = identity;
  const template = spec?.template;
  const pods = template?.spec ?? {};
  const [labels, serviceAccountName] = [labelsOf(metadata), serviceAccountNameOf(pods)];
  const signs = { namespace, names: [name, serviceAccountName], labels, ...signsOf(pods) };
  return present({
    kind,
    namespace,
    name,
    uid,
    resourceVersion,
    createdAtMs,
    labels,
    skip: isSkipped(metadata),
    serviceAccountName,
    ...podsOf(pods),
    replicas: replicasOf(kind, raw),
    annotations: unlessEmpty(projectAnnotationsOf(metadata)),
    isComponent: isComponent(signs) || undefined,
    logsForeign401s: logsForeign401s(signs) || undefined,
    rollout: rolloutView(kind, raw),
    readyReplicas: readyReplicasOf(raw),
  });
}

/** A DaemonSet's status counts pods on nodes where it would start none any more, such as for a new taint, apart. An absent number is 0. */
function readyReplicasOf(raw: unknown): number | undefined {
  const { status } = objectOf(raw) as { status?: Received<V1DeploymentStatus & V1DaemonSetStatus> };
  if (status?.observedGeneration === undefined) return undefined;
  return (status.numberReady ?? status.readyReplicas ?? 0) + (status.numberMisscheduled ?? 0);
}

function podsOf(spec: Received<V1PodSpec>): Pick<WorkloadView, "automount" | "tokenAudiences" | "graceMs"> {
  const { terminationGracePeriodSeconds: graceS } = spec;
  const audiences = new Set(tokenSourcesOf(spec).map(({ audience }) => audience ?? ""));
  return present({
    graceMs: typeof graceS === "number" ? graceS * 1000 : undefined,
    automount: spec.automountServiceAccountToken,
    tokenAudiences: unlessEmpty([...audiences]),
  });
}

function unlessEmpty<T extends object>(value: T): T | undefined {
  return Object.keys(value).length === 0 ? undefined : value;
}

function replicasOf(kind: WorkloadView["kind"], raw: unknown): number {
  const object = objectOf(raw);
  if (kind === "DaemonSet") return (object as Received<V1DaemonSet>).status?.desiredNumberScheduled ?? 0;
  return (object as Received<V1Deployment | V1StatefulSet>).spec?.replicas ?? 1;
}

/** The DaemonSet controller counts a pod with this label as updated if its value is that of the annotation. */
const TEMPLATE_GENERATION_LABEL = "pod-template-generation";
const TEMPLATE_GENERATION_ANNOTATION = "deprecated.daemonset.template.generation";

const REVISION_LABEL = "controller-revision-hash";

/** The update strategy with which only a person replaces pods of an earlier template. */
const ON_DELETE = "OnDelete";

/** Returns how far the pods of a workload have its present template; undefined without a generation. */
export function rolloutView(kind: WorkloadView["kind"], raw: unknown): RolloutView | undefined {
  const object = objectOf(raw) as Received<V1Deployment | V1StatefulSet | V1DaemonSet>;
  const { metadata, status } = object;
  if (metadata?.generation === undefined || metadata.generation === null) return undefined;
  const isObserved = (status?.observedGeneration ?? 0) >= metadata.generation;
  if (kind === "Deployment") return deploymentRollout(object, isObserved);
  return kind === "StatefulSet" ? statefulSetRollout(object, isObserved) : daemonSetRollout(object, isObserved);
}

function deploymentRollout({ spec, status }: Received<V1Deployment>, isObserved: boolean): RolloutView {
  const { strategy, paused, progressDeadlineSeconds: deadlineS } = spec ?? {};
  const isComplete = isObserved && atLeast(status?.updatedReplicas, status?.replicas);
  return present({
    strategy: typeOf(strategy),
    isComplete,
    // A paused rollout waits for a person.
    isInProgress: !isComplete && paused !== true,
    progressDeadlineMs: typeof deadlineS === "number" ? deadlineS * 1000 : undefined,
  });
}

function statefulSetRollout({ spec, status }: Received<V1StatefulSet>, isObserved: boolean): RolloutView {
  const strategy = typeOf(spec?.updateStrategy);
  const { currentRevision, updateRevision, updatedReplicas } = status ?? {};
  const currentLabel = isObserved ? labelOf(REVISION_LABEL, updateRevision) : undefined;
  const isComplete = currentLabel !== undefined && currentRevision === updateRevision;
  const isReached = currentLabel !== undefined && atLeast(updatedReplicas, replicasToUpdate(spec));
  return {
    strategy,
    isComplete,
    isInProgress: strategy !== ON_DELETE && !isComplete && !isReached,
    ...present({ currentLabel }),
  };
}

/** Pods below the partition keep the earlier template. */
function replicasToUpdate(spec: Received<V1StatefulSet>["spec"]): number {
  return (spec?.replicas ?? 1) - (spec?.updateStrategy?.rollingUpdate?.partition ?? 0);
}

function daemonSetRollout({ metadata, spec, status }: Received<V1DaemonSet>, isObserved: boolean): RolloutView {
  const strategy = typeOf(spec?.updateStrategy);
  const isComplete = isObserved && atLeast(status?.updatedNumberScheduled, status?.currentNumberScheduled);
  const generation = annotationsOf(metadata)[TEMPLATE_GENERATION_ANNOTATION];
  return {
    strategy,
    isComplete,
    isInProgress: strategy !== ON_DELETE && !isComplete,
    ...present({ currentLabel: labelOf(TEMPLATE_GENERATION_LABEL, generation) }),
  };
}

/** The default of the API server is RollingUpdate. */
function typeOf(strategy: { readonly type?: string | null } | null | undefined): string {
  return strategy?.type ?? "RollingUpdate";
}

/** As in the API server, an absent number is 0. */
function atLeast(updated: number | null | undefined, total: number | null | undefined): boolean {
  return (updated ?? 0) >= (total ?? 0);
}

function labelOf(key: string, value: string | null | undefined): RolloutView["currentLabel"] {
  return value ? { key, value } : undefined;
}

/** Returns the view of an apps/v1 DaemonSet; null without uid, name or creation time. */
export function daemonSetView(raw: unknown): DaemonSetView | null {
  const view = workloadView("DaemonSet", raw);
  if (view === null) return null;
  const { metadata, spec, status } = objectOf(raw) as Received<V1DaemonSet>;
  const fields = itemsOf(metadata?.managedFields);
  const strategists = fields.filter(hasStrategyType);
  return {
    ...view,
    kind: "DaemonSet",
    generation: metadata?.generation ?? 0,
    ...rolloutOf(status ?? {}),
    ...specOf(spec ?? {}),
    ownedVolumes: ownedVolumes(fields),
    ...(strategists.some(isOurs) && { ownsUpdateStrategy: true }),
    ...present({
      lastManager: lastManagerOf(fields),
      owner: ownerOf(metadata),
      strategyManager: strategists.find(one => !isOurs(one))?.manager,
    }),
  };
}

function specOf({ updateStrategy, template }: Received<V1DaemonSetSpec>) {
  const { maxUnavailable, maxSurge } = updateStrategy?.rollingUpdate ?? {};
  return {
    updateStrategy: typeOf(updateStrategy),
    ...present({ maxUnavailable: intOrPercent(maxUnavailable), maxSurge: intOrPercent(maxSurge) }),
    template: template ?? {},
  };
}

function intOrPercent(value: unknown): number | string | undefined {
  return numberOf(value) ?? textOf(value);
}

function rolloutOf(status: Received<V1DaemonSetStatus>) {
  return {
    observedGeneration: status.observedGeneration ?? 0,
    updatedPods: status.updatedNumberScheduled ?? 0,
    availablePods: status.numberAvailable ?? 0,
  };
}

/** Prefix of list entries in managedFields, such as `k:{"name":"token"}`. */
const ENTRY = "k:";

/** Patches without server-side apply have the same manager with the operation Update; a later apply does not give those fields back. */
function isOurs({ manager, operation }: ManagedFields): boolean {
  return manager === MANAGER && operation === "Apply";
}

function hasStrategyType(fields: ManagedFields): boolean {
  return "f:type" in fieldsAt(fields, ["f:spec", "f:updateStrategy"]);
}

function ownedVolumes(fields: readonly ManagedFields[]): string[] {
  return fields.filter(isOurs).flatMap(one => {
    const volumes = fieldsAt(one, ["f:spec", "f:template", "f:spec", "f:volumes"]);
    return Object.entries(volumes).flatMap(([key, volume]) => {
      const sources = objectOf(objectOf(volume)["f:projected"])["f:sources"];
      return sources === undefined ? [] : (nameIn(key) ?? []);
    });
  });
}

function nameIn(key: string): string | undefined {
  if (!key.startsWith(ENTRY)) return undefined;
  try {
    return textOf(objectOf(JSON.parse(key.slice(ENTRY.length)))["name"]);
  } catch {
    return undefined;
  }
}
