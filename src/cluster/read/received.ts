import type { V1ManagedFieldsEntry, V1ObjectMeta, V1OwnerReference } from "@kubernetes/client-node";
import { GROUP, MANAGER, SKIP_ANNOTATION } from "../../api/names";
import { objectOf, textOf, textsOf, timeOf } from "../../core/json";
import type { Steps } from "../../core/slices";
import type { Identity, OwnerView } from "../../core/views";

/**
 * A type of @kubernetes/client-node as it arrives in JSON: times are text, and each field can be absent or null, such as an empty list
 * of Go. The API server validates the types of built-in kinds, so views check a type only where its schema leaves it open, or where
 * a wrong value must not count.
 */
export type Received<T> = unknown extends T
  ? unknown
  : T extends Date
    ? string
    : T extends readonly (infer Item)[]
      ? readonly Received<Item>[]
      : T extends object
        ? string extends keyof T
          ? Readonly<T>
          : { readonly [Field in keyof T]?: Received<T[Field]> | null }
        : T;

/** Returns the items of a list; none if it is absent, null or not a list. As in Go, an item that is null has no fields. */
export function itemsOf<T extends object>(list: readonly (T | null)[] | null | undefined): readonly T[] {
  return Array.isArray(list) ? list.map((item: T | null) => item ?? ({} as T)) : [];
}

type Nothing = null | undefined;

/** The same fields; those that may have no value are optional. */
type Present<T> = { [Field in keyof T as Extract<T[Field], Nothing> extends never ? Field : never]: T[Field] } & {
  [Field in keyof T as Extract<T[Field], Nothing> extends never ? never : Field]?: Exclude<T[Field], Nothing>;
};

/** Returns the fields that have a value: a view leaves out what the object does not have. */
export function present<T extends object>(fields: T): Present<T> {
  const kept: Record<string, unknown> = {};
  // A loop, since Object.fromEntries is slow for lists of thousands of pods.
  for (const field in fields) {
    const value = fields[field];
    if (value !== null && value !== undefined) kept[field] = value;
  }
  return kept as Present<T>;
}

/** Appends the views of these items to `views`, one per step, without invalid ones. */
export function* projectAll<V>(items: readonly unknown[], project: (item: unknown) => V | null, views: V[]): Steps {
  for (const item of items) {
    const view = project(item);
    if (view !== null) views.push(view);
    yield;
  }
}

/** An object's metadata; absent in an invalid object. */
export type Metadata = Received<V1ObjectMeta> | null | undefined;

/** Returns null without uid, name or creation time, since decisions depend on them. */
export function identityOf(metadata: Metadata): Identity | null {
  const { namespace, resourceVersion, creationTimestamp, deletionTimestamp } = metadata ?? {};
  // Each write has the name and uid as precondition, so a value of another type is rejected too.
  const [name, uid, createdAtMs] = [textOf(metadata?.name), textOf(metadata?.uid), timeOf(creationTimestamp)];
  if (name === undefined || uid === undefined || createdAtMs === undefined) return null;
  return present({
    namespace: namespace ?? "",
    name,
    uid,
    resourceVersion: resourceVersion ?? "",
    createdAtMs,
    deletedAtMs: timeOf(deletionTimestamp),
  });
}

/** Returns the controller owner reference, if it is complete. */
export function ownerOf(metadata: Metadata): OwnerView | undefined {
  const reference = itemsOf(metadata?.ownerReferences).find(({ controller }) => controller === true);
  return reference === undefined ? undefined : completeOwner(reference);
}

/** Returns the controller owner reference, or else the first one, if a message can name it: nobody checks the names of owners. */
export function namedOwnerOf(metadata: Metadata): OwnerView | undefined {
  const [first] = itemsOf(metadata?.ownerReferences);
  const owner = ownerOf(metadata) ?? (first && completeOwner(first));
  return owner && /^\w{1,63} [a-z\d.-]{1,253}$/i.test(`${owner.kind} ${owner.name}`) ? owner : undefined;
}

function completeOwner({ kind, name, uid }: Received<V1OwnerReference>): OwnerView | undefined {
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

/** One entry of metadata.managedFields. */
export type ManagedFields = Received<V1ManagedFieldsEntry>;

/** Managers that write status or defaults, not a user's intent. */
const CONTROL_PLANE = ["kube-controller-manager", "kube-apiserver"];

/** Returns the last other manager in managedFields that wrote the object without its subresources. */
export function lastManagerOf(fields: readonly ManagedFields[]): string | undefined {
  const others = fields
    .filter(({ subresource }) => (subresource ?? "") === "")
    .map(({ manager, time }) => ({ manager: manager ?? "", atMs: timeOf(time) ?? 0 }))
    .filter(({ manager }) => manager !== MANAGER && !CONTROL_PLANE.includes(manager));
  return others.toSorted((a, b) => b.atMs - a.atMs)[0]?.manager;
}

/**
 * Returns by key when these labels and annotations were written, if that was after `ms`. managedFields has one time per manager: if the
 * manager has written another field since, the time is too late.
 */
export function marksWrittenAfter(
  ms: number,
  keys: readonly string[],
  fields: readonly ManagedFields[],
): Record<string, number> {
  const written = keys.map(key => {
    const times = fields.filter(entry => isMarkOf(entry, key)).flatMap(({ time }) => timeOf(time) ?? []);
    return [key, Math.min(...times)] as const;
  });
  return Object.fromEntries(written.filter(([, atMs]) => atMs > ms && atMs < Infinity));
}

function isMarkOf(entry: ManagedFields, key: string): boolean {
  return ["f:labels", "f:annotations"].some(place => Object.hasOwn(fieldsAt(entry, ["f:metadata", place]), `f:${key}`));
}

/** Returns the owned fields below a path. fieldsV1 has no schema, and a client can write it, so each level of it is checked. */
export function fieldsAt({ fieldsV1 }: ManagedFields, path: readonly string[]): Readonly<Record<string, unknown>> {
  return path.reduce((at, step) => objectOf(at[step]), objectOf(fieldsV1));
}
