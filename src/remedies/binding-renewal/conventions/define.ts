import { type Change, type Convention, type Marked, type Reading, withChange } from "./convention";

/** The differences between conventions. */
export interface Rules {
  readonly key: string;
  readonly place: "labels" | "annotations";
  /** The key that renewals write, if it is not the key that contains the expiry. */
  readonly renewedBy?: string;
  isRelative(marked: Marked): boolean;
  read(marked: Marked): Reading | null;
  /**
   * Values for `atMs`, each rounded down to the precision of its form: first the form that was found, then finer ones. Called only for
   * bindings that expire. A value may be wrong if its form cannot contain the time: each is read back before it is used.
   */
  valuesFor(marked: Marked, atMs: number): readonly string[];
}

/**
 * Makes a convention from its rules. Each value is read back before it is written: it is valid, not later than the requested time, and
 * later than the current one.
 */
export function define(rules: Rules): Convention {
  const { key, renewedBy } = rules;
  return {
    key,
    keys: renewedBy === undefined ? [key] : [key, renewedBy],
    isRelative: marked => rules.isRelative(marked),
    read: marked => rules.read(marked),
    write(marked, atMs, afterMs = -Infinity) {
      const present = rules.read(marked);
      if (present?.kind !== "expires") return null;
      return firstBetween(rules, marked, { afterMs: Math.max(present.atMs, afterMs), atMs });
    },
  };
}

/** The first value whose time is after `afterMs` and at most `atMs`. */
function firstBetween(
  rules: Rules,
  marked: Marked,
  { afterMs, atMs }: { readonly afterMs: number; readonly atMs: number },
): Change | null {
  if (!(atMs > afterMs)) return null;
  for (const value of rules.valuesFor(marked, atMs)) {
    const change = { place: rules.place, key: rules.renewedBy ?? rules.key, value };
    const reading = rules.read(withChange(marked, change));
    if (reading?.kind !== "expires") continue;
    if (reading.atMs > afterMs && reading.atMs <= atMs) return { ...change, atMs: reading.atMs };
  }
  return null;
}
