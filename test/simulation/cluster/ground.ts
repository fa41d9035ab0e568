import type { Clock } from "../../../src/core/time";
import type { Access, Account } from "../server/access";
import type { ApiServers } from "../server/api-servers";
import type { Condition, NewObj, Obj, OwnerReference, Spec } from "../server/objects";
import type { Store } from "../server/store";
import { type Dice, START_MS } from "../time";
import type { Answer, Asked, ProgramFactory } from "../programs/program";

/** What the cluster needs of the API servers. */
export type Servers = Pick<ApiServers, "count" | "isDown" | "request">;

/** What all parts of the simulated cluster stand on. */
export interface Ground {
  readonly clock: Clock;
  readonly dice: Dice;
  readonly store: Store;
  readonly access: Access;
  readonly servers: Servers;
  /** What the images contain; an image that is not there cannot be pulled. */
  readonly images: Map<string, ProgramFactory>;
  /** Pods and ReplicaSets by the uid of their controller. */
  readonly children: Children;
  /** Hashes of templates, by uid of their workload. */
  readonly hashes: Map<string, { readonly generation: number | undefined; readonly hash: string }>;
  /** Pods that have got an address. */
  addresses: number;
  /** Each may refuse a pod that a controller is about to create, such as a webhook: the message, or undefined. */
  readonly podRefusals: Set<(pod: NewObj) => string | undefined>;
  /** Each may refuse valid tokens of programs at a server for a while, as a broken authenticator does. */
  readonly tokenRefusals: Set<(owner: Account, server: number) => boolean>;
  /** Each may change how a request of a program ends: its status, 0 for none, undefined as it is. */
  readonly programFaults: Set<(owner: Account, asked: Asked, server: number) => Answer | undefined>;
}

/** Wall-clock time of the world in milliseconds since 1970. The clock is that of the world, and no process's. */
export function nowMs({ clock }: Pick<Ground, "clock">): number {
  return START_MS + clock.monotonicMs();
}

/** The reference by which a controller owns an object. */
export function ownedBy(owner: Obj): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true };
}

/** What other workloads control. */
export type OwnedResource = "pods" | "replicasets";

/** The pods and ReplicaSets of each controller, oldest first. */
export class Children {
  readonly #byOwner = { pods: new Map<string, Map<string, Obj>>(), replicasets: new Map<string, Map<string, Obj>>() };

  constructor(private readonly store: Store) {
    for (const resource of ["pods", "replicasets"] as const)
      store.subscribe(resource, ({ type, object }) => this.#note(resource, object, type === "DELETED"));
  }

  of(resource: OwnedResource, { metadata }: Obj): readonly Obj[] {
    return [...(this.#byOwner[resource].get(metadata.uid)?.values() ?? [])];
  }

  /** Looks at all objects again, since a restore from a backup sends no watch events. */
  catchUp(): void {
    for (const resource of ["pods", "replicasets"] as const) {
      this.#byOwner[resource].clear();
      for (const object of this.store.list(resource)) this.#note(resource, object, false);
    }
  }

  #note(resource: OwnedResource, object: Obj, isGone: boolean): void {
    const owner = controllerOf(object)?.uid;
    if (owner === undefined) return;
    const siblings = this.#byOwner[resource].get(owner) ?? new Map<string, Obj>();
    this.#byOwner[resource].set(owner, siblings);
    if (isGone) siblings.delete(object.metadata.uid);
    else siblings.set(object.metadata.uid, object);
  }
}

/** The controller that owns an object. */
export function controllerOf({ metadata }: Obj): OwnerReference | undefined {
  return (metadata.ownerReferences ?? []).find(({ controller }) => controller === true);
}

/** Kind and name of the workload that owns a pod, as the names of its ReplicaSets tell; undefined for a bare pod. */
export function workloadOf(pod: Obj): string | undefined {
  const owner = controllerOf(pod);
  if (owner === undefined) return undefined;
  return owner.kind === "ReplicaSet"
    ? `Deployment/${owner.name.replace(/-[a-z0-9]+$/, "")}`
    : `${owner.kind}/${owner.name}`;
}

/** Calls back for keys, each once after some time, however often it is added meanwhile. */
export class Agenda {
  readonly #due = new Map<string, { readonly atMs: number; readonly cancel: () => void }>();

  constructor(
    private readonly clock: Clock,
    private readonly work: (key: string) => void,
  ) {}

  /** An earlier time than the one that is planned replaces it. */
  add(key: string, delayMs: number): void {
    const atMs = this.clock.monotonicMs() + delayMs;
    const planned = this.#due.get(key);
    if (planned !== undefined && planned.atMs <= atMs) return;
    planned?.cancel();
    const cancel = this.clock.after(delayMs, () => {
      this.#due.delete(key);
      this.work(key);
    });
    this.#due.set(key, { atMs, cancel });
  }
}

/** Splits `namespace/name`. */
export function split(key: string): [namespace: string, name: string] {
  const at = key.indexOf("/");
  return [key.slice(0, at), key.slice(at + 1)];
}

/** `namespace/name` of an object. */
export function keyOfObject({ metadata }: Obj): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

/** The node of a pod; empty if it has none yet. */
export function nodeOf({ spec }: Obj): string {
  return spec?.nodeName ?? "";
}

/** Whether a node has the labels that a pod wants. */
export function suits({ metadata: { labels } }: Obj, { nodeSelector = {} }: Partial<Spec>): boolean {
  return Object.entries(nodeSelector).every(([key, value]) => labels?.[key] === value);
}

/** Neither being deleted nor at its end. */
export function isAlive({ metadata, status }: Obj): boolean {
  return metadata.deletionTimestamp === undefined && status?.phase !== "Failed" && status?.phase !== "Succeeded";
}

/** Sets a condition; its time changes only with its status. */
export function setCondition(draft: Obj, condition: Condition, now: string): void {
  const list = ((draft.status ??= {}).conditions ??= []);
  const at = list.findIndex(({ type }) => type === condition.type);
  const before = list[at];
  const lastTransitionTime = before?.status === condition.status ? (before.lastTransitionTime ?? now) : now;
  const next = { ...condition, lastTransitionTime };
  if (at < 0) list.push(next);
  else list[at] = next;
}

/** A short name of the template of a workload, the same for equal templates. */
export function templateHash({ hashes }: Pick<Ground, "hashes">, { metadata, spec }: Obj): string {
  const known = hashes.get(metadata.uid);
  if (known !== undefined && known.generation === metadata.generation) return known.hash;
  const hash = hashOf(spec!.template);
  hashes.set(metadata.uid, { generation: metadata.generation, hash });
  return hash;
}

const HASH_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/** A short name of a template, the same for equal templates. */
function hashOf(template: unknown): string {
  const text = JSON.stringify(template);
  let [a, b] = [0x811c9dc5, 0x1000193];
  for (let at = 0; at < text.length; at++) {
    a = Math.imul(a ^ text.charCodeAt(at), 0x01000193);
    b = Math.imul(b ^ text.charCodeAt(at), 0x5bd1e995);
  }
  let hash = "";
  for (const word of [a >>> 0, b >>> 0])
    for (let rest = word, at = 0; at < 5; at++) {
      hash += HASH_ALPHABET[rest % HASH_ALPHABET.length]!;
      rest = Math.floor(rest / HASH_ALPHABET.length);
    }
  return hash;
}

/** A number or percent of a whole. */
export function share(
  value: number | string | undefined,
  whole: number,
  options: { readonly up: boolean; readonly otherwise: number | string },
): number {
  const given = value ?? options.otherwise;
  if (typeof given === "number") return given;
  const part = (whole * Number.parseInt(given, 10)) / 100;
  return options.up ? Math.ceil(part) : Math.floor(part);
}
