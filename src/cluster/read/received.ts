/**
 * A type of @kubernetes/client-node as it arrives in JSON: times are text, and each field can be absent or null, such as an empty list
 * of Go. The API server validates the types of built-in kinds, so views check a type only where its schema leaves it open, or where
 * a wrong value must not count.
 */
export type Received<T> = unknown extends T
  ? unknown
  : T extends Date
    ? string
    : T extends readonly (infer Item)[]
      ? readonly Received<Item>[]
      : T extends object
        ? string extends keyof T
          ? Readonly<T>
          : { readonly [Field in keyof T]?: Received<T[Field]> | null }
        : T;

/** Returns the items of a list; none if it is absent, null or not a list. As in Go, an item that is null has no fields. */
export function itemsOf<T extends object>(list: readonly (T | null)[] | null | undefined): readonly T[] {
  return Array.isArray(list) ? list.map((item: T | null) => item ?? ({} as T)) : [];
}

/** Returns the fields that have a value: a view leaves out what the object does not have. */
export function present<T extends object>(fields: T): { [Field in keyof T]?: NonNullable<T[Field]> } {
  const kept: { [Field in keyof T]?: NonNullable<T[Field]> } = {};
  // A loop, since Object.fromEntries is slow for lists of thousands of pods.
  for (const field in fields) {
    const value = fields[field];
    if (value !== null && value !== undefined) kept[field] = value;
  }
  return kept;
}
