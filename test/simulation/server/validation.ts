import { isObject, type JsonObject, objectOf, textOf } from "../../../src/core/json";
import { apiVersionOf, type KindInfo } from "./kinds";
import { type Obj, Refusal, same } from "./objects";
import type { Schema } from "./schema";
import { detailsOf } from "./store";

/** What is wrong with a field. */
export interface Fault {
  readonly field: string;
  readonly message: string;
  readonly reason: string;
}

/** Refuses an object with the faults of its fields. */
export function invalid({ group, kind }: KindInfo, name: string, faults: readonly Fault[]): Refusal {
  const texts = faults.map(({ field, message }) => `${field}: ${message}`);
  const text = texts.length === 1 ? texts[0]! : `[${texts.join(", ")}]`;
  const full = group === "" ? kind : `${kind}.${group}`;
  const causes = faults.map(({ reason, message, field }) => ({ reason, message, field }));
  return new Refusal(422, "Invalid", `${full} "${name}" is invalid: ${text}`, {
    ...(name !== "" && { name }),
    ...(group !== "" && { group }),
    kind,
    causes,
  });
}

/** A 400. */
export function badRequest(message: string): Refusal {
  return new Refusal(400, "BadRequest", message);
}

/** A field that must be there. */
export function required(field: string, why = ""): Fault {
  return { field, message: `Required value${why === "" ? "" : `: ${why}`}`, reason: "FieldValueRequired" };
}

function wrong(field: string, value: unknown, why: string): Fault {
  return { field, message: `Invalid value: ${JSON.stringify(value)}: ${why}`, reason: "FieldValueInvalid" };
}

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_RULE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/** RBAC objects are named by path segments. */
const FREE_NAMES = new Set(["roles", "rolebindings", "clusterroles", "clusterrolebindings", "poddisruptionbudgets"]);

/** Faults of a new object's metadata. */
export function metadataFaults({ metadata }: Obj, { plural }: KindInfo): Fault[] {
  const { name } = metadata as { name?: string };
  if (name === undefined || name === "") return [required("metadata.name", "name or generateName is required")];
  const isLabel = plural === "namespaces";
  if (FREE_NAMES.has(plural))
    return /[/%]/.test(name)
      ? [wrong("metadata.name", name, `may not contain '${name.includes("/") ? "/" : "%"}'`)]
      : [];
  if ((isLabel ? LABEL : SUBDOMAIN).test(name)) return [];
  return [wrong("metadata.name", name, isLabel ? LABEL_RULE : SUBDOMAIN_RULE)];
}

/** Faults of a custom resource's fields. */
export function customFaults(value: unknown, schema: Schema, field = ""): Fault[] {
  const { rules } = schema;
  if (rules === undefined) return [];
  if (value === null) return rules["nullable"] === true ? [] : [wrongType(field, value, rules)];
  if (!isOfType(value, rules)) return [wrongType(field, value, rules)];
  return [
    ...limitFaults(value, rules, field),
    ...requiredFaults(value, rules, field),
    ...innerFaults(value, schema, field),
  ];
}

function wrongType(field: string, value: unknown, { type }: JsonObject): Fault {
  const got = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  const shown = got === "number" ? "integer" : got;
  const message = `Invalid value: "${shown}": ${field} in body must be of type ${textOf(type) ?? ""}: "${shown}"`;
  return { field, message, reason: "FieldValueTypeInvalid" };
}

function isOfType(value: unknown, rules: JsonObject): boolean {
  if (rules["x-kubernetes-int-or-string"] === true) return typeof value === "number" || typeof value === "string";
  switch (rules["type"]) {
    case "object":
      return isObject(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case undefined:
      return true;
    default:
      return typeof value === rules["type"];
  }
}

const BELOW: Readonly<Record<string, (value: unknown) => number | undefined>> = {
  minimum: numberOf,
  minLength: lengthOf,
  minItems: countOf,
};
const ABOVE: Readonly<Record<string, (value: unknown) => number | undefined>> = {
  maximum: numberOf,
  maxLength: lengthOf,
  maxItems: countOf,
  maxProperties: fieldsOf,
};

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function lengthOf(value: unknown): number | undefined {
  return typeof value === "string" ? Array.from(value).length : undefined;
}

function countOf(value: unknown): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

function fieldsOf(value: unknown): number | undefined {
  return isObject(value) ? Object.keys(value).length : undefined;
}

function limitFaults(value: unknown, rules: JsonObject, field: string): Fault[] {
  const { enum: allowed, format } = rules;
  if (Array.isArray(allowed) && !allowed.includes(value)) {
    const list = allowed.map(one => JSON.stringify(one)).join(", ");
    const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${list}`;
    return [{ field, message, reason: "FieldValueNotSupported" }];
  }
  if (format === "date-time" && typeof value === "string" && Number.isNaN(Date.parse(value)))
    return [wrong(field, value, `${field} in body must be of type date-time: ${JSON.stringify(value)}`)];
  const isSet = rules["x-kubernetes-list-type"] === "set" && Array.isArray(value);
  return [...sizeFaults(value, rules, field), ...(isSet ? duplicates(value, field) : [])];
}

function sizeFaults(value: unknown, rules: JsonObject, field: string): Fault[] {
  const exceeds = (measures: typeof BELOW, isWrong: (measured: number, limit: number) => boolean): string | undefined =>
    Object.keys(measures).find(rule => {
      const measured = measures[rule]?.(value);
      return rules[rule] !== undefined && measured !== undefined && isWrong(measured, Number(rules[rule]));
    });
  const below = exceeds(BELOW, (measured, limit) => measured < limit);
  if (below !== undefined) return [wrong(field, value, belowMessage(below, field, Number(rules[below])))];
  const above = exceeds(ABOVE, (measured, limit) => measured > limit);
  return above === undefined ? [] : [tooMuch(above, field, value, Number(rules[above]))];
}

function belowMessage(rule: string, field: string, limit: number): string {
  if (rule === "minimum") return `${field} in body should be greater than or equal to ${limit}`;
  return rule === "minLength"
    ? `${field} in body should be at least ${limit} chars long`
    : `${field} in body should have at least ${limit} items`;
}

function tooMuch(rule: string, field: string, value: unknown, limit: number): Fault {
  if (rule === "maximum") return wrong(field, value, `${field} in body should be less than or equal to ${limit}`);
  const what = rule === "maxLength" ? "bytes" : "items";
  if (rule === "maxLength")
    return { field, message: `Too long: may not be more than ${limit} ${what}`, reason: "FieldValueTooLong" };
  return {
    field,
    message: `Too many: ${countOf(value) ?? fieldsOf(value)}: must have at most ${limit} items`,
    reason: "FieldValueTooMany",
  };
}

function duplicates(list: readonly unknown[], field: string): Fault[] {
  const at = list.findIndex((one, index) => list.slice(0, index).some(other => same(one, other)));
  if (at < 0) return [];
  return [
    {
      field: `${field}[${at}]`,
      message: `Duplicate value: ${JSON.stringify(list[at])}`,
      reason: "FieldValueDuplicate",
    },
  ];
}

function requiredFaults(value: unknown, rules: JsonObject, field: string): Fault[] {
  if (!isObject(value)) return [];
  const names = (rules["required"] ?? []) as string[];
  return names.filter(name => value[name] === undefined).map(name => required(join(field, name)));
}

function innerFaults(value: unknown, { fields, items }: Schema, field: string): Fault[] {
  if (Array.isArray(value))
    return value.flatMap((item, at) => (items === undefined ? [] : customFaults(item, items, `${field}[${at}]`)));
  if (!isObject(value)) return [];
  if (items !== undefined)
    return Object.entries(value).flatMap(([name, one]) => customFaults(one, items, join(field, name)));
  return Object.entries(value).flatMap(([name, one]) => {
    const schema = fields?.get(name);
    return schema === undefined || one === undefined ? [] : customFaults(one, schema, join(field, name));
  });
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** Faults of an update's metadata. */
export function updateFaults(draft: Obj, old: Obj): Fault[] {
  const { uid } = draft.metadata as { uid?: string };
  return uid === undefined || uid === "" || uid === old.metadata.uid
    ? []
    : [wrong("metadata.uid", uid, "field is immutable")];
}

/** A binding's role is for ever. */
export function roleRefFaults(draft: Obj, old: Obj): Fault[] {
  if (draft["roleRef"] === undefined || same(draft["roleRef"], old["roleRef"])) return [];
  return [wrong("roleRef", objectOf(draft["roleRef"]), "cannot change roleRef")];
}

/** The object has changed since it was read. */
export function modified(info: KindInfo, name: string): Refusal {
  const full = info.group === "" ? info.plural : `${info.plural}.${info.group}`;
  const why = "the object has been modified; please apply your changes to the latest version and try again";
  return new Refusal(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${full} "${name}": ${why}`,
    detailsOf(info, name),
  );
}

/** Another uid was meant. */
export function otherUid(info: KindInfo, name: string, wanted: string, found: string): Refusal {
  const full = info.group === "" ? info.plural : `${info.plural}.${info.group}`;
  const why = `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${found}`;
  return new Refusal(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${full} "${name}": ${why}`,
    detailsOf(info, name),
  );
}

/** Unknown fields under strict validation. */
export function strictly(info: KindInfo, paths: readonly string[]): Refusal {
  const why = `strict decoding error: ${paths.map(path => `unknown field "${path}"`).join(", ")}`;
  const version = apiVersionOf(info).split("/").at(-1);
  return badRequest(`${info.kind} in version "${version}" cannot be handled as a ${info.kind}: ${why}`);
}
