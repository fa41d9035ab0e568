import type { Clock } from "../../../src/core/time";
import { toSeconds } from "../../../src/core/time";
import type { Dice } from "../time";
import { apiVersionOf, BUILT_IN, kindOfDefinition, type KindInfo } from "./kinds";
import { admit, begin, record, revised } from "./registry";
import { alreadyExists, checkPreconditions, notFound, notServed, type Preconditions } from "./validation";
import { type By, clone, freeze, keyOf, type Meta, type NewObj, type Obj, same, settle } from "./objects";

/** A change of one object. */
export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  /** Of a deletion: the object as it was, with the resourceVersion of the deletion. */
  readonly object: Obj;
  readonly old?: Obj;
  readonly revision: number;
  readonly atMs: number;
}

/** Called for each change of a resource, in order. */
export type Listener = (change: Change) => void;

/** What a backup has. */
export interface Snapshot {
  readonly revision: number;
  readonly collections: ReadonlyMap<string, ReadonlyMap<string, Obj>>;
}

/** How an object is deleted. */
export interface DeleteOptions {
  readonly graceSeconds?: number | undefined;
  readonly preconditions?: Preconditions | undefined;
}

/** Changes of one resource that are kept: a watch from an earlier one gets 410. */
const KEPT_CHANGES = 1_000;

const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/** The writer if none is named. */
const ADMIN: By = { manager: "admin" };

/** All objects of one resource. */
class Collection {
  objects = new Map<string, Obj>();
  changes: Change[] = [];
  /** A watch must begin at this revision or later. */
  floor = 0;
  /** Grows with every change, also by a restore; in a namespace, with those in it. */
  #version = 0;
  #restored = 0;
  readonly #versions = new Map<string | undefined, number>();
  readonly listeners = new Set<Listener>();
  /** Sorted, by namespace; all of them without one. They stay while objects only change. */
  readonly #keys = new Map<string | undefined, readonly string[]>();
  readonly #lists = new Map<string | undefined, readonly Obj[]>();

  version(namespace?: string): number {
    return namespace === undefined ? this.#version : (this.#versions.get(namespace) ?? this.#restored);
  }

  list(namespace?: string): readonly Obj[] {
    const known = this.#lists.get(namespace);
    if (known !== undefined) return known;
    const list = this.#keysOf(namespace).map(key => this.objects.get(key)!);
    this.#lists.set(namespace, list);
    return list;
  }

  #keysOf(namespace?: string): readonly string[] {
    const known = this.#keys.get(namespace);
    if (known !== undefined) return known;
    const isWithin = (key: string): boolean => this.objects.get(key)!.metadata.namespace === namespace;
    const keys = namespace === undefined ? [...this.objects.keys()].sort() : this.#keysOf().filter(isWithin);
    this.#keys.set(namespace, keys);
    return keys;
  }

  note(change: Change): void {
    this.#versions.set(change.object.metadata.namespace, ++this.#version);
    for (const place of [undefined, change.object.metadata.namespace]) {
      this.#lists.delete(place);
      if (change.type !== "MODIFIED") this.#keys.delete(place);
    }
    this.changes.push(change);
    if (this.changes.length < 2 * KEPT_CHANGES) return;
    this.changes = this.changes.slice(-KEPT_CHANGES);
    this.floor = this.changes[0]!.revision - 1;
  }

  changed(): void {
    this.#restored = ++this.#version;
    this.#versions.clear();
    this.#keys.clear();
    this.#lists.clear();
  }
}

/**
 * What etcd and the registry behind all API servers hold. The simulated cluster works on it as an administrator: each change is atomic and has a
 * revision of its own.
 */
export class Store {
  readonly clock: Clock;
  readonly dice: Dice;
  readonly #collections = new Map<string, Collection>();
  readonly #waiting: (() => void)[] = [];
  #revision = 1;
  #by = ADMIN;
  #isTelling = false;

  constructor(clock: Clock, dice: Dice) {
    this.clock = clock;
    this.dice = dice.fork("store");
  }

  /** The revision of the last change of any object. */
  get revision(): number {
    return this.#revision;
  }

  /** A number that grows with every change of a resource, or of those in a namespace. */
  version(resource: string, namespace?: string): number {
    return this.#of(resource).version(namespace);
  }

  get(resource: string, namespace: string | undefined, name: string): Obj | undefined {
    return this.#of(resource).objects.get(keyOf(namespace, name));
  }

  /** Sorted by namespace and name; the same array until one of its objects changes. */
  list(resource: string, namespace?: string): readonly Obj[] {
    return this.#of(resource).list(namespace);
  }

  /** The objects as they were so long ago: what a lagging server shows. */
  listBefore(resource: string, agoMs: number): readonly Obj[] {
    const { objects, changes } = this.#of(resource);
    const sinceMs = this.clock.monotonicMs() - agoMs;
    const then = new Map(objects);
    for (let at = changes.length - 1; at >= 0 && changes[at]!.atMs > sinceMs; at--) {
      const { object, old } = changes[at]!;
      const key = keyOf(object.metadata.namespace, object.metadata.name);
      if (old === undefined) then.delete(key);
      else then.set(key, old);
    }
    return [...then.keys()].sort().map(key => then.get(key)!);
  }

  /** The revision up to which a lagging server knows a resource. */
  revisionBefore(resource: string, agoMs: number): number {
    const sinceMs = this.clock.monotonicMs() - agoMs;
    const next = this.#of(resource).changes.find(({ atMs }) => atMs > sinceMs);
    return next === undefined ? this.#revision : next.revision - 1;
  }

  /** Runs `work` as a writer that metadata.managedFields names; else it is `admin`. */
  as<T>(by: By, work: () => T): T {
    const before = this.#by;
    this.#by = by;
    try {
      return work();
    } finally {
      this.#by = before;
    }
  }

  /** Sets uid, times and defaults. @param uid else a random one @throws Refusal 409 AlreadyExists */
  create(resource: string, object: NewObj, uid?: string): Obj {
    const info = this.info(resource);
    const draft = settle(clone(object)) as Obj;
    Object.assign(draft, { apiVersion: object.apiVersion ?? apiVersionOf(info), kind: object.kind ?? info.kind });
    this.#begin(draft.metadata, info, uid);
    const { namespace, name } = draft.metadata;
    if (this.get(resource, namespace, name) !== undefined) throw alreadyExists(info, name);
    begin(draft, info, this);
    record({ draft, old: undefined, by: this.#by }, info, this);
    admit(draft, info, this);
    return this.#put(resource, draft, undefined);
  }

  /** Changes one object. A change that changes nothing is none. @throws Refusal 404 */
  update(resource: string, namespace: string | undefined, name: string, change: (draft: Obj) => void): Obj {
    return this.#replace(resource, namespace, name, old => {
      const draft = clone(old);
      change(draft);
      return draft;
    });
  }

  /** Sets whole fields of an object. @throws Refusal 404 */
  set(resource: string, namespace: string | undefined, name: string, fields: Readonly<Record<string, unknown>>): Obj {
    return this.#replace(resource, namespace, name, old => ({ ...old, ...fields, metadata: { ...old.metadata } }));
  }

  #replace(resource: string, namespace: string | undefined, name: string, revise: (old: Obj) => Obj): Obj {
    const info = this.info(resource);
    const old = this.get(resource, namespace, name);
    if (old === undefined) throw notFound(info, name);
    const changed = revise(old);
    this.#keepIdentity(changed.metadata, old.metadata);
    revised(changed, old, info, this);
    const draft = settle(changed, old);
    if (draft === old) return old;
    draft.metadata = { ...draft.metadata };
    dropEmpty(draft.metadata);
    if (info.hasGeneration && (isNewSpec(draft, old) || isNewMark(info, draft, old)))
      draft.metadata.generation = (old.metadata.generation ?? 0) + 1;
    record({ draft, old, by: this.#by }, info, this);
    return isGone(resource, draft) ? this.#remove(resource, draft) : this.#put(resource, draft, old);
  }

  /**
   * Deletes an object, or begins to: finalizers and a pod's grace period let it stay with a deletionTimestamp. Returns it as it is then.
   *
   * @throws Refusal 404, and 409 for preconditions
   */
  delete(resource: string, namespace: string | undefined, name: string, options: DeleteOptions = {}): Obj {
    const info = this.info(resource);
    const old = this.get(resource, namespace, name);
    if (old === undefined) throw notFound(info, name);
    checkPreconditions(info, old, options.preconditions);
    const grace = graceOf(resource, old, options.graceSeconds);
    const draft = clone(old);
    this.#markDeleted(resource, draft, grace);
    if (isGone(resource, draft)) return this.#remove(resource, resource === "pods" ? draft : clone(old));
    return same(draft, old) ? old : this.#put(resource, draft, old);
  }

  /** Calls the listener for each change after this call, in order, before the change returns. Returns a function that ends it. */
  subscribe(resource: string, listener: Listener): () => void {
    const { listeners } = this.#of(resource);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** Returns the changes of a resource after a revision; undefined if some of them are forgotten. */
  changesSince(resource: string, revision: number): readonly Change[] | undefined {
    const { changes, floor } = this.#of(resource);
    if (revision < floor) return undefined;
    let at = changes.length;
    while (at > 0 && changes[at - 1]!.revision > revision) at--;
    return at === changes.length ? [] : changes.slice(at);
  }

  /** Forgets the changes of a resource, or of all, as a compaction does. */
  compact(resource?: string): void {
    const all = resource === undefined ? [...this.#collections.values()] : [this.#of(resource)];
    for (const collection of all) Object.assign(collection, { changes: [], floor: this.#revision });
  }

  snapshot(): Snapshot {
    const collections = [...this.#collections].map(([name, { objects }]) => [name, new Map(objects)] as const);
    return { revision: this.#revision, collections: new Map(collections) };
  }

  /** A restore from a backup: objects go back without watch events. So do revisions, unless the restore raises them (`--bump-revision`). */
  restore({ revision: then, collections }: Snapshot, { bump = 0 }: { readonly bump?: number } = {}): void {
    const revision = bump === 0 ? then : this.#revision + bump;
    this.#revision = revision;
    for (const name of collections.keys()) this.#of(name);
    for (const [name, collection] of this.#collections) {
      Object.assign(collection, { objects: new Map(collections.get(name) ?? []), changes: [], floor: revision });
      collection.changed();
    }
  }

  /** What is known of a resource. @throws Error for one that no server serves */
  info(resource: string): KindInfo {
    const info = this.kind(resource);
    if (info === undefined) throw notServed(resource);
    return info;
  }

  /** The same; undefined for one that no server serves. */
  kind(resource: string): KindInfo | undefined {
    return BUILT_IN.get(resource) ?? kindOfDefinition(this.definition(resource));
  }

  /** The definition of a custom resource. */
  definition(resource: string): Obj | undefined {
    return this.list("customresourcedefinitions").find(({ spec }) => spec?.names?.plural === resource);
  }

  /** Now, as metadata has times. */
  time(): string {
    return toSeconds(this.clock.now());
  }

  /** Letters for a generated name. */
  suffix(): string {
    return Array.from({ length: 5 }, () => ALPHABET[this.dice.int(ALPHABET.length)]).join("");
  }

  #of(resource: string): Collection {
    const known = this.#collections.get(resource);
    if (known !== undefined) return known;
    const collection = new Collection();
    this.#collections.set(resource, collection);
    return collection;
  }

  #begin(metadata: Meta, info: KindInfo, uid = ""): void {
    const { name = "", generateName } = metadata as Partial<Meta>;
    if (name === "" && generateName !== undefined) metadata.name = generateName + this.suffix();
    metadata.uid = uid === "" ? this.#uid() : uid;
    metadata.creationTimestamp = this.time();
    if (info.hasGeneration) metadata.generation = 1;
    for (const field of ["resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds"] as const)
      Reflect.deleteProperty(metadata, field);
  }

  #uid(): string {
    const word = (): string =>
      this.dice
        .int(2 ** 32)
        .toString(16)
        .padStart(8, "0");
    const [a, b, c] = [word(), word(), word()];
    return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-a${c.slice(5)}-${c.slice(0, 4)}${word()}`;
  }

  /** These are never changed. */
  #keepIdentity(metadata: Meta, old: Meta): void {
    const { name, namespace, uid, creationTimestamp, generation, deletionTimestamp, deletionGracePeriodSeconds } = old;
    const kept = { name, namespace, uid, creationTimestamp, generation, deletionTimestamp, deletionGracePeriodSeconds };
    Object.assign(metadata, kept, { resourceVersion: old.resourceVersion });
  }

  #markDeleted(resource: string, draft: Obj, grace: number): void {
    const { metadata } = draft;
    if (metadata.deletionTimestamp !== undefined && grace >= (metadata.deletionGracePeriodSeconds ?? 0)) return;
    metadata.deletionTimestamp = toSeconds(new Date(this.clock.now().getTime() + 1000 * grace));
    metadata.deletionGracePeriodSeconds = grace;
    if (metadata.generation !== undefined) metadata.generation++;
    if (resource === "namespaces") {
      draft.status = { ...draft.status, phase: "Terminating" };
      Reflect.deleteProperty(metadata, "deletionGracePeriodSeconds");
    }
  }

  #put(resource: string, draft: Obj, old: Obj | undefined): Obj {
    const object = this.#stamped(draft);
    this.#of(resource).objects.set(keyOf(object.metadata.namespace, object.metadata.name), object);
    this.#tell(resource, { type: old === undefined ? "ADDED" : "MODIFIED", object, ...(old && { old }) });
    return object;
  }

  #remove(resource: string, draft: Obj): Obj {
    const { namespace, name } = draft.metadata;
    const old = this.get(resource, namespace, name);
    this.#of(resource).objects.delete(keyOf(namespace, name));
    const object = this.#stamped(draft);
    this.#tell(resource, { type: "DELETED", object, ...(old && { old }) });
    return object;
  }

  #stamped(draft: Obj): Obj {
    draft.metadata.resourceVersion = String(++this.#revision);
    return freeze(draft);
  }

  /** A change that a listener makes is told after the one that it has heard of. */
  #tell(resource: string, what: Pick<Change, "type" | "object" | "old">): void {
    const collection = this.#of(resource);
    const change = { ...what, revision: this.#revision, atMs: this.clock.monotonicMs() };
    collection.note(change);
    this.#waiting.push(() => {
      for (const listener of [...collection.listeners]) listener(change);
    });
    if (this.#isTelling) return;
    this.#isTelling = true;
    try {
      for (let tell = this.#waiting.shift(); tell !== undefined; tell = this.#waiting.shift()) this.as(ADMIN, tell);
    } finally {
      this.#isTelling = false;
    }
  }
}

/** Go leaves out what is empty. */
function dropEmpty(metadata: Meta): void {
  for (const field of ["labels", "annotations", "finalizers", "ownerReferences"] as const)
    if (metadata[field] !== undefined && Object.keys(metadata[field]).length === 0)
      Reflect.deleteProperty(metadata, field);
}

/** Annotations of a Deployment are for its controller, as labels of an EndpointSlice are for proxies. */
function isNewMark({ plural }: KindInfo, { metadata }: Obj, { metadata: old }: Obj): boolean {
  if (plural === "deployments") return !same(metadata.annotations, old.annotations);
  return plural === "endpointslices" && !same(metadata.labels, old.labels);
}

function isNewSpec(draft: Obj, old: Obj): boolean {
  const fields = new Set([...Object.keys(draft), ...Object.keys(old)]);
  for (const field of fields)
    if (field !== "metadata" && field !== "status" && !same(unplaced(draft, field), unplaced(old, field))) return true;
  return false;
}

/** To bind a pod to a node is no change of what it should be. */
function unplaced(object: Obj, field: string): unknown {
  const value = object[field] as unknown;
  return object.kind === "Pod" && field === "spec" ? { ...(value as object), nodeName: undefined } : value;
}

/** Nothing holds the object any more. */
function isGone(resource: string, { metadata, spec }: Obj): boolean {
  if (metadata.deletionTimestamp === undefined || (metadata.finalizers ?? []).length > 0) return false;
  if (resource === "namespaces") return (spec?.finalizers ?? []).length === 0;
  return (metadata.deletionGracePeriodSeconds ?? 0) === 0;
}

/** Only pods that run have time to end. */
function graceOf(resource: string, { spec, status }: Obj, graceSeconds: number | undefined): number {
  if (resource !== "pods") return 0;
  const { nodeName = "", terminationGracePeriodSeconds = 30 } = spec ?? {};
  if (nodeName === "" || ["Succeeded", "Failed"].includes(status?.phase ?? "")) return 0;
  return graceSeconds ?? terminationGracePeriodSeconds;
}
