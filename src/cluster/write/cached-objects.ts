import type { ControllerResilience } from "../../api/controller-resilience";
import type { Key, ObjectVersion } from "../../core/ports";
import type { OwnCache } from "../read/views";

/** A watch cache of all ControllerResiliences. */
export interface ObjectCache {
  /** Returns undefined while the cache is not filled or stale. */
  current(): OwnCache<ControllerResilience> | undefined;
}

/** The state of an object that this process knows by a read or a write, so that an older one in the cache is not used. */
interface Floor {
  readonly uid: string;
  readonly version: string;
  /** A read found that the object is gone; `version` is its last known one. */
  readonly isGone: boolean;
}

/**
 * The cache, without what is older than what this process has read or written itself.
 *
 * resourceVersions of one resource are comparable decimal numbers (KEP-5504). One that is not a number compares with nothing, so the
 * object must be read live.
 */
export class CachedObjects {
  readonly #cache: ObjectCache;
  readonly #floors = new Map<Key, Floor>();

  constructor(cache: ObjectCache) {
    this.#cache = cache;
  }

  get(key: Key): ControllerResilience | undefined {
    const state = this.#cache.current();
    if (state === undefined) return undefined;
    const object = state.get(key);
    const floor = this.#floors.get(key);
    if (floor !== undefined && !isReached(floor, object, state.version)) return undefined;
    this.#floors.delete(key);
    return object;
  }

  /** Returns undefined also if the cache lacks an object that this process has read: another one may be missing as well. */
  keys(): readonly Key[] | undefined {
    const state = this.#cache.current();
    if (state === undefined) return undefined;
    for (const [key, floor] of this.#floors) {
      const object = state.get(key);
      if (isReached(floor, object, state.version)) this.#floors.delete(key);
      else if (!floor.isGone && object === undefined) return undefined;
    }
    return state.keys();
  }

  /** Reports whether this process has read or written this version of an object, or has it in the cache, or a later one. */
  isKnown(key: Key, { uid, resourceVersion: version }: ObjectVersion): boolean {
    const floor = this.#floors.get(key);
    if (floor?.uid === uid && !floor.isGone && atLeast(floor.version, version)) return true;
    const state = this.#cache.current();
    return state !== undefined && isReached({ uid, version, isGone: false }, state.get(key), state.version);
  }

  /** Records what a live read, a list or a write returned. */
  note(key: Key, { uid, resourceVersion: version }: ObjectVersion): void {
    const known = this.#floors.get(key);
    if (known?.uid === uid && !known.isGone && atLeast(known.version, version)) return;
    this.#set(key, { uid, version, isGone: false });
  }

  /** Records that a live read found no object. */
  noteGone(key: Key): void {
    const cached = this.#cache.current()?.get(key)?.metadata;
    const known = this.#floors.get(key) ?? (cached && { uid: cached.uid, version: cached.resourceVersion });
    if (known !== undefined) this.#set(key, { ...known, isGone: true });
  }

  #set(key: Key, floor: Floor): void {
    this.#floors.delete(key);
    const state = this.#cache.current();
    if (state !== undefined && isReached(floor, state.get(key), state.version)) return;
    this.#floors.set(key, floor);
  }
}

/** Reports whether the cache has what the floor stands for, or something later. */
function isReached(floor: Floor, cached: ControllerResilience | undefined, version: string | undefined): boolean {
  const isSame = cached?.metadata.uid === floor.uid;
  if (floor.isGone) return !isSame && atLeast(version, floor.version);
  return atLeast(version, floor.version) || (isSame && atLeast(cached.metadata.resourceVersion, floor.version));
}

function atLeast(version: string | undefined, floor: string): boolean {
  const [a, b] = [numberOf(version), numberOf(floor)];
  return a !== undefined && b !== undefined && a >= b;
}

function numberOf(version = ""): bigint | undefined {
  return /^[1-9][0-9]*$/.test(version) ? BigInt(version) : undefined;
}
