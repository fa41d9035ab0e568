import type { ControllerResilience, ObjectMetadata } from "../../api/controller-resilience";
import { KIND } from "../../api/names";
import { objectOf } from "../../core/json";
import { apiVersionOf, KINDS } from "../../core/kinds";
import { identityOf } from "./identity";

/** A ControllerResilience in a cache. */
export interface ObjectView {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  /** As a live read returns it. Passes share it, so no pass may change it. */
  readonly object: ControllerResilience;
}

/** Returns the view of a ControllerResilience; null without uid, name or creation time. */
export function objectView(raw: unknown): ObjectView | null {
  const object = objectOf(raw) as unknown as ControllerResilience;
  const identity = identityOf(object.metadata);
  if (identity === null) return null;
  const { uid, namespace, name, resourceVersion } = identity;
  const typed = { ...object, apiVersion: apiVersionOf(KINDS[KIND]), kind: KIND };
  return { uid, namespace, name, resourceVersion, object: { ...typed, metadata: onlyNeeded(object.metadata) } };
}

/** Drops managedFields, labels and other metadata that no code reads; a status update ignores them. */
export function onlyNeeded(metadata: ObjectMetadata): ObjectMetadata {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp } = metadata;
  const { deletionTimestamp, annotations, finalizers } = metadata;
  return {
    name,
    namespace,
    uid,
    resourceVersion,
    generation,
    creationTimestamp,
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(finalizers === undefined ? {} : { finalizers }),
  };
}
