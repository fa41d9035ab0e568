import type { DesiredState } from "../../core/desired";
import type { Intent, ObjectRef } from "../../core/intent";
import { ownerAnnotations } from "../../core/owned";
import type { ClusterObjectView, WorkloadView } from "../../core/views";
import { OWNER_ANNOTATION, REPLICAS_BEFORE_ANNOTATION } from "../../api/names";
import type { Owner } from "./facts";
import { FLOW_CONTROL, type Wanted } from "./wanted";

/** Reasons of the Events about writes. */
export const EVENT = {
  provisioned: "FlowProvisioned",
  putBack: "FlowPutBack",
  throttled: "FlowThrottled",
  released: "FlowReleased",
  removed: "FlowRemoved",
  scaled: "WorkloadScaledToZero",
  restored: "ReplicasRestored",
  left: "ReplicasLeft",
} as const;

/** Message and Event reason of an intent. */
export interface Words {
  readonly why: string;
  readonly eventReason: string;
}

/**
 * Creates an object or changes it to the wanted one. Undefined for one that is right, being deleted, or foreign. Only create has the object's
 * absence as a precondition; changes use server-side apply.
 */
export function buildWrite(wanted: Wanted, state: DesiredState, words: Words): Intent | undefined {
  const { kind, name, labels, annotations, spec } = wanted;
  const body = { metadata: { labels, annotations }, spec };
  if (state.is === "missing")
    return { verb: "create", target: { apiVersion: FLOW_CONTROL, kind, name }, body, ...words };
  if (state.is !== "different") return undefined;
  return { verb: "apply", target: refOf(state.view), body, ...words };
}

/** Deletes an object. */
export function buildDelete(view: ClusterObjectView, why: string): Intent {
  return { verb: "delete", target: refOf(view), why, eventReason: EVENT.removed };
}

/** Scales a workload to zero and records its replicas in an annotation, in one patch. */
export function buildScaleToZero(workload: WorkloadView, owner: Owner, why: string): Intent {
  const annotations = {
    [REPLICAS_BEFORE_ANNOTATION]: String(workload.replicas),
    ...ownerAnnotations(owner),
  };
  return {
    verb: "patch",
    target: refOfWorkload(workload),
    body: { metadata: { annotations }, spec: { replicas: 0 } },
    why,
    eventReason: EVENT.scaled,
  };
}

/** Restores the replicas of a workload. If they were set meanwhile, only the annotation is removed. */
export function buildScaleBack(workload: WorkloadView, why: string): Intent {
  const { replicas, scaledDown } = workload;
  const annotations = { [REPLICAS_BEFORE_ANNOTATION]: null, [OWNER_ANNOTATION]: null };
  const isOurs = replicas === 0 && scaledDown !== undefined;
  return {
    verb: "patch",
    target: refOfWorkload(workload),
    body: { metadata: { annotations }, ...(isOurs ? { spec: { replicas: scaledDown.replicas } } : {}) },
    why: isOurs
      ? `${nameOf(workload)} is scaled back to ${scaledDown.replicas} replicas: ${why}.`
      : `${nameOf(workload)} keeps its ${replicas} replicas: they were set after it was scaled to zero.`,
    eventReason: isOurs ? EVENT.restored : EVENT.left,
  };
}

/** Name of a workload in messages. */
export function nameOf({ kind, name }: Pick<WorkloadView, "kind" | "name">): string {
  return `${kind} ${name}`;
}

function refOf({ apiVersion, kind, name, uid, resourceVersion }: ClusterObjectView): ObjectRef {
  return { apiVersion, kind, name, uid, resourceVersion };
}

function refOfWorkload({ kind, namespace, name, uid, resourceVersion }: WorkloadView): ObjectRef {
  return { apiVersion: "apps/v1", kind, namespace, name, uid, resourceVersion };
}
