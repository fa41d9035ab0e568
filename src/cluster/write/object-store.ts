import { FINALIZER, KIND, MANAGER } from "../../api/names";
import type { ControllerResilience, ControllerResilienceStatus, ObjectMetadata } from "../../api/controller-resilience";
import { splitKey } from "../../core/key";
import { GoneError, TerminalError } from "../../core/errors";
import type { Key, Log, ObjectStore } from "../../core/ports";
import { listPages } from "../http/list-pages";
import type { Api } from "../http/api";
import { arrayOf, objectOf, textOf } from "../../core/json";
import { describeCall, pathOf } from "../http/resources";
import { KINDS } from "../../core/kinds";

const RESOURCE = KINDS.ControllerResilience;

/** Only the metadata of each object: specs and statuses are not sent. */
const METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/** client-go's page size. */
const PAGE_SIZE = 500;

/** Which objects are looked after, where it is not all. */
export interface ObjectScope {
  /** The others are not listed. */
  readonly isOurs: (key: Key) => boolean;
  /** Told of each of the others that nobody else can let go. */
  readonly log: Log;
}

/** ControllerResiliences, read live. */
export class ApiObjectStore implements ObjectStore {
  readonly #api: Pick<Api, "json" | "jsonOrNull">;
  readonly #scope: ObjectScope | undefined;
  /** By uid, the objects that were told of as stranded and still are. */
  #toldStranded: ReadonlySet<string> = new Set();

  /** @param scope absent: all objects are looked after */
  constructor(api: Pick<Api, "json" | "jsonOrNull">, scope?: ObjectScope) {
    this.#api = api;
    this.#scope = scope;
  }

  /** See {@link ObjectStore.get}. */
  async get(key: Key): Promise<ControllerResilience | null> {
    const place = splitKey(key);
    const object = await this.#api.jsonOrNull<ControllerResilience>({
      what: describeCall("get", RESOURCE, place),
      path: pathOf(RESOURCE, place),
    });
    return object === null ? null : { ...object, metadata: onlyNeeded(object.metadata) };
  }

  /** See {@link ObjectStore.list}. */
  async list(): Promise<Key[]> {
    const listed: Listed[] = [];
    try {
      const list = { resource: RESOURCE, limit: PAGE_SIZE, accept: METADATA_ONLY };
      for await (const { items } of listPages(this.#api, list)) listed.push(...items.map(listedOf));
    } catch (error) {
      if (!(error instanceof GoneError)) throw error;
      throw new TerminalError(`the API server does not know ${RESOURCE.plural}: install crds/`, { cause: error });
    }
    return this.#within(listed);
  }

  /** See {@link ObjectStore.writeStatus}. Strict: a field that the schema doesn't know is refused, not dropped in silence. */
  async writeStatus(object: ControllerResilience, status: ControllerResilienceStatus): Promise<string> {
    const place = { namespace: object.metadata.namespace, name: object.metadata.name, subresource: "status" };
    const written = await this.#api.json<ControllerResilience>({
      what: describeCall("update", RESOURCE, place),
      method: "PUT",
      path: pathOf(RESOURCE, place),
      query: { fieldManager: MANAGER, fieldValidation: "Strict" },
      body: { ...object, status },
    });
    return written.metadata.resourceVersion;
  }

  /** See {@link ObjectStore.setFinalizer}. A merge patch replaces the list, so it is sent with the resourceVersion that it was read at. */
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
    return onlyNeeded(written.metadata);
  }

  #within(listed: readonly Listed[]): Key[] {
    const scope = this.#scope;
    if (scope === undefined) return listed.map(({ key }) => key);
    const stranded = listed.filter(({ key, isHeld }) => isHeld && !scope.isOurs(key));
    for (const { key, uid } of stranded) {
      if (this.#toldStranded.has(uid)) continue;
      scope.log.warn(
        { key },
        `${KIND} ${key} is outside of the watched namespaces, but has this operator's finalizer: what was made for it stays, and ` +
          "neither it nor its namespace can be deleted; watch its namespace again until it is deleted",
      );
    }
    this.#toldStranded = new Set(stranded.map(({ uid }) => uid));
    return listed.map(({ key }) => key).filter(scope.isOurs);
  }
}

/** What a list tells of an object. */
interface Listed {
  readonly key: Key;
  readonly uid: string;
  /** It has the operator's finalizer: it can't go unless the operator lets it. */
  readonly isHeld: boolean;
}

function listedOf(item: unknown): Listed {
  const metadata = objectOf(objectOf(item)["metadata"]);
  return {
    key: `${textOf(metadata["namespace"]) ?? ""}/${textOf(metadata["name"]) ?? ""}`,
    uid: textOf(metadata["uid"]) ?? "",
    isHeld: arrayOf(metadata["finalizers"]).includes(FINALIZER),
  };
}

/** managedFields, labels and the like are read by nobody, and a status write ignores them. */
function onlyNeeded(metadata: ObjectMetadata): ObjectMetadata {
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
