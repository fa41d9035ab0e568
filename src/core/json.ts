// Total readers of JSON from other programs: an odd or missing value becomes undefined or empty, and no function throws.

/** A JSON object of unknown content. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Reports whether the value is a JSON object: neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the value if it is an object, else undefined. */
export function objectIn(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

/** Returns the value if it is an object, else an empty object. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Returns the value if it is an array, else an empty array. */
export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Reports whether a list of a rule, as of RBAC or of flow control, names the value or has a star. */
export function isNamedIn(list: readonly unknown[], value: string): boolean {
  return list.includes(value) || list.includes("*");
}

/** Returns the value if it is a string, else undefined. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Returns the value if it is a finite number, else undefined. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** Returns an RFC 3339 time as milliseconds since the epoch, else undefined. */
export function timeOf(value: unknown): number | undefined {
  const ms = typeof value === "string" ? Date.parse(value) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** Returns the entries of an object whose value is a string, such as labels. */
export function textsOf(value: unknown): Record<string, string> {
  const texts = Object.entries(objectOf(value)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(texts);
}

/** Parses a JSON object; undefined if the text is not one. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    return objectIn(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Reports whether two JSON values are equal: the order of keys makes no difference, and an undefined field is equal to an absent one. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => sameJson(item, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  return Object.keys({ ...a, ...b }).every(key => sameJson(a[key], b[key]));
}

/** Reports whether everything wanted is there. Further fields are the API server's defaults; lists have equal lengths. */
export function covers(actual: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    if (!Array.isArray(actual) || actual.length !== wanted.length) return false;
    return wanted.every((item, i) => covers(actual[i], item));
  }
  if (!isObject(wanted)) return actual === wanted;
  return isObject(actual) && Object.entries(wanted).every(([key, value]) => covers(actual[key], value));
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
