import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../src/core/json";

/** Longest value that a sentence shows. */
const MOST_CHARACTERS = 300;

/** Differences between two plain values, one sentence for each path. Pure. */
export function differences(seen: unknown, expected: unknown, path = ""): string[] {
  if (isDeepStrictEqual(seen, expected)) return [];
  if (Array.isArray(seen) && Array.isArray(expected) && seen.length === expected.length) {
    return seen.flatMap((item, i) => differences(item, expected[i], `${path}[${i}]`));
  }
  if (!isBag(seen) || !isBag(expected)) return [`${path}: ${shown(seen)}, expected ${shown(expected)}`];
  const keys = [...new Set([...Object.keys(seen), ...Object.keys(expected)])];
  return keys.flatMap(key => differences(seen[key], expected[key], path === "" ? key : `${path}.${key}`));
}

function isBag(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shown(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value).slice(0, MOST_CHARACTERS);
}
