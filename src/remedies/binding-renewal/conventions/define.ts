import { type Change, type Convention, type Marked, type Reading, withChange } from "./convention";

/** What differs between conventions. */
export interface Rules {
  readonly key: string;
  readonly place: "labels" | "annotations";
  /** The key that is written to, where it isn't the one that holds the expiry. */
  readonly renewedBy?: string;
  isRelative(marked: Marked): boolean;
  read(marked: Marked): Reading | null;
  /**
   * Values that say `atMs`, each rounded down to the precision of its form: first the form that was found, then ever finer ones.
   * Called only for what expires. One that can't be said may be wrong: every value is read again before it is taken.
   */
  sayings(marked: Marked, atMs: number): readonly string[];
}

/**
 * A convention from its rules. Whatever it writes has been read back: no value is written that its own reader wouldn't
 * understand, or that would mean a moment after the wanted one or not after the present one.
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
    writeAnew(marked, atMs, afterMs = -Infinity) {
      if (rules.read(marked)?.kind !== "expires") return null;
      return firstBetween(rules, marked, { afterMs: Math.max(marked.createdAtMs, afterMs), atMs });
    },
  };
}

/** The first saying that means a moment after `afterMs`, and at most `atMs`. */
function firstBetween(
  rules: Rules,
  marked: Marked,
  { afterMs, atMs }: { readonly afterMs: number; readonly atMs: number },
): Change | null {
  if (!(atMs > afterMs)) return null;
  for (const value of rules.sayings(marked, atMs)) {
    const change = { place: rules.place, key: rules.renewedBy ?? rules.key, value };
    const reading = rules.read(withChange(marked, change));
    if (reading?.kind !== "expires") continue;
    if (reading.atMs > afterMs && reading.atMs <= atMs) return { ...change, atMs: reading.atMs };
  }
  return null;
}
