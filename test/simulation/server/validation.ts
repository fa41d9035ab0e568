import { Ajv, type ValidateFunction } from "ajv";
import type { JsonObject } from "../../../src/core/json";
import { apiVersionOf, type KindInfo, qualifiedName } from "./kinds";
import { type Details, type Obj, Refusal, same } from "./objects";
import { join } from "./schema";

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

const wrong = (field: string): Fault => ({ field, reason: "FieldValueInvalid" });

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Faults of a new object's metadata. */
export function metadataFaults({ metadata: { name } }: Obj): Fault[] {
  return SUBDOMAIN.test(name) ? [] : [wrong("metadata.name")];
}

const ajv = new Ajv({
  ...{ allErrors: true, strict: false },
  formats: { int32: true, int64: true, "date-time": text => !Number.isNaN(Date.parse(text)) },
  keywords: [
    { keyword: "x-kubernetes-int-or-string", macro: () => ({ type: ["integer", "string"] }) },
    { keyword: "x-kubernetes-list-type", macro: (type: string) => ({ uniqueItems: type === "set" }) },
  ],
});

/** By rule; what is not here repeats another one. */
const REASONS: Readonly<Record<string, string>> = {
  ...{ type: "FieldValueTypeInvalid", enum: "FieldValueNotSupported", format: "FieldValueInvalid" },
  ...{ minimum: "FieldValueInvalid", minLength: "FieldValueInvalid", minItems: "FieldValueInvalid" },
  ...{ maximum: "FieldValueInvalid", maxLength: "FieldValueTooLong", maxItems: "FieldValueTooMany" },
  ...{ maxProperties: "FieldValueTooMany", uniqueItems: "FieldValueDuplicate", required: "FieldValueRequired" },
};

/** By their rules as text, since each world has definitions of its own. */
const compiled = new Map<string, ValidateFunction>();
const validators = new WeakMap<JsonObject, ValidateFunction>();

function validatorOf(rules: JsonObject): ValidateFunction {
  const known = validators.get(rules);
  if (known !== undefined) return known;
  const text = JSON.stringify(rules);
  const validate = compiled.get(text) ?? ajv.compile(rules);
  compiled.set(text, validate);
  validators.set(rules, validate);
  return validate;
}

/** What is wrong with a custom resource, or with a field of it, by the rules of its definition. */
export function customFaults(value: unknown, rules: JsonObject): Fault[] {
  const validate = validatorOf(rules);
  if (validate(value)) return [];
  return (validate.errors ?? []).flatMap(({ keyword, instancePath, params }) => {
    const { missingProperty, i } = params as { missingProperty?: string; i?: number };
    const steps = [...instancePath.split("/").slice(1), ...(missingProperty === undefined ? [] : [missingProperty])];
    const field = steps.reduce((path, step) => (/^\d+$/.test(step) ? `${path}[${step}]` : join(path, step)), "");
    const reason = REASONS[keyword];
    return reason === undefined ? [] : [{ field: i === undefined ? field : `${field}[${i}]`, reason }];
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
