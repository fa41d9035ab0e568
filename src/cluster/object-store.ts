import { FINALIZER, MANAGER } from "../api/names";
import type { ControllerResilience, ControllerResilienceStatus, ObjectMetadata } from "../api/controller-resilience";
import { TerminalError } from "../core/errors";
import type { Key, ObjectStore } from "../core/ports";
import type { Api } from "./api";
import { arrayOf, type JsonObject, objectOf, textOf } from "./json";
import { describeCall, pathOf, RESOURCES } from "./resources";

const RESOURCE = RESOURCES.controllerResiliences;

/** Only the metadata of each object: specs and statuses are not sent. */
const METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/** client-go's page size. */
const PAGE_SIZE = 500;

/** ControllerResiliences, read live. */
export class ApiObjectStore implements ObjectStore {
  readonly #api: Api;
  readonly #isOurs: (key: Key) => boolean;

  /** @param isOurs whether an object is looked after; the others are not listed */
  constructor(api: Api, isOurs: (key: Key) => boolean = () => true) {
    this.#api = api;
    this.#isOurs = isOurs;
  }

  /** See {@link ObjectStore.get}. */
  async get(key: Key): Promise<ControllerResilience | null> {
    const place = placeOf(key);
    const object = await this.#api.jsonOrNull<ControllerResilience>({
      what: describeCall("get", RESOURCE, place),
      path: pathOf(RESOURCE, place),
    });
    return object === null ? null : { ...object, metadata: onlyNeeded(object.metadata) };
  }

  /** See {@link ObjectStore.list}. */
  async list(): Promise<Key[]> {
    const keys: Key[] = [];
    let token: string | undefined;
    do {
      const list = await this.#api.jsonOrNull<JsonObject>({
        what: describeCall("list", RESOURCE),
        path: pathOf(RESOURCE),
        query: { limit: PAGE_SIZE, continue: token },
        accept: METADATA_ONLY,
      });
      if (list === null) throw new TerminalError(`the API server does not know ${RESOURCE.plural}: install crds/`);
      for (const item of arrayOf(list["items"])) {
        const metadata = objectOf(objectOf(item)["metadata"]);
        keys.push(`${textOf(metadata["namespace"]) ?? ""}/${textOf(metadata["name"]) ?? ""}`);
      }
      token = textOf(objectOf(list["metadata"])["continue"]);
    } while (token !== undefined && token !== "");
    return keys.filter(this.#isOurs);
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
}

function placeOf(key: Key): { namespace: string; name: string } {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
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
