import { isObject, objectOf, parseObject, textOf } from "../../../src/core/json";
import { toCoreEvent, toNewEvent } from "./events";
import { apiVersionOf, NEW_EVENTS } from "./kinds";
import { applyTo } from "./managed-fields";
import { type By, clone, keyOf, type NewObj, type Obj, Refusal, settle } from "./objects";
import { schemaOf } from "./registry";
import { prune, type Schema } from "./schema";
import { type Call, header, type Served, type World } from "./serve";
import { detailsOf, notFound } from "./store";
import { textOfObject } from "./texts";
import {
  badRequest,
  customFaults,
  invalid,
  metadataFaults,
  modified,
  otherUid,
  roleRefFaults,
  strictly,
  updateFaults,
} from "./validation";
import { refuseEscalation } from "./escalation";

type Fields = Record<string, unknown>;

/** Kinds whose updates need a resourceVersion. */
const CONDITIONAL = new Set(["leases", "poddisruptionbudgets"]);

const NO_OBJECT = { metadata: { uid: "" } } as Obj;

/** Kinds whose deletion answers with the object. */
const RETURNED = new Set(["pods", "serviceaccounts"]);

/** Kinds that an update creates. */
const CREATED_BY_UPDATE = new Set(["leases", "events", "roles", "rolebindings", "clusterroles", "clusterrolebindings"]);

/** create, update, patch and delete. */
export class Writes {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  create(call: Call): Served {
    const { info, namespace } = call;
    const { store } = this.#world;
    const object = this.#decode(call, this.#bodyOf(call)) as NewObj;
    this.#place(object, call);
    if (namespace !== undefined && store.get("namespaces", undefined, namespace) === undefined)
      throw notFound(store.info("namespaces"), namespace);
    const faults =
      object.metadata.generateName === undefined || object.metadata.name ? metadataFaults(object as Obj, info) : [];
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
    const object = this.#decode(call, this.#bodyOf(call)) as NewObj;
    const given = object.metadata.name;
    if (given !== undefined && given !== "" && given !== name)
      throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
    object.metadata.name = name;
    this.#place(object, call);
    const old = store.get(info.plural, namespace, name);
    if (old === undefined) return this.#createByUpdate(call, object);
    const { uid, resourceVersion } = object.metadata;
    if (uid !== undefined && uid !== "" && uid !== old.metadata.uid) throw otherUid(info, name, uid, old.metadata.uid);
    this.#checkVersion(resourceVersion, old, call);
    const after = this.#change(call, draft => {
      const keep = draft.metadata.managedFields;
      replaceBy(draft, object as Obj, call.ask.subresource, info.subresources.includes("status"));
      if (keep !== undefined && call.ask.subresource === undefined) draft.metadata.managedFields = keep;
    });
    return written(200, after, call, old);
  }

  patch(call: Call): Served {
    const type = (header(call.headers, "Content-Type") ?? "").split(";")[0]!.trim();
    if (type === "application/apply-patch+yaml") return this.#apply(call);
    if (type !== "application/merge-patch+json") {
      const accepted = [
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/apply-patch+yaml",
      ].join(", ");
      throw new Refusal(
        415,
        "UnsupportedMediaType",
        `the body of the request was in an unknown format - accepted media types include: ${accepted}`,
      );
    }
    const { info, namespace, ask } = call;
    const old = this.#world.store.get(info.plural, namespace, ask.name ?? "");
    if (old === undefined) throw notFound(info, ask.name ?? "");
    let patch = this.#bodyOf(call);
    if (info === NEW_EVENTS) patch = toCoreEvent(patch);
    const after = this.#change(call, draft => {
      const merged = settle(mergePatch(clone(draft), patch)) as Obj;
      this.#pruneStrictly(merged, call, true);
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
    const options = call.body === undefined || call.body === "" ? {} : this.#bodyOf(call);
    const before = store.get(info.plural, namespace, name);
    const wanted = objectOf(options["preconditions"]) as { uid?: string; resourceVersion?: string };
    const grace =
      options["gracePeriodSeconds"] ??
      (ask.query.has("gracePeriodSeconds") ? Number(ask.query.get("gracePeriodSeconds")) : undefined);
    const after = store.as(byOf(call), () =>
      store.delete(info.plural, namespace, name, { graceSeconds: grace as number | undefined, preconditions: wanted }),
    );
    const isLeft = store.get(info.plural, namespace, name) === after;
    if (isLeft || RETURNED.has(info.plural)) return { code: 200, body: textOfObject(after), before, after };
    return { code: 200, body: JSON.stringify(deletedStatus(call, after)), before, after: undefined };
  }

  #createByUpdate(call: Call, object: NewObj): Served {
    const { info, ask } = call;
    const isAllowed = CREATED_BY_UPDATE.has(info.plural) && ask.subresource === undefined;
    if (!isAllowed) throw notFound(info, ask.name ?? "");
    const { uid = "" } = object.metadata;
    if (uid !== "") throw otherUid(info, ask.name ?? "", uid, "");
    const after = this.#world.store.as(byOf(call), () => this.#world.store.create(info.plural, object));
    return written(201, after, call, undefined);
  }

  #apply(call: Call): Served {
    const { info, namespace, ask } = call;
    const { store } = this.#world;
    const name = ask.name ?? "";
    const manager = ask.query.get("fieldManager") ?? "";
    const problems = [
      { field: "fieldManager", message: "Required value: is required for apply patch", reason: "FieldValueRequired" },
    ];
    if (manager === "") throw invalid({ ...info, group: "meta.k8s.io", kind: "PatchOptions" }, "", problems);
    const config = this.#bodyOf(call);
    const schema = schemaOf(info, store);
    this.#checkConfig(config, call, schema);
    const metadata = { ...objectOf(config["metadata"]) };
    const force = ask.query.get("force") === "true";
    const by: By = { ...byOf(call), manager, operation: "Apply" };
    const applied = { config, by, force, schema, now: store.time() };
    const old = store.get(info.plural, namespace, name);
    if (old === undefined) return this.#createByApply(call, applied);
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

  #createByApply(
    call: Call,
    { config, by, schema, now }: { config: Fields; by: By; schema: Schema; now: string },
  ): Served {
    const { info, namespace, ask } = call;
    const { store } = this.#world;
    const { uid } = objectOf(config["metadata"]) as { uid?: string };
    const name = ask.name ?? "";
    if (uid !== undefined && uid !== "") {
      if (CREATED_BY_UPDATE.has(info.plural))
        throw invalid(info, name, updateFaults({ ...config, metadata: { uid } } as Obj, NO_OBJECT));
      const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
      throw new Refusal(
        409,
        "Conflict",
        `Operation cannot be fulfilled on ${info.plural}${info.group && `.${info.group}`} "${name}": ${why}`,
        detailsOf(info, name),
      );
    }
    const object = {
      ...clone(config),
      metadata: { ...clone(objectOf(config["metadata"])), name, ...(namespace !== undefined && { namespace }) },
    } as Obj;
    this.#check(object, undefined, call);
    const draft = { apiVersion: object.apiVersion, kind: object.kind, metadata: {} } as Obj;
    applyTo(draft, { config, by, force: true, schema, now });
    object.metadata.managedFields = draft.metadata.managedFields ?? [];
    const after = store.as(by, () => store.create(info.plural, object));
    return written(201, after, call, undefined);
  }

  #checkConfig(config: Fields, call: Call, schema: Schema): void {
    const { info, ask } = call;
    if (config["kind"] !== info.kind || config["apiVersion"] !== apiVersionOf(info))
      throw badRequest(
        config["kind"] === undefined ? "Object 'Kind' is missing" : "the object provided is unrecognized",
      );
    const { name = ask.name, managedFields } = objectOf(config["metadata"]);
    if (Array.isArray(managedFields)) throw badRequest("metadata.managedFields must be nil");
    if (name !== ask.name) throw otherName(textOf(name), ask.name);
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
    const { resourceVersion, name: given } = merged.metadata;
    if (given !== name)
      throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
    if (resourceVersion !== "" && resourceVersion !== old.metadata.resourceVersion) throw modified(info, name);
    const faults = updateFaults(merged, old);
    if (faults.length > 0) throw invalid(info, name, faults);
  }

  #checkVersion(version: string | undefined, old: Obj, { info, ask }: Call): void {
    const name = ask.name ?? "";
    if (version !== undefined && version !== "") {
      if (version !== old.metadata.resourceVersion) throw modified(info, name);
      return;
    }
    if (info.isCustom !== true && !CONDITIONAL.has(info.plural)) return;
    const message = `Invalid value: 0: must be specified for an update`;
    throw invalid({ ...info, kind: info.isCustom === true ? info.plural : info.kind }, name, [
      { field: "metadata.resourceVersion", message, reason: "FieldValueInvalid" },
    ]);
  }

  #check(draft: Obj, old: Obj | undefined, call: Call): void {
    const { info } = call;
    const { store, access } = this.#world;
    const roleFaults = old !== undefined && info.group === "rbac.authorization.k8s.io" ? roleRefFaults(draft, old) : [];
    if (roleFaults.length > 0) throw invalid(info, draft.metadata.name, roleFaults);
    refuseEscalation({ draft, old }, call, access);
    if (info.isCustom !== true) return;
    const schema = schemaOf(info, store);
    const faults = [...(schema.fields ?? [])].flatMap(([name, field]) =>
      draft[name] === undefined ? [] : customFaults(draft[name], field, name),
    );
    const missing = (schema.rules?.["required"] ?? []) as string[];
    const all = [
      ...missing
        .filter(name => draft[name] === undefined)
        .map(field => ({ field, message: "Required value", reason: "FieldValueRequired" })),
      ...faults,
    ];
    if (all.length > 0) throw invalid(info, draft.metadata.name, all);
  }

  /** Reads the object of a body, as its kind has it. */
  #decode(call: Call, body: Fields): Fields {
    const { info } = call;
    checkKind(body, call);
    const isNewEvent = info === NEW_EVENTS;
    const object = isNewEvent ? toCoreEvent(body) : body;
    Object.assign(object, { apiVersion: isNewEvent ? "v1" : apiVersionOf(info), kind: info.kind });
    if (!isObject(object["metadata"])) object["metadata"] = {};
    this.#pruneStrictly(object, call, false);
    return settle(object);
  }

  #pruneStrictly(object: Fields, call: Call, isPatch: boolean): void {
    const { info, ask } = call;
    const unknown = prune(
      object,
      schemaOf(info === NEW_EVENTS ? this.#world.store.info("events") : info, this.#world.store),
    );
    if (unknown.length === 0 || ask.query.get("fieldValidation") !== "Strict") return;
    if (!isPatch) throw strictly(info, unknown);
    const why = `strict decoding error: ${unknown.map(path => `unknown field "${path}"`).join(", ")}`;
    const message = `Invalid value: ${JSON.stringify(call.body ?? "")}: ${why}`;
    throw new Refusal(422, "Invalid", ` "" is invalid: patch: ${message}`, {
      causes: [{ reason: "FieldValueInvalid", message, field: "patch" }],
    });
  }

  #bodyOf({ body = "" }: Call): Fields {
    const parsed = parseObject(body);
    if (parsed !== undefined) return { ...parsed };
    throw badRequest(
      body === ""
        ? "the body of the request was empty"
        : `couldn't get version/kind; json parse error: invalid character`,
    );
  }

  #place(object: NewObj, { namespace }: Call): void {
    const given = object.metadata.namespace;
    if (namespace !== undefined && given !== undefined && given !== "" && given !== namespace)
      throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
    if (namespace === undefined) Reflect.deleteProperty(object.metadata, "namespace");
    else object.metadata.namespace = namespace;
  }
}

function checkKind({ kind, apiVersion }: Fields, { info, body = "" }: Call): void {
  const expected = apiVersionOf(info);
  if (info.isCustom === true && kind === undefined) throw badRequest(`Object 'Kind' is missing in '${body}'`);
  if (kind !== undefined && kind !== info.kind) {
    const what = `${textOf(kind) ?? ""} in version "${info.version}" cannot be handled as a ${info.kind}`;
    throw badRequest(`${what}: no kind "${info.kind}" is registered`);
  }
  if (apiVersion !== undefined && apiVersion !== expected)
    throw badRequest(
      `the API version in the data (${textOf(apiVersion) ?? ""}) does not match the expected API version (${expected})`,
    );
}

function otherName(given: string | undefined, wanted: string | undefined): Refusal {
  return badRequest(`the name of the object (${given ?? ""}) does not match the name on the URL (${wanted ?? ""})`);
}

/** Takes over what a write to this subresource may change. */
function replaceBy(draft: Obj, next: Obj, subresource: string | undefined, hasStatus: boolean): void {
  if (subresource === "status") {
    draft["status"] = next["status"] as unknown;
    return;
  }
  const status = draft["status"] as unknown;
  for (const field of Object.keys(draft)) if (!(field in next)) Reflect.deleteProperty(draft, field);
  Object.assign(draft, next);
  if (hasStatus) draft["status"] = status;
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
  const agent = (header(headers, "User-Agent") ?? "unknown").split("/")[0]!;
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
