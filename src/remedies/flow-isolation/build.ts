import type { Intent, ObjectRef } from "../../core/intent";
import { ownerAnnotations } from "../../core/owned";
import type { ClusterObjectView, WorkloadView } from "../../core/views";
import { OWNER_ANNOTATION, REPLICAS_BEFORE_ANNOTATION } from "../../api/names";
import type { Owner } from "./facts";
import type { Standing } from "./standing";
import { FLOW_CONTROL, type Wanted } from "./wanted";

/** Reasons of the Events of what is done. */
export const DONE = {
  provisioned: "FlowProvisioned",
  putBack: "FlowPutBack",
  throttled: "FlowThrottled",
  released: "FlowReleased",
  removed: "FlowRemoved",
  scaled: "WorkloadScaledToZero",
  restored: "ReplicasRestored",
  left: "ReplicasLeft",
} as const;

/** What an intent says of itself. */
export interface Words {
  readonly why: string;
  readonly eventReason: string;
}

/**
 * Makes an object, or changes it to what it is to be; nothing of one that stands as it is to, is on its way out, or is somebody else's.
 * It is made by create, since only that has its absence as a precondition, and changed by server-side apply.
 */
export function buildWrite(wanted: Wanted, standing: Standing, words: Words): Intent | undefined {
  const { kind, name, labels, annotations, spec } = wanted;
  const body = { metadata: { labels, annotations }, spec };
  if (standing.is === "Missing")
    return { verb: "create", target: { apiVersion: FLOW_CONTROL, kind, name }, body, ...words };
  if (standing.is !== "Different") return undefined;
  return { verb: "apply", target: refOf(standing.view), body, ...words };
}

/** Takes an object away. */
export function buildDelete(view: ClusterObjectView, why: string): Intent {
  return { verb: "delete", target: refOf(view), why, eventReason: DONE.removed };
}

/** Scales a workload to zero and notes its replicas, both at once or neither. */
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
    eventReason: DONE.scaled,
  };
}

/** Gives a workload its replicas back; where somebody has set them meanwhile, only the note of them goes. */
export function buildScaleBack(workload: WorkloadView, why: string): Intent {
  const { replicas, scaledDown } = workload;
  const annotations = { [REPLICAS_BEFORE_ANNOTATION]: null, [OWNER_ANNOTATION]: null };
  const isOurs = replicas === 0 && scaledDown !== undefined;
  return {
    verb: "patch",
    target: refOfWorkload(workload),
    body: { metadata: { annotations }, ...(isOurs ? { spec: { replicas: scaledDown.replicas } } : {}) },
    why: isOurs
      ? `${nameOf(workload)} gets its ${scaledDown.replicas} replicas back: ${why}.`
      : `${nameOf(workload)} keeps its ${replicas} replicas, which somebody has set since it was scaled to zero.`,
    eventReason: isOurs ? DONE.restored : DONE.left,
  };
}

/** As sentences name a workload. */
export function nameOf({ kind, name }: Pick<WorkloadView, "kind" | "name">): string {
  return `${kind} ${name}`;
}

function refOf({ apiVersion, kind, name, uid, resourceVersion }: ClusterObjectView): ObjectRef {
  return { apiVersion, kind, name, uid, resourceVersion };
}

function refOfWorkload({ kind, namespace, name, uid, resourceVersion }: WorkloadView): ObjectRef {
  return { apiVersion: "apps/v1", kind, namespace, name, uid, resourceVersion };
}
