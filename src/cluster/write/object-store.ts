import type {
  ClusterControllerResilience,
  ClusterControllerResilienceStatus,
} from "../../api/cluster-controller-resilience";
import type { ControllerResilience, ControllerResilienceStatus, ObjectMetadata } from "../../api/controller-resilience";
import { CLUSTER_KIND, FINALIZER, MANAGER } from "../../api/names";
import type { ClusterObjectStore } from "../../core/cluster-wide";
import { GoneError, TerminalError } from "../../core/errors";
import { arrayOf, objectOf, textOf } from "../../core/json";
import { KINDS } from "../../core/kinds";
import type { Key, Log, ObjectStore, ObjectVersion } from "../../core/ports";
import { isSameStatus } from "../../core/status";
import { keyOf, splitKey } from "../../core/text";
import type { Clock, Random } from "../../core/time";
import type { Api } from "../http/api";
import { describeCall, listPages, METADATA_ONLY, pathOf, type Patience } from "../http/resources";
import { onlyNeeded } from "../read/views";
import { CachedObjects, type ObjectCache } from "./cached-objects";

const RESOURCE = KINDS.ControllerResilience;

/** client-go's page size. */
const PAGE_SIZE = 500;

/** What the operator works on and with; a program that looks once has none. */
interface ObjectScope {
  /** In the watched namespaces. */
  readonly isOurs: (key: Key) => boolean;
  /** Receives a warning for each other object with this operator's finalizer. */
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
}

/** Longest Retry-After that a list waits for: it has a deadline. */
const LONGEST_WAIT_MS = 10_000;

export class ApiObjectStore implements ObjectStore {
  readonly #api: Pick<Api, "json" | "jsonOrNull">;
  readonly #scope: ObjectScope | undefined;
  readonly #patience: Patience | undefined;
  /** uids of the stranded objects that are already logged. */
  #loggedStranded: ReadonlySet<string> = new Set();

  readonly #cached: CachedObjects | undefined;
  /** For all kinds of this operator. */
  readonly served = new ServedFields();

  constructor(api: Pick<Api, "json" | "jsonOrNull">, scope?: ObjectScope, cache?: ObjectCache) {
    this.#api = api;
    this.#scope = scope;
    this.#patience = scope && { clock: scope.clock, random: scope.random, longestMs: LONGEST_WAIT_MS };
    this.#cached = cache && new CachedObjects(cache);
  }

  cached(key: Key): ControllerResilience | undefined {
    return this.#cached?.get(key);
  }

  cachedKeys(): readonly Key[] | undefined {
    const keys = this.#cached?.keys();
    const isOurs = this.#scope?.isOurs;
    return isOurs === undefined ? keys : keys?.filter(isOurs);
  }

  /** Reports whether this process has read or written this version of an object, or has it in its cache, or a later one. */
  isKnown(key: Key, version: ObjectVersion): boolean {
    return this.#cached?.isKnown(key, version) === true;
  }

  async get(key: Key): Promise<ControllerResilience | null> {
    const place = splitKey(key);
    const object = await this.#api.jsonOrNull<ControllerResilience>({
      what: describeCall("get", RESOURCE, place),
      path: pathOf(RESOURCE, place),
    });
    if (object === null) {
      this.#cached?.noteGone(key);
      return null;
    }
    this.#cached?.note(key, object.metadata);
    return { ...object, metadata: onlyNeeded(object.metadata) };
  }

  async list(): Promise<Key[]> {
    // The definition may have been upgraded.
    this.served.reset();
    return this.#inScope(await this.#listAll());
  }

  async uids(): Promise<ReadonlySet<string>> {
    return new Set((await this.#listAll()).map(({ uid }) => uid));
  }

  async #listAll(): Promise<Listed[]> {
    const listed: Listed[] = [];
    try {
      const list = { resource: RESOURCE, limit: PAGE_SIZE, accept: METADATA_ONLY };
      for await (const { items } of listPages(this.#api, list, { patience: this.#patience }))
        listed.push(...items.map(listedOf));
      for (const { key, uid, resourceVersion } of listed) this.#cached?.note(key, { uid, resourceVersion });
    } catch (error) {
      if (!(error instanceof GoneError)) throw error;
      throw new TerminalError(`expected the resource ${RESOURCE.plural}, got none: install crds/`, { cause: error });
    }
    return listed;
  }

  hasStatus(object: ControllerResilience, status: ControllerResilienceStatus): boolean {
    return this.served.isPresent(object.status, status);
  }

  async writeStatus(object: ControllerResilience, status: ControllerResilienceStatus): Promise<string> {
    const written = await this.served.put(object.status, status, served => this.#putStatus(object, served));
    return written ?? object.metadata.resourceVersion;
  }

  async #putStatus(object: ControllerResilience, status: ControllerResilienceStatus): Promise<string> {
    const place = { namespace: object.metadata.namespace, name: object.metadata.name, subresource: "status" };
    const written = await this.#api.json<ControllerResilience>({
      what: describeCall("update", RESOURCE, place),
      method: "PUT",
      path: pathOf(RESOURCE, place),
      query: { fieldManager: MANAGER, fieldValidation: "Strict" },
      body: { ...object, status },
    });
    this.#cached?.note(keyOf(object), written.metadata);
    return written.metadata.resourceVersion;
  }

  /** A merge patch replaces the list of finalizers, so it needs the resourceVersion of the read as precondition. */
  async setFinalizer({ metadata }: ControllerResilience, present: boolean): Promise<ObjectMetadata> {
    const { namespace, name, uid, resourceVersion } = metadata;
    const others = (metadata.finalizers ?? []).filter(finalizer => finalizer !== FINALIZER);
    const finalizers = present ? [...others, FINALIZER] : others;
    const written = await this.#api.json<ControllerResilience>({
      what: describeCall("patch", RESOURCE, { namespace, name }),
      method: "PATCH",
      path: pathOf(RESOURCE, { namespace, name }),
      query: { fieldManager: MANAGER, fieldValidation: "Strict" },
      contentType: "application/merge-patch+json",
      body: { metadata: { uid, resourceVersion, finalizers } },
    });
    this.#cached?.note(`${namespace}/${name}`, written.metadata);
    return onlyNeeded(written.metadata);
  }

  #inScope(listed: readonly Listed[]): Key[] {
    const scope = this.#scope;
    if (scope === undefined) return listed.map(({ key }) => key);
    const stranded = listed.filter(({ key, isHeld }) => isHeld && !scope.isOurs(key));
    for (const { key, uid } of stranded) {
      if (this.#loggedStranded.has(uid)) continue;
      scope.log.warn(
        { key },
        "object outside the watched namespaces has this operator's finalizer: its dependent objects stay and it cannot be deleted; " +
          "watch its namespace again until it is deleted",
      );
    }
    this.#loggedStranded = new Set(stranded.map(({ uid }) => uid));
    return listed.map(({ key }) => key).filter(scope.isOurs);
  }
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
 * Fields of status, by list, without which no budget is lost. The definition of an earlier release may lack them. Any other missing field makes
 * a write fail.
 */
const DISPENSABLE: ReadonlySet<string> = new Set([
  "mode",
  "enforced",
  "targets.recreatedBy",
  "restarts.workedSeconds",
  "restarts.container",
  "restarts.newestPodTime",
  "stalls.waitStartTime",
]);

/** As the API server names a field in a strict decoding error (k8s.io/apimachinery, pkg/runtime/strict). */
const UNKNOWN_FIELD = /unknown field "([^"]+)"/g;

/**
 * The fields of status that the definitions in the cluster have. Strict validation rejects a field that the schema does not have, instead of
 * dropping it. A field that is only for people is left out then, so that a new version heals under an earlier definition.
 */
export class ServedFields {
  #unserved: ReadonlySet<string> = new Set();

  /** The definitions may have been upgraded. */
  reset(): void {
    this.#unserved = new Set();
  }

  /** Reports whether a status is the present one already, without the fields that are not served. */
  isPresent<Status extends object>(before: Status | undefined, status: Status): boolean {
    return isSameStatus(before, withoutFields(status, this.#unserved));
  }

  /**
   * Writes a status without the fields that are not served. Returns undefined if it is the present one then.
   *
   * @throws any error of `put`
   */
  async put<Status extends object, Written>(
    before: Status | undefined,
    status: Status,
    put: (served: Status) => Promise<Written>,
  ): Promise<Written | undefined> {
    if (this.#unserved.size > 0 && this.isPresent(before, status)) return undefined;
    try {
      return await put(withoutFields(status, this.#unserved));
    } catch (error) {
      const names = unservedFields(error);
      if (names === undefined || names.every(name => this.#unserved.has(name))) throw error;
      this.#unserved = new Set([...this.#unserved, ...names]);
      return this.put(before, status, put);
    }
  }
}

/** Returns the names of the fields that the API server does not know; undefined if that is not why it refused, or if one of them is needed. */
function unservedFields(error: unknown): readonly string[] | undefined {
  if (!(error instanceof TerminalError)) return undefined;
  const names = [...error.message.matchAll(UNKNOWN_FIELD)].map(([, path = ""]) =>
    path.replace(/^status\./, "").replace(/\[\d+\]/g, ""),
  );
  return names.length > 0 && names.every(name => DISPENSABLE.has(name)) ? names : undefined;
}

/** Returns the status without these fields of its own, and of the entries of its lists. */
function withoutFields<Status extends object>(status: Status, paths: ReadonlySet<string>): Status {
  if (paths.size === 0) return status;
  const without = (value: unknown, at: string): unknown =>
    JSON.parse(JSON.stringify(value, (name, one: unknown) => (paths.has(at + name) ? undefined : one)));
  const own = Object.entries(without(status, "") as Status);
  return Object.fromEntries(own.map(([list, value]) => [list, without(value, `${list}.`)])) as Status;
}

const CLUSTER_RESOURCE = KINDS[CLUSTER_KIND];

export class ApiClusterObjectStore implements ClusterObjectStore {
  readonly #api: Pick<Api, "json" | "jsonOrNull">;

  readonly #served: ServedFields;

  constructor(api: Pick<Api, "json" | "jsonOrNull">, served: ServedFields) {
    this.#api = api;
    this.#served = served;
  }

  get(name: string): Promise<ClusterControllerResilience | null> {
    return this.#api.jsonOrNull<ClusterControllerResilience>({
      what: describeCall("get", CLUSTER_RESOURCE, { name }),
      path: pathOf(CLUSTER_RESOURCE, { name }),
    });
  }

  async writeStatus(object: ClusterControllerResilience, status: ClusterControllerResilienceStatus): Promise<void> {
    const place = { name: object.metadata.name, subresource: "status" };
    await this.#served.put(object.status, status, served =>
      this.#api.json({
        what: describeCall("update", CLUSTER_RESOURCE, place),
        method: "PUT",
        path: pathOf(CLUSTER_RESOURCE, place),
        query: { fieldManager: MANAGER, fieldValidation: "Strict" },
        body: { ...object, status: served },
      }),
    );
  }
}
