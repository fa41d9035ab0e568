import { arrayOf, type JsonObject, objectOf } from "../../../src/core/json";

/** Whether a spec has the object that the field is in, so that it can be set there. Pure. */
export function hasPlaceFor(spec: JsonObject, path: string): boolean {
  return parentOf(spec, path) !== undefined;
}

/** A copy of the spec with other values in the object that the field is in: undefined takes one away. Pure. */
export function withValues(spec: JsonObject, path: string, values: JsonObject): JsonObject {
  const copy = structuredClone(spec);
  const parent = parentOf(copy, path);
  if (parent === undefined) throw new Error(`this spec has nothing that ${path} could be set in`);
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) Reflect.deleteProperty(parent, name);
    else Object.assign(parent, { [name]: value });
  }
  return copy;
}

/** Its name in the object that it is in. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

/** Of a list the first item. */
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
