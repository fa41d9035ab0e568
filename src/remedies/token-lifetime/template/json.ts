import { arrayOf, type JsonObject, objectOf } from "../../../core/json";

/** Returns the objects of a list that have a name, which the API server requires of volumes and containers. */
export function namedOf(value: unknown): readonly (JsonObject & { readonly name: string })[] {
  return arrayOf(value)
    .map(objectOf)
    .filter((item): item is JsonObject & { readonly name: string } => typeof item["name"] === "string");
}
