/** The part of a binding that conventions read. */
export interface Marked {
  /** `creationTimestamp`, in whole milliseconds since the epoch. */
  readonly createdAtMs: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Write times, by key, of values that are younger than the binding, in milliseconds since the epoch. */
  readonly writtenMs?: Readonly<Record<string, number>>;
}

/** A value that the enforcer ignores. */
export interface Malformed {
  readonly kind: "malformed";
  readonly key: string;
  /** The value, cut to 80 characters. */
  readonly value: string;
  /** The format that the enforcer understands, for people. */
  readonly expected: string;
}

/** How the enforcer of a convention reads a binding. */
export type Reading =
  | {
      readonly kind: "expires";
      /** The first time at which the enforcer may delete it, in milliseconds since the epoch, rounded down. */
      readonly atMs: number;
    }
  /** A valid value with which the enforcer never deletes. */
  | { readonly kind: "never" }
  | Malformed;

/** One value to write into the metadata of a binding, and its expiry. */
export interface Change {
  readonly place: "labels" | "annotations";
  readonly key: string;
  readonly value: string;
  readonly atMs: number;
}

/** How metadata contains the expiry of a binding, since RBAC has no field for it. Pure and total: nothing here throws. */
export interface Convention {
  /** The key that contains the expiry; `source` in status. */
  readonly key: string;
  /** All its keys, such as ttl and refreshed-at. */
  readonly keys: readonly string[];
  /** Reports whether the expiry counts from the creation of the object. Meaningless if `read` finds no expiry. */
  isRelative(marked: Marked): boolean;
  /** Null if the binding does not use this convention. */
  read(marked: Marked): Reading | null;
  /**
   * The latest time, at most `atMs` and later than the current expiry and than `afterMs`, in the form that was found, otherwise in the
   * next finer form of the same key. Null if there is no such time or no expiry.
   */
  write(marked: Marked, atMs: number, afterMs?: number): Change | null;
}

/** 9999-12-31T23:59:59.999Z, the last time in RFC 3339 (4 digits of a year) and in Python's datetime. */
export const LAST_MS = 253_402_300_799_999;

const LONGEST_QUOTE = 80;

/** An expiry; never if it lies after the year 9999, which status cannot show. */
export function expiresAt(atMs: number): Reading {
  return atMs <= LAST_MS ? { kind: "expires", atMs } : { kind: "never" };
}

/** A value that the enforcer ignores. `expected` is for people. */
export function malformed(key: string, value: string, expected: string): Malformed {
  // A character has at most two UTF-16 units, and a cut between them would leave half of it.
  const head = Array.from(value.slice(0, 2 * LONGEST_QUOTE))
    .slice(0, LONGEST_QUOTE)
    .join("");
  return { kind: "malformed", key, value: head, expected };
}

/** The same binding after a change. */
export function withChange(marked: Marked, change: Omit<Change, "atMs">): Marked {
  return { ...marked, [change.place]: { ...marked[change.place], [change.key]: change.value } };
}
