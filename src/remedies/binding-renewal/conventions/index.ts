import { type Convention, type Malformed, type Marked } from "./convention";
import { janitorExpires } from "./janitor-expires";
import { janitorTtl } from "./janitor-ttl";
import { kyvernoTtl } from "./kyverno-ttl";
import { ownExpirationSeconds, ownExpiresAt } from "./own";
import { ttlController } from "./ttl-controller";

export { type Change, type Convention, type Malformed, type Marked, type Reading, withChange } from "./convention";

/** All conventions that are known. The order is that of sources in status. */
export const CONVENTIONS: readonly Convention[] = [
  ownExpiresAt,
  ownExpirationSeconds,
  kyvernoTtl,
  janitorTtl,
  janitorExpires,
  ttlController,
];

/** What all conventions together say of a binding. */
export interface Expiry {
  /** Those that expire. */
  readonly readings: readonly { readonly convention: Convention; readonly atMs: number }[];
  /** When it ends: the enforcers don't know of one another, so the earliest wins. Absent if none says so. */
  readonly earliest?: {
    readonly atMs: number;
    /** The keys that say so, more than one if they agree. */
    readonly sources: readonly string[];
  };
  readonly malformed: readonly Malformed[];
  /** One of them says that it never expires; another may still say that it does. */
  readonly forever: boolean;
}

/** Reads a binding in every convention. Never throws. */
export function readExpiry(marked: Marked): Expiry {
  const readings: { convention: Convention; atMs: number }[] = [];
  const malformed: Malformed[] = [];
  let forever = false;
  for (const convention of CONVENTIONS) {
    const reading = convention.read(marked);
    if (reading?.kind === "expires") readings.push({ convention, atMs: reading.atMs });
    if (reading?.kind === "malformed") malformed.push(reading);
    if (reading?.kind === "never") forever = true;
  }
  if (readings.length === 0) return { readings, malformed, forever };
  const atMs = Math.min(...readings.map(reading => reading.atMs));
  const sources = readings.filter(reading => reading.atMs === atMs).map(({ convention }) => convention.key);
  return { readings, earliest: { atMs, sources }, malformed, forever };
}

/** Does a binding use any convention, be it malformed or for ever? False: `readExpiry` would find nothing. */
export function hasExpiryKey(marked: Marked): boolean {
  return CONVENTIONS.some(convention => convention.read(marked) !== null);
}
