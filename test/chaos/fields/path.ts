import { arrayOf, type JsonObject, objectOf } from "../../../src/core/json";

/** Whether a spec has the parent object of the field, so that the field can be set. Pure. */
export function hasPlaceFor(spec: JsonObject, path: string): boolean {
  return parentOf(spec, path) !== undefined;
}

/** Returns a copy of the spec with these values in the parent object of the field; undefined removes a value. Pure. */
export function withValues(spec: JsonObject, path: string, values: JsonObject): JsonObject {
  const copy = structuredClone(spec);
  const parent = parentOf(copy, path);
  if (parent === undefined) throw new Error(`this spec has no parent object of ${path}`);
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) Reflect.deleteProperty(parent, name);
    else Object.assign(parent, { [name]: value });
  }
  return copy;
}

/** Name of the field in its parent object. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

/** For a list, the first item. */
function parentOf(spec: JsonObject, path: string): JsonObject | undefined {
  let at: unknown = spec;
  for (const segment of path.split(".").slice(0, -1)) {
    const name = segment.replace("[]", "");
    const next = objectOf(at)[name];
    at = segment === name ? next : arrayOf(next)[0];
    if (at === undefined) return undefined;
  }
  return objectOf(at);
}
