import { isObject, objectOf, parseObject } from "../../../src/core/json";
import { toCoreEvent, toNewEvent } from "./events";
import { apiVersionOf, NEW_EVENTS } from "./kinds";
import { applyTo } from "./managed-fields";
import { type By, clone, keyOf, type NewObj, type Obj, Refusal, settle } from "./objects";
import { schemaOf } from "./registry";
import { prune, type Schema } from "./schema";
import type { Call, Served, World } from "./serve";
import {
  detailsOf,
  notFound,
  badRequest,
  conflict,
  customFaults,
  invalid,
  metadataFaults,
  modified,
  strictly,
  updateFaults,
} from "./validation";
import { textOfObject } from "./texts";
import { refuseEscalation } from "./escalation";

type Fields = Record<string, unknown>;

/** create, update, patch and delete. */
export class Writes {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  create(call: Call): Served {
    const { info, namespace } = call;
    const { store } = this.#world;
    const object = this.#decode(call) as NewObj;
    if (namespace !== undefined && store.get("namespaces", undefined, namespace) === undefined)
      throw notFound(store.info("namespaces"), namespace);
    const faults = metadataFaults(object as Obj);
    if (faults.length > 0) throw invalid(info, object.metadata.name ?? "", faults);
    this.#check(object as Obj, undefined, call);
    if (info.subresources.includes("status") && info.plural !== "customresourcedefinitions")
      Reflect.deleteProperty(object, "status");
    Reflect.deleteProperty(object.metadata, "managedFields");
    const after = store.as(byOf(call), () => store.create(info.plural, object));
    return written(201, after, call, undefined);
  }

  update(call: Call): Served {
    const { info, namespace, ask } = call;
    const { store } = this.#world;
    const name = ask.name ?? "";
    const object = this.#decode(call) as NewObj;
    const old = store.get(info.plural, namespace, name);
    if (old === undefined) return this.#createByUpdate(call, object);
    const { uid = old.metadata.uid, resourceVersion } = object.metadata;
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`;
    if (uid !== old.metadata.uid) throw conflict(info, name, why);
    if (resourceVersion === undefined)
      throw invalid({ ...info, kind: info.plural }, name, [
        { field: "metadata.resourceVersion", reason: "FieldValueInvalid" },
      ]);
    if (resourceVersion !== old.metadata.resourceVersion) throw modified(info, name);
    const after = this.#change(call, draft => {
      const keep = draft.metadata.managedFields;
      replaceBy(draft, object as Obj, call.ask.subresource, info.subresources.includes("status"));
      if (keep !== undefined && call.ask.subresource === undefined) draft.metadata.managedFields = keep;
    });
    return written(200, after, call, old);
  }

  patch(call: Call): Served {
    const type = (call.headers["Content-Type"] ?? "").split(";")[0]!.trim();
    if (type === "application/apply-patch+yaml") return this.#apply(call);
    const { info, namespace, ask } = call;
    const old = this.#world.store.get(info.plural, namespace, ask.name ?? "");
    if (old === undefined) throw notFound(info, ask.name ?? "");
    const patch = bodyOf(call);
    const after = this.#change(call, draft => {
      const merged = settle(mergePatch(clone(draft), patch)) as Obj;
      this.#pruneStrictly(merged, call);
      this.#checkPatched(merged, draft, call);
      const keep = draft.metadata.managedFields;
      replaceBy(draft, merged, ask.subresource, info.subresources.includes("status"));
      if (keep !== undefined) draft.metadata.managedFields = keep;
    });
    return written(200, after, call, old);
  }

  delete(call: Call): Served {
    const { info, namespace, ask } = call;
    const { store } = this.#world;
    const name = ask.name ?? "";
    const before = store.get(info.plural, namespace, name);
    const preconditions = objectOf(bodyOf(call)["preconditions"]) as { uid?: string; resourceVersion?: string };
    const after = store.as(byOf(call), () => store.delete(info.plural, namespace, name, { preconditions }));
    const isLeft = store.get(info.plural, namespace, name) === after;
    if (isLeft) return { code: 200, body: textOfObject(after), before, after };
    return { code: 200, body: JSON.stringify(deletedStatus(call, after)), before, after: undefined };
  }

  /** As only a few kinds let it. */
  #createByUpdate(call: Call, object: NewObj): Served {
    const { info, ask } = call;
    if (info.plural !== "leases") throw notFound(info, ask.name ?? "");
    const after = this.#world.store.as(byOf(call), () => this.#world.store.create(info.plural, object));
    return written(201, after, call, undefined);
  }

  #apply(call: Call): Served {
    const { info, namespace, ask } = call;
    const { store } = this.#world;
    const name = ask.name ?? "";
    const config = bodyOf(call);
    const schema = schemaOf(info, store);
    this.#refuseUnknown(config, call, schema);
    const metadata = { ...objectOf(config["metadata"]) };
    const by: By = { ...byOf(call), operation: "Apply" };
    const applied = { config, by, schema, now: store.time() };
    const old = store.get(info.plural, namespace, name);
    // The operator applies to an object that it has seen, by its uid.
    const gone = `uid mismatch: the provided object specified uid ${String(metadata["uid"])}, and no existing object was found`;
    if (old === undefined) throw conflict(info, name, gone);
    const after = store.as(by, () =>
      store.update(info.plural, namespace, name, draft => {
        const own = clone(draft.metadata);
        applyTo(draft, applied);
        this.#checkPatched({ ...draft, metadata: { ...draft.metadata, ...metadata } } as Obj, old, call);
        Object.assign(draft.metadata, { uid: own.uid, resourceVersion: own.resourceVersion });
      }),
    );
    return written(200, after, call, old);
  }

  #refuseUnknown(config: Fields, call: Call, schema: Schema): void {
    const { info, ask } = call;
    const [unknown] = prune(clone(config), schema);
    if (unknown === undefined) return;
    const place = `${keyOf(call.namespace, ask.name ?? "")}; ${apiVersionOf(info)}, Kind=${info.kind}`;
    throw new Refusal(
      500,
      "",
      `failed to create typed patch object (${place}): .${unknown}: field not declared in schema`,
    );
  }

  /** Writes one object; the change may be refused. */
  #change(call: Call, change: (draft: Obj) => void): Obj {
    const { info, namespace, ask } = call;
    const { store } = this.#world;
    const old = store.get(info.plural, namespace, ask.name ?? "");
    return store.as(byOf(call), () =>
      store.update(info.plural, namespace, ask.name ?? "", draft => {
        change(draft);
        this.#check(draft, old, call);
      }),
    );
  }

  #checkPatched(merged: Obj, old: Obj, call: Call): void {
    const { info, ask } = call;
    const name = ask.name ?? "";
    const { resourceVersion } = merged.metadata;
    if (resourceVersion !== "" && resourceVersion !== old.metadata.resourceVersion) throw modified(info, name);
    const faults = updateFaults(merged, old);
    if (faults.length > 0) throw invalid(info, name, faults);
  }

  #check(draft: Obj, old: Obj | undefined, call: Call): void {
    const { info } = call;
    const { store, access } = this.#world;
    refuseEscalation({ draft, old }, call, access);
    if (info.isCustom !== true) return;
    const faults = customFaults(draft, schemaOf(info, store).rules ?? {});
    if (faults.length > 0) throw invalid(info, draft.metadata.name, faults);
  }

  /** Reads the object of a body, as its kind has it. */
  #decode(call: Call): Fields {
    const { info, ask, namespace } = call;
    const body = bodyOf(call);
    const isNewEvent = info === NEW_EVENTS;
    const object = isNewEvent ? toCoreEvent(body) : body;
    const metadata = { ...objectOf(object["metadata"]) };
    const { namespace: place = namespace, name = ask.name ?? "" } = metadata;
    if (place !== namespace || (ask.name ?? name) !== name)
      throw badRequest("the namespace or the name of the object does not match the URL");
    Object.assign(metadata, { name, ...(namespace !== undefined && { namespace }) });
    Object.assign(object, { apiVersion: isNewEvent ? "v1" : apiVersionOf(info), kind: info.kind, metadata });
    this.#pruneStrictly(object, call);
    return settle(object);
  }

  #pruneStrictly(object: Fields, call: Call): void {
    const { info, ask } = call;
    const unknown = prune(
      object,
      schemaOf(info === NEW_EVENTS ? this.#world.store.info("events") : info, this.#world.store),
    );
    if (unknown.length === 0 || ask.query.get("fieldValidation") !== "Strict") return;
    throw strictly(info, unknown, ask.verb === "patch");
  }
}

function bodyOf({ body = "" }: Call): Fields {
  return { ...parseObject(body) };
}

/** Takes over what a write to this subresource may change. */
function replaceBy(draft: Obj, next: Obj, subresource: string | undefined, hasStatus: boolean): void {
  if (subresource === "status") {
    Object.assign(draft, { status: next.status });
    return;
  }
  const { status } = draft;
  for (const field of Object.keys(draft)) if (!(field in next)) Reflect.deleteProperty(draft, field);
  Object.assign(draft, next);
  if (hasStatus) Object.assign(draft, { status });
}

/** RFC 7386. */
function mergePatch(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Fields = isObject(value) ? value : {};
  for (const [field, change] of Object.entries(patch)) {
    if (change === null) Reflect.deleteProperty(result, field);
    else result[field] = mergePatch(result[field], change);
  }
  return result;
}

/** Who writes: the query says it, or the User-Agent up to its version. */
function byOf({ ask, headers }: Call): By {
  const agent = (headers["User-Agent"] ?? "unknown").split("/")[0]!;
  const manager = ask.query.get("fieldManager") ?? "";
  return {
    manager: manager === "" ? agent : manager,
    ...(ask.subresource !== undefined && { subresource: ask.subresource }),
  };
}

function written(code: number, object: Obj, { info }: Call, before: Obj | undefined): Served {
  return { code, body: textOfObject(info === NEW_EVENTS ? toNewEvent(object) : object), before, after: object };
}

function deletedStatus({ info }: Call, { metadata: { name, uid } }: Obj): object {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { ...detailsOf(info, name), uid },
  };
}
