import { isDeepStrictEqual } from "node:util";
import { isObject } from "../../core/json";

/** Returns the JSON merge patch (RFC 7396) that makes `after` of `before`; undefined if they are the same. */
export function mergePatch(before: object, after: object): Record<string, unknown> | undefined {
  const [old, wanted] = [{ ...before } as Record<string, unknown>, { ...after } as Record<string, unknown>];
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys(old)) if (wanted[key] === undefined) patch[key] = null;
  for (const [key, value] of Object.entries(wanted)) {
    if (value === undefined || isDeepStrictEqual(old[key], value)) continue;
    patch[key] = isObject(old[key]) && isObject(value) ? mergePatch(old[key], value) : value;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}
