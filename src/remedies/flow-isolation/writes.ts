import type { DesiredState } from "../../core/desired";
import type { Intent, ObjectRef } from "../../core/intent";
import type { ClusterObjectView } from "../../core/views";
import { FLOW_CONTROL, type Wanted } from "./wanted";

/** Reasons of the Events about writes. */
export const EVENT = {
  provisioned: "FlowProvisioned",
  putBack: "FlowPutBack",
  throttled: "FlowThrottled",
  released: "FlowReleased",
  removed: "FlowRemoved",
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

function refOf({ apiVersion, kind, name, uid, resourceVersion }: ClusterObjectView): ObjectRef {
  return { apiVersion, kind, name, uid, resourceVersion };
}
