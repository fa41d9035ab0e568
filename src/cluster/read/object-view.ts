import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience, ObjectMetadata } from "../../api/controller-resilience";
import { CLUSTER_KIND, KIND } from "../../api/names";
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

/** A ClusterControllerResilience in a cache. */
export interface ClusterObjectOfOurs {
  readonly uid: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly object: ClusterControllerResilience;
}

/** Returns the view of a ClusterControllerResilience; null without uid, name or creation time. */
export function clusterObjectOfOursView(raw: unknown): ClusterObjectOfOurs | null {
  const object = objectOf(raw) as unknown as ClusterControllerResilience & { readonly metadata: ObjectMetadata };
  const identity = identityOf(object.metadata);
  if (identity === null) return null;
  const { uid, name, resourceVersion } = identity;
  const typed = { ...object, apiVersion: apiVersionOf(KINDS[CLUSTER_KIND]), kind: CLUSTER_KIND };
  return { uid, name, resourceVersion, object: { ...typed, metadata: onlyNeeded(object.metadata) } };
}

/** Drops managedFields and other metadata that no code reads; a status update ignores them. */
export function onlyNeeded(metadata: ObjectMetadata): ObjectMetadata {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp } = metadata;
  const { deletionTimestamp, labels, annotations, ownerReferences, finalizers } = metadata;
  return {
    name,
    namespace,
    uid,
    resourceVersion,
    generation,
    creationTimestamp,
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
    ...(finalizers === undefined ? {} : { finalizers }),
  };
}
