import { arrayOf, type JsonObject, objectIn, objectOf } from "../../../core/json";

/** The objects of a list that have a name, as the API server wants every volume and container to have. */
export function namedOf(value: unknown): readonly (JsonObject & { readonly name: string })[] {
  return arrayOf(value)
    .map(objectOf)
    .filter((item): item is JsonObject & { readonly name: string } => typeof item["name"] === "string");
}

/** One text for one value, whatever the order of its keys. A key that is null says as little as one that is absent. */
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
