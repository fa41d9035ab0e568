import { arrayOf, type JsonObject, objectIn, objectOf } from "../../../core/json";

/** Returns the objects of a list that have a name, which the API server requires of volumes and containers. */
export function namedOf(value: unknown): readonly (JsonObject & { readonly name: string })[] {
  return arrayOf(value)
    .map(objectOf)
    .filter((item): item is JsonObject & { readonly name: string } => typeof item["name"] === "string");
}

/** Serializes a value with sorted keys. A null key is equal to an absent one. */
export function canonical(value: unknown): string {
  return JSON.stringify(sorted(value ?? null));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  const object = objectIn(value);
  if (object === undefined) return value;
  const entries = Object.entries(object).filter(([, field]) => field !== null && field !== undefined);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, field]) => [key, sorted(field)]));
}
