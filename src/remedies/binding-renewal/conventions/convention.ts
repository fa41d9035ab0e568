/** What a binding carries that conventions read. */
export interface Marked {
  /** `creationTimestamp`, in whole milliseconds since the epoch. */
  readonly createdAtMs: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** When values were written that are younger than the binding, by key, in milliseconds since the epoch. */
  readonly writtenMs?: Readonly<Record<string, number>>;
}

/** A value that the enforcer ignores, so that it deletes nothing because of it. */
export interface Malformed {
  readonly kind: "malformed";
  readonly key: string;
  /** What was found, cut to 80 characters. */
  readonly value: string;
  /** What the enforcer would have understood, for people. */
  readonly expected: string;
}

/** What the enforcer of a convention makes of a binding. */
export type Reading =
  | {
      readonly kind: "expires";
      /** The first moment at which it may be deleted, in milliseconds since the epoch, rounded down. */
      readonly atMs: number;
    }
  /** Used, and understood, but the enforcer would never delete. */
  | { readonly kind: "never" }
  | Malformed;

/** One value to write into the metadata of a binding, and the expiry that it means. */
export interface Change {
  readonly place: "labels" | "annotations";
  readonly key: string;
  readonly value: string;
  readonly atMs: number;
}

/** A way to say in metadata when a binding ends: RBAC has none of its own. Pure and total: nothing here throws. */
export interface Convention {
  /** The key that holds the expiry: stands in status as source. */
  readonly key: string;
  /** All keys of metadata that belong to it, such as ttl and refreshed-at. */
  readonly keys: readonly string[];
  /** Is it counted from the creation of the object, so that a new object counts anew? Says nothing where `read` doesn't find an expiry. */
  isRelative(marked: Marked): boolean;
  /** null: this binding does not use it. */
  read(marked: Marked): Reading | null;
  /**
   * The latest moment, at most `atMs` and later than the present expiry and than `afterMs`, that can be said in the form that was found;
   * else in the next finer form of the same key; null if there is none, or no expiry to begin with.
   */
  write(marked: Marked, atMs: number, afterMs?: number): Change | null;
  /** Like `write`, but later than the creation, not than the present expiry: for a new object that takes over the marks of an old one. */
  writeAnew(marked: Marked, atMs: number, afterMs?: number): Change | null;
}

/** 9999-12-31T23:59:59.999Z: the last moment that RFC 3339 (4 digits of a year) and Python's datetime can say. */
export const LAST_MS = 253_402_300_799_999;

const LONGEST_QUOTE = 80;

/** An expiry; one after the year 9999 is none, since no status could show it and nobody will see it come. */
export function expiresAt(atMs: number): Reading {
  return atMs <= LAST_MS ? { kind: "expires", atMs } : { kind: "never" };
}

/** A value that the enforcer ignores. `expected` is for people. */
export function malformed(key: string, value: string, expected: string): Malformed {
  // A character is at most two units long; cutting between them would leave half of one.
  const head = Array.from(value.slice(0, 2 * LONGEST_QUOTE))
    .slice(0, LONGEST_QUOTE)
    .join("");
  return { kind: "malformed", key, value: head, expected };
}

/** The same binding after a change. */
export function withChange(marked: Marked, change: Omit<Change, "atMs">): Marked {
  return { ...marked, [change.place]: { ...marked[change.place], [change.key]: change.value } };
}
