import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience, ControllerResilienceStatus, ObjectMetadata } from "../../api/controller-resilience";
import { CLUSTER_KIND, FINALIZER } from "../../api/names";
import { GoneError, TerminalError } from "../../core/errors";
import { arrayOf, objectOf, textOf } from "../../core/json";
import { KINDS } from "../../core/kinds";
import type { ClusterObjectStore, Key, Log, ObjectList, ObjectStore } from "../../core/ports";
import { firstOf, keyOf, splitKey } from "../../core/text";
import type { Clock, Random } from "../../core/time";
import type { Api } from "../http/api";
import { callOf, listPages, METADATA_ONLY, type Resource } from "../http/resources";
import { onlyNeeded, type OwnCache } from "../read/views";
import { STRICT } from "./writer";

const RESOURCE = KINDS.ControllerResilience;

/** client-go's page size. */
const PAGE_SIZE = 500;

/** What the operator works on and with. */
interface ObjectScope {
  /** In the watched namespaces. */
  readonly isOurs: (key: Key) => boolean;
  /** Receives a warning about other objects with this operator's finalizer, whenever a list has other ones than the list before. */
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
}

/** Most objects that a warning names. */
const MAX_NAMED = 10;

/** Longest Retry-After that a list waits for: it has a deadline. */
const LONGEST_WAIT_MS = 10_000;

/** A watch cache of all ControllerResiliences. */
interface ObjectCache {
  /** Returns undefined while the cache is not filled or stale. */
  current(): OwnCache<ControllerResilience> | undefined;
}

/**
 * Reads and reports ControllerResiliences. Its cache is not used for an object while it is older than what this process has read or
 * written of it. resourceVersions of one resource are comparable decimal numbers (KEP-5504); one that is not a number compares with nothing, so
 * objects are read live.
 */
export class ApiObjectStore implements ObjectStore {
  readonly #api: Pick<Api, "json" | "jsonOrNull">;
  readonly #scope: ObjectScope;
  readonly #cache: ObjectCache;
  /** The last resourceVersion that was read or written of an object, until the cache has it. */
  readonly #newest = new Map<Key, string>();
  /** The names of objects outside of the scope that the last list has found and a warning has named. */
  #stranded = "";

  constructor(api: Pick<Api, "json" | "jsonOrNull">, scope: ObjectScope, cache: ObjectCache) {
    this.#api = api;
    this.#scope = scope;
    this.#cache = cache;
  }

  cached(key: Key): ControllerResilience | undefined {
    const cache = this.#cache.current();
    return cache !== undefined && this.#isCurrent(cache, key) ? cache.get(key) : undefined;
  }

  cachedKeys(): readonly Key[] | undefined {
    const cache = this.#cache.current();
    if (cache === undefined || ![...this.#newest.keys()].every(key => this.#isCurrent(cache, key))) return undefined;
    return cache.keys().filter(this.#scope.isOurs);
  }

  #isCurrent({ version }: OwnCache<ControllerResilience>, key: Key): boolean {
    const newest = this.#newest.get(key);
    if (newest !== undefined && !atLeast(version, newest)) return false;
    this.#newest.delete(key);
    return true;
  }

  #note(key: Key, { resourceVersion }: { readonly resourceVersion: string }): void {
    if (!atLeast(this.#newest.get(key), resourceVersion)) this.#newest.set(key, resourceVersion);
  }

  async get(key: Key): Promise<ControllerResilience | null> {
    const object = await this.#api.jsonOrNull<ControllerResilience>(callOf("get", RESOURCE, splitKey(key)));
    if (object === null) return null;
    this.#note(key, object.metadata);
    return { ...object, metadata: onlyNeeded(object.metadata) };
  }

  async list(): Promise<ObjectList> {
    const listed: Listed[] = [];
    const { clock, random } = this.#scope;
    const patience = { clock, random, longestMs: LONGEST_WAIT_MS };
    try {
      const list = { resource: RESOURCE, limit: PAGE_SIZE, accept: METADATA_ONLY };
      for await (const { items } of listPages(this.#api, list, { patience })) listed.push(...items.map(listedOf));
      for (const object of listed) this.#note(object.key, object);
    } catch (error) {
      if (!(error instanceof GoneError)) throw error;
      throw new TerminalError(`expected the resource ${RESOURCE.plural}, got none: install crds/`, { cause: error });
    }
    return { keys: this.#inScope(listed), uids: new Set(listed.map(({ uid }) => uid)) };
  }

  async writeStatus(object: ControllerResilience, status: ControllerResilienceStatus): Promise<string> {
    const written = await putStatus(this.#api, RESOURCE, { ...object, status });
    this.#note(keyOf(object), written.metadata);
    return written.metadata.resourceVersion;
  }

  /** A merge patch replaces the list of finalizers, so it needs the resourceVersion of the read as precondition. */
  async setFinalizer(object: ControllerResilience, present: boolean): Promise<ObjectMetadata> {
    const { metadata } = object;
    const { namespace, name, uid, resourceVersion } = metadata;
    const others = (metadata.finalizers ?? []).filter(finalizer => finalizer !== FINALIZER);
    const finalizers = present ? [...others, FINALIZER] : others;
    const written = await this.#api.json<ControllerResilience>({
      ...callOf("patch", RESOURCE, { namespace, name }),
      query: STRICT,
      body: { metadata: { uid, resourceVersion, finalizers } },
    });
    this.#note(keyOf(object), written.metadata);
    return onlyNeeded(written.metadata);
  }

  #inScope(listed: readonly Listed[]): Key[] {
    const scope = this.#scope;
    const others = listed.filter(({ key, isHeld }) => isHeld && !scope.isOurs(key)).map(({ key }) => key);
    const stranded = firstOf(others, MAX_NAMED);
    if (others.length > 0 && stranded !== this.#stranded) {
      scope.log.warn(
        { objects: stranded },
        "objects outside the watched namespaces have this operator's finalizer: their dependent objects stay and they cannot be deleted; " +
          "watch their namespaces again until they are deleted",
      );
    }
    this.#stranded = stranded;
    return listed.map(({ key }) => key).filter(scope.isOurs);
  }
}

/** Reports whether one resourceVersion is the same as another one, or later; false if one of them is not a number. */
export function atLeast(version: string | undefined, other: string): boolean {
  const [a, b] = [versionNumber(version), versionNumber(other)];
  return a !== undefined && b !== undefined && a >= b;
}

function versionNumber(version = ""): bigint | undefined {
  return /^[1-9][0-9]*$/.test(version) ? BigInt(version) : undefined;
}

interface Listed {
  readonly key: Key;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Has the operator's finalizer. */
  readonly isHeld: boolean;
}

function listedOf(item: unknown): Listed {
  const metadata = objectOf(objectOf(item)["metadata"]);
  return {
    key: `${textOf(metadata["namespace"]) ?? ""}/${textOf(metadata["name"]) ?? ""}`,
    uid: textOf(metadata["uid"]) ?? "",
    resourceVersion: textOf(metadata["resourceVersion"]) ?? "",
    isHeld: arrayOf(metadata["finalizers"]).includes(FINALIZER),
  };
}

/**
 * Replaces the status of an object of this operator. Strict validation refuses a field that the definition in the cluster does not have,
 * instead of dropping it: a restart must not be forgotten.
 */
async function putStatus<O extends ControllerResilience | ClusterControllerResilience>(
  api: Pick<Api, "json">,
  resource: Resource,
  object: O,
): Promise<O> {
  const { name, namespace } = object.metadata as { readonly name: string; readonly namespace?: string };
  try {
    return await api.json<O>({
      ...callOf("update", resource, { namespace, name, subresource: "status" }),
      query: STRICT,
      body: object,
    });
  } catch (error) {
    if (!(error instanceof TerminalError) || !error.message.includes("unknown field")) throw error;
    throw new TerminalError(`${error.message}; upgrade the definitions in crds/`, { cause: error });
  }
}

const CLUSTER_RESOURCE = KINDS[CLUSTER_KIND];

/** Reads and reports ClusterControllerResiliences. */
export function clusterObjectStore(api: Pick<Api, "json" | "jsonOrNull">): ClusterObjectStore {
  return {
    get: name => api.jsonOrNull<ClusterControllerResilience>(callOf("get", CLUSTER_RESOURCE, { name })),
    async writeStatus(object, status) {
      await putStatus(api, CLUSTER_RESOURCE, { ...object, status });
    },
  };
}
