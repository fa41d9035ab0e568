import { type Convention, type Malformed, type Marked } from "./convention";
import { janitorExpires } from "./janitor-expires";
import { janitorTtl } from "./janitor-ttl";
import { kyvernoTtl } from "./kyverno-ttl";
import { ownExpirationSeconds, ownExpiresAt } from "./own";
import { ttlController } from "./ttl-controller";

export { type Change, type Convention, type Malformed, type Marked, type Reading, withChange } from "./convention";

/** All supported conventions, in the order of sources in status. */
export const CONVENTIONS: readonly Convention[] = [
  ownExpiresAt,
  ownExpirationSeconds,
  kyvernoTtl,
  janitorTtl,
  janitorExpires,
  ttlController,
];

/** A binding read in all conventions. */
export interface Expiry {
  /** Conventions with an expiry. */
  readonly readings: readonly { readonly convention: Convention; readonly atMs: number }[];
  /** The enforcers are independent, so the earliest expiry counts. Absent if there is none. */
  readonly earliest?: {
    readonly atMs: number;
    /** The keys with this expiry. */
    readonly sources: readonly string[];
  };
  readonly malformed: readonly Malformed[];
  /** A convention contains an explicit "never"; another may still contain an expiry. */
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

/** Reports whether the binding uses any convention, including malformed values and "never". */
export function hasExpiryKey(marked: Marked): boolean {
  return CONVENTIONS.some(convention => convention.read(marked) !== null);
}
