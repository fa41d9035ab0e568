import { isObject, type JsonObject } from "../../../src/core/json";
import { apiVersionOf, type KindInfo, qualifiedName } from "./kinds";
import { type Details, type Obj, Refusal, same } from "./objects";
import { join, type Schema } from "./schema";

/** What is wrong with a field. Unlike a real server's, the messages say no more: the operator shows them and reads only the reasons and fields. */
export interface Fault {
  readonly field: string;
  readonly reason: string;
}

/** Refuses an object with the faults of its fields. */
export function invalid(info: KindInfo, name: string, causes: readonly Fault[]): Refusal {
  const texts = causes.map(({ field, reason }) => `${field}: ${reason}`).join(", ");
  const kind = { ...info, plural: info.kind };
  const details = { ...detailsOf(kind, name), causes: [...causes] };
  return new Refusal(422, "Invalid", `${qualifiedName(kind)} "${name}" is invalid: ${texts}`, details);
}

/** A 400. */
export function badRequest(message: string): Refusal {
  return new Refusal(400, "BadRequest", message);
}

const required = (field: string): Fault => ({ field, reason: "FieldValueRequired" });

const wrong = (field: string): Fault => ({ field, reason: "FieldValueInvalid" });

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Faults of a new object's metadata. */
export function metadataFaults({ metadata: { name } }: Obj): Fault[] {
  return SUBDOMAIN.test(name) ? [] : [wrong("metadata.name")];
}

/** Faults of a custom resource's fields. */
export function customFaults(value: unknown, schema: Schema, field = ""): Fault[] {
  const { rules } = schema;
  if (rules === undefined || (value === null && rules["nullable"] === true)) return [];
  if (!isOfType(value, rules)) return [{ field, reason: "FieldValueTypeInvalid" }];
  return [
    ...limitFaults(value, rules, field),
    ...requiredFaults(value, rules, field),
    ...innerFaults(value, schema, field),
  ];
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
  if (Array.isArray(allowed) && !allowed.includes(value)) return [{ field, reason: "FieldValueNotSupported" }];
  if (format === "date-time" && typeof value === "string" && Number.isNaN(Date.parse(value))) return [wrong(field)];
  const isSet = rules["x-kubernetes-list-type"] === "set" && Array.isArray(value);
  return [...sizeFaults(value, rules, field), ...(isSet ? duplicates(value, field) : [])];
}

function sizeFaults(value: unknown, rules: JsonObject, field: string): Fault[] {
  const exceeds = (measures: typeof BELOW, isWrong: (measured: number, limit: number) => boolean): string | undefined =>
    Object.keys(measures).find(rule => {
      const measured = measures[rule]?.(value);
      return rules[rule] !== undefined && measured !== undefined && isWrong(measured, Number(rules[rule]));
    });
  if (exceeds(BELOW, (measured, limit) => measured < limit) !== undefined) return [wrong(field)];
  const above = exceeds(ABOVE, (measured, limit) => measured > limit);
  return above === undefined ? [] : [{ field, reason: TOO[above] ?? "FieldValueTooMany" }];
}

const TOO: Readonly<Record<string, string>> = { maximum: "FieldValueInvalid", maxLength: "FieldValueTooLong" };

function duplicates(list: readonly unknown[], field: string): Fault[] {
  const at = list.findIndex((one, index) => list.slice(0, index).some(other => same(one, other)));
  return at < 0 ? [] : [{ field: `${field}[${at}]`, reason: "FieldValueDuplicate" }];
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

/** Faults of an update: neither the uid nor a binding's role ever changes. */
export function updateFaults(draft: Obj, old: Obj): Fault[] {
  const { uid } = draft.metadata as { uid?: string };
  const isOther = uid !== undefined && uid !== "" && uid !== old.metadata.uid;
  const hasRole = draft["roleRef"] === undefined || same(draft["roleRef"], old["roleRef"]);
  return [...(isOther ? [wrong("metadata.uid")] : []), ...(hasRole ? [] : [wrong("roleRef")])];
}

/** A 403 of admission or a registry. */
export function forbidden(info: KindInfo, name: string, why: string, causes?: Details["causes"]): Refusal {
  const details = { ...detailsOf(info, name), ...(causes && { causes }) };
  return new Refusal(403, "Forbidden", `${qualifiedName(info)} "${name}" is forbidden: ${why}`, details);
}

/** The object has changed since it was read. */
export function modified(info: KindInfo, name: string): Refusal {
  return conflict(
    info,
    name,
    "the object has been modified; please apply your changes to the latest version and try again",
  );
}

/** A 409. */
export function conflict(info: KindInfo, name: string, why: string): Refusal {
  const message = `Operation cannot be fulfilled on ${qualifiedName(info)} "${name}": ${why}`;
  return new Refusal(409, "Conflict", message, detailsOf(info, name));
}

/** Unknown fields under strict validation. */
export function strictly(info: KindInfo, paths: readonly string[], isPatch: boolean): Refusal {
  const why = `strict decoding error: ${paths.map(path => `unknown field "${path}"`).join(", ")}`;
  if (isPatch) {
    const causes = [{ reason: "FieldValueInvalid", field: "patch" }];
    return new Refusal(422, "Invalid", ` "" is invalid: patch: Invalid value: ${why}`, { causes });
  }
  const version = apiVersionOf(info).split("/").at(-1);
  return badRequest(`${info.kind} in version "${version}" cannot be handled as a ${info.kind}: ${why}`);
}

/** What a client says of an object that it changes or deletes. */
export interface Preconditions {
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/** @throws Refusal 409 */
export function checkPreconditions(info: KindInfo, { metadata }: Obj, wanted: Preconditions = {}): void {
  const { uid, resourceVersion } = wanted;
  const differs = (what: string, a: string, b: string): Refusal => {
    const why = `the ${what} in the precondition (${a}) does not match the ${what} in record (${b}). The object might have been `;
    const how = what === "UID" ? "deleted and then recreated" : "modified";
    const kind = qualifiedName({ ...info, plural: info.kind });
    const message = `Operation cannot be fulfilled on ${kind} "${metadata.name}": ${why}${how}`;
    return new Refusal(409, "Conflict", message, { ...detailsOf(info, metadata.name), kind: info.kind });
  };
  if (uid !== undefined && uid !== metadata.uid) throw differs("UID", uid, metadata.uid);
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion)
    throw differs("ResourceVersion", resourceVersion, metadata.resourceVersion);
}

/** What a Status says about an object: the plural stands in `kind`. */
export function detailsOf({ group, plural }: KindInfo, name: string): { name: string; group?: string; kind: string } {
  return { name, ...(group === "" ? {} : { group }), kind: plural };
}

/** There is no such object. */
export function notFound(info: KindInfo, name: string): Refusal {
  return new Refusal(404, "NotFound", `${qualifiedName(info)} "${name}" not found`, detailsOf(info, name));
}

/** There is no such resource. */
export function notServed(resource: string): Refusal {
  return new Refusal(404, "NotFound", `the server could not find the requested resource (${resource})`);
}

/** There is such an object. */
export function alreadyExists(info: KindInfo, name: string): Refusal {
  return new Refusal(409, "AlreadyExists", `${qualifiedName(info)} "${name}" already exists`, detailsOf(info, name));
}
