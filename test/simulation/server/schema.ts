import * as models from "@kubernetes/client-node";
import { isObject, type JsonObject, objectOf } from "../../../src/core/json";
import type { DefinitionSpec } from "./kinds";

// What the API server knows of the fields of an object: names and types, defaults and limits, and which lists server-side apply merges.

/** The type of a value. */
export type Type = "struct" | "map" | "list" | "string" | "integer" | "number" | "boolean" | "intOrString" | "any";

/** A value of the API. */
export interface Schema {
  readonly type: Type;
  /** Of a struct. */
  readonly fields?: ReadonlyMap<string, Schema>;
  /** Of a map or list. */
  readonly items?: Schema;
  /** Server-side apply takes the value as a whole. */
  readonly isAtomic?: boolean;
  /** Of a list of structs: the fields that name an item. */
  readonly keys?: readonly string[];
  /** A list of different scalars. */
  readonly isSet?: boolean;
  /** The rules of a custom resource, as its definition has them. */
  readonly rules?: JsonObject;
}

/** Reports whether server-side apply looks into the value. */
export function isGranular({ type, isAtomic, keys, isSet }: Schema): boolean {
  if (isAtomic === true) return false;
  return type === "struct" || type === "map" || (type === "list" && (keys !== undefined || isSet === true));
}

interface Model {
  getAttributeTypeMap(): readonly { readonly baseName: string; readonly type: string; readonly format: string }[];
}

/** Lists that server-side apply merges, by type and field, besides conditions; all others are atomic. */
const MERGED: Readonly<Record<string, readonly string[] | "set">> = {
  "V1ObjectMeta.ownerReferences": ["uid"],
  "V1ObjectMeta.finalizers": "set",
  "V1PodSpec.volumes": ["name"],
  "V1PodSpec.containers": ["name"],
  "V1PodSpec.initContainers": ["name"],
  "V1PodSpec.ephemeralContainers": ["name"],
  "V1PodSpec.imagePullSecrets": ["name"],
  "V1PodSpec.hostAliases": ["ip"],
  "V1PodSpec.topologySpreadConstraints": ["topologyKey", "whenUnsatisfiable"],
  "V1Container.ports": ["containerPort", "protocol"],
  "V1Container.env": ["name"],
  "V1Container.volumeMounts": ["mountPath"],
  "V1Container.volumeDevices": ["devicePath"],
};

/** Types that are taken as a whole. */
const ATOMIC_TYPES = new Set([
  ...["V1LabelSelector", "V1ObjectReference", "V1RoleRef", "V1SecretKeySelector", "V1ConfigMapKeySelector"],
  ...["V1ObjectFieldSelector", "V1ResourceFieldSelector", "V1LocalObjectReference"],
]);
const ATOMIC_FIELDS = new Set(["V1PodSpec.nodeSelector"]);

const SCALARS: Readonly<Record<string, Type>> = {
  string: "string",
  Date: "string",
  V1MicroTime: "string",
  boolean: "boolean",
  number: "integer",
  IntOrString: "intOrString",
  any: "any",
  object: "any",
};

const known = new Map<string, Schema>();

/** The type of that name in client-node. */
function modelSchema(name: string): Schema {
  const found = known.get(name);
  if (found !== undefined) return found;
  const model = (models as unknown as Record<string, Model | undefined>)[name];
  if (model === undefined || typeof model.getAttributeTypeMap !== "function") return { type: "any" };
  const fields = new Map<string, Schema>();
  const schema: Schema = { type: "struct", fields, ...(ATOMIC_TYPES.has(name) && { isAtomic: true }) };
  known.set(name, schema);
  for (const { baseName, type } of model.getAttributeTypeMap())
    fields.set(baseName, fieldSchema(`${name}.${baseName}`, type));
  return schema;
}

function fieldSchema(path: string, type: string): Schema {
  const scalar = SCALARS[type];
  if (scalar !== undefined) return { type: scalar };
  const list = /^Array<(.*)>$/.exec(type)?.[1];
  if (list !== undefined) return listSchema(path, list);
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (map === undefined) return modelSchema(type);
  return { type: "map", items: fieldSchema("", map), ...(ATOMIC_FIELDS.has(path) && { isAtomic: true }) };
}

function listSchema(path: string, item: string): Schema {
  const merged = path.endsWith("Status.conditions") ? ["type"] : MERGED[path];
  const items = fieldSchema("", item);
  if (merged === undefined) return { type: "list", items, isAtomic: true };
  return { type: "list", items, ...(merged === "set" ? { isSet: true } : { keys: merged }) };
}

/** Kinds whose type has another name in client-node. */
const NAMES: Readonly<Record<string, string>> = { Event: "CoreV1Event" };

/** The fields of a built-in kind. */
export function builtInSchema(kind: string): Schema {
  return modelSchema(NAMES[kind] ?? `V1${kind}`);
}

const definitions = new WeakMap<object, Schema>();

/** The fields of a custom resource, by its definition. */
export function customSchema(definition: object): Schema {
  const found = definitions.get(definition);
  if (found !== undefined) return found;
  const { versions } = objectOf(definition)["spec"] as DefinitionSpec;
  const root = versions.find(({ served }) => served)?.schema?.openAPIV3Schema ?? {
    "x-kubernetes-preserve-unknown-fields": true,
  };
  const schema = openApiSchema(root as JsonObject);
  const meta = {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: modelSchema("V1ObjectMeta"),
  } as const;
  const whole = { ...schema, fields: new Map([...(schema.fields ?? []), ...Object.entries<Schema>(meta)]) };
  definitions.set(definition, whole);
  return whole;
}

/** A structural schema of OpenAPI. */
function openApiSchema(rules: JsonObject): Schema {
  const { type } = rules;
  if (rules["x-kubernetes-int-or-string"] === true) return { type: "intOrString", rules };
  if (type === "array") return openApiList(rules);
  return type === "object" ? openApiObject(rules) : { type: (type ?? "any") as Type, rules };
}

function openApiList(rules: JsonObject): Schema {
  const list = { type: "list", items: openApiSchema(objectOf(rules["items"])), rules } as const;
  const listType = rules["x-kubernetes-list-type"];
  if (listType === "map") return { ...list, keys: rules["x-kubernetes-list-map-keys"] as string[] };
  return listType === "set" ? { ...list, isSet: true } : { ...list, isAtomic: true };
}

function openApiObject(rules: JsonObject): Schema {
  const { properties, additionalProperties } = rules;
  const common = { rules, ...(rules["x-kubernetes-map-type"] === "atomic" && { isAtomic: true }) };
  if (isObject(additionalProperties)) return { type: "map", items: openApiSchema(additionalProperties), ...common };
  if (properties === undefined) return { type: "any", ...common };
  const fields = Object.entries(objectOf(properties)).map(
    ([name, one]) => [name, openApiSchema(objectOf(one))] as const,
  );
  return { type: "struct", fields: new Map(fields), ...common };
}

/** Removes the fields that a schema does not have; returns their paths. */
export function prune(value: unknown, schema: Schema, path = ""): string[] {
  if (schema.type === "list" && Array.isArray(value) && schema.items !== undefined) {
    const { items } = schema;
    return value.flatMap((item, at) => prune(item, items, `${path}[${at}]`));
  }
  if (!isObject(value)) return [];
  if (schema.type === "map")
    return Object.entries(value).flatMap(([name, one]) =>
      prune(one, schema.items ?? { type: "any" }, join(path, name)),
    );
  return schema.type === "struct" ? pruneStruct(value, schema, path) : [];
}

function pruneStruct(value: Record<string, unknown>, { fields, rules }: Schema, path: string): string[] {
  const isKept = rules?.["x-kubernetes-preserve-unknown-fields"] === true;
  return Object.keys(value).flatMap(name => {
    const schema = fields?.get(name);
    if (schema !== undefined) return prune(value[name], schema, join(path, name));
    if (isKept) return [];
    Reflect.deleteProperty(value, name);
    return [join(path, name)];
  });
}

/** The path of a field. */
export function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** Sets the defaults of a custom resource. */
export function applyDefaults(value: unknown, { type, items, fields }: Schema): void {
  if (items !== undefined && (Array.isArray(value) || (type === "map" && isObject(value)))) {
    for (const one of Object.values(value)) applyDefaults(one, items);
  } else if (isObject(value)) {
    for (const [name, field] of fields ?? []) {
      defaultField(value, name, field.rules);
      applyDefaults(value[name], field);
    }
  }
}

function defaultField(value: Record<string, unknown>, name: string, rules: JsonObject | undefined): void {
  if (rules === undefined) return;
  // null counts as absent where it is not allowed.
  if (value[name] === null && rules["nullable"] !== true) Reflect.deleteProperty(value, name);
  if (value[name] === undefined && rules["default"] !== undefined) value[name] = structuredClone(rules["default"]);
}
