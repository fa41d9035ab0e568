import { floorMs, rfc3339Ns, spellSecond } from "./calendar";
import { expiresAt, malformed, type Reading } from "./convention";
import { define } from "./define";

const EXPIRES_AT = "controller-resilience.io/expires-at";
const EXPECTED_MOMENT = "a moment in RFC 3339, such as 2006-01-02T15:04:05Z";

const EXPIRATION_SECONDS = "controller-resilience.io/expiration-seconds";
const EXPECTED_SECONDS = "a whole number of seconds, at least 1";

const SECONDS = /^\d+$/;

/** This project's `controller-resilience.io/expires-at`: a time in RFC 3339 (docs/api.md). Written in UTC, in whole seconds. */
export const ownExpiresAt = define({
  key: EXPIRES_AT,
  place: "annotations",
  isRelative: () => false,
  read(marked): Reading | null {
    const value = marked.annotations[EXPIRES_AT];
    if (value === undefined) return null;
    const ns = rfc3339Ns(value);
    return ns === undefined ? malformed(EXPIRES_AT, value, EXPECTED_MOMENT) : expiresAt(floorMs(ns));
  },
  valuesFor: (_marked, atMs) => [spellSecond(atMs)],
});

/**
 * This project's `controller-resilience.io/expiration-seconds`: whole seconds from the creation of the object (docs/api.md). Zero is
 * malformed: a binding that expires when it is created is a mistake, and obeying it would remove access.
 */
export const ownExpirationSeconds = define({
  key: EXPIRATION_SECONDS,
  place: "annotations",
  isRelative: () => true,
  read(marked): Reading | null {
    const value = marked.annotations[EXPIRATION_SECONDS];
    if (value === undefined) return null;
    const seconds = SECONDS.test(value) ? Number(value) : 0;
    if (seconds === 0) return malformed(EXPIRATION_SECONDS, value, EXPECTED_SECONDS);
    return expiresAt(marked.createdAtMs + seconds * 1_000);
  },
  valuesFor: (marked, atMs) => [String(Math.floor((atMs - marked.createdAtMs) / 1_000))],
});
