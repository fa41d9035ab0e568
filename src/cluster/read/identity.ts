import type { V1ObjectMeta, V1OwnerReference } from "@kubernetes/client-node";
import { GROUP, SKIP_ANNOTATION } from "../../api/names";
import { textOf, textsOf, timeOf } from "../../core/json";
import { itemsOf, present, type Received } from "./received";
import { sharedText } from "./shared-text";

/** An object's metadata; absent in an invalid object. */
export type Metadata = Received<V1ObjectMeta> | null | undefined;

export interface Identity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly createdAtMs: number;
  readonly deletedAtMs?: number;
}

/** The controller owner reference of an object. */
export interface Owner {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** Returns null without uid, name or creation time, since decisions depend on them. */
export function identityOf(metadata: Metadata): Identity | null {
  const { namespace, resourceVersion, creationTimestamp, deletionTimestamp } = metadata ?? {};
  // Each write has the name and uid as precondition, so a value of another type is rejected too.
  const [name, uid, createdAtMs] = [textOf(metadata?.name), textOf(metadata?.uid), timeOf(creationTimestamp)];
  if (name === undefined || uid === undefined || createdAtMs === undefined) return null;
  return {
    namespace: sharedText(namespace ?? ""),
    name,
    uid,
    resourceVersion: resourceVersion ?? "",
    createdAtMs,
    ...present({ deletedAtMs: timeOf(deletionTimestamp) }),
  };
}

/** Returns the controller owner reference, if it is complete. */
export function ownerOf(metadata: Metadata): Owner | undefined {
  const reference = itemsOf(metadata?.ownerReferences).find(({ controller }) => controller === true);
  return reference === undefined ? undefined : completeOwner(reference);
}

function completeOwner({ kind, name, uid }: Received<V1OwnerReference>): Owner | undefined {
  return kind && name && uid ? { kind, name, uid } : undefined;
}

// Users write labels and annotations: only text counts.

export function labelsOf(metadata: Metadata): Readonly<Record<string, string>> {
  return textsOf(metadata?.labels);
}

/** Returns a copy. */
export function annotationsOf(metadata: Metadata): Record<string, string> {
  return textsOf(metadata?.annotations);
}

/** Returns this project's annotations. */
export function projectAnnotationsOf(metadata: Metadata): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(annotationsOf(metadata)).filter(([key]) => key.startsWith(`${GROUP}/`)));
}

/** Reports whether the skip annotation is set. */
export function isSkipped(metadata: Metadata): boolean {
  return metadata?.annotations?.[SKIP_ANNOTATION] === "true";
}
