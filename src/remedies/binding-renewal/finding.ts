import type { BindingStatus } from "../../api/controller-resilience";
import type { Intent, ObjectRef } from "../../core/intent";
import type { Announcement } from "../../core/legacy-remedy";

/** Worst first: the first of these among all findings becomes the condition's reason. */
const BY_SEVERITY = [
  "TooManyBindings",
  "RenewalForbidden",
  "MalformedExpiry",
  "RenewalContested",
  "BindingRefused",
  "RenewalEnded",
  "Expired",
  "Revoked",
  "Restoring",
  "WouldRenew",
  "BindingNotFound",
  "TargetNotFound",
  "ExpiringSoon",
  "Current",
  "NoBindings",
] as const;

/** What there is to say and to do about one binding. */
export interface Finding {
  readonly status: "True" | "False";
  readonly reason: (typeof BY_SEVERITY)[number];
  /** Without times that lie between now and then: a message that changes with every pass would make every pass write status. */
  readonly sentence: string;
  /** What status tells of it from now on. */
  readonly entry?: BindingStatus;
  readonly intent?: Intent;
  readonly announcements?: readonly Announcement[];
  /** A person is needed. */
  readonly isStalled?: boolean;
  /** When something about it changes by itself, in milliseconds since the epoch. */
  readonly nextMs?: readonly number[];
}

/** What is False comes before what is True; among equals, what expires next. */
export function bySeverity(a: Finding, b: Finding): number {
  return rank(a) - rank(b) || (expiryOf(a) < expiryOf(b) ? -1 : Number(expiryOf(a) > expiryOf(b)));
}

/** RFC 3339 in UTC sorts as text; what has no expiry comes last. */
function expiryOf({ entry }: Finding): string {
  return entry?.expiryTime ?? "~";
}

function rank({ status, reason }: Finding): number {
  return (status === "False" ? 0 : BY_SEVERITY.length) + BY_SEVERITY.indexOf(reason);
}

/** A check that may have something to say. */
export type Check<Given> = (given: Given) => Finding | undefined;

/** What the first check says that has something to say. */
export function firstOf<Given>(checks: readonly Check<Given>[], given: Given): Finding | undefined {
  for (const check of checks) {
    const finding = check(given);
    if (finding !== undefined) return finding;
  }
  return undefined;
}

/** Told when a binding comes into that state, which status remembers: one Event for each stage, whoever leads. */
export function announcedOnce(
  before: BindingStatus["state"] | undefined,
  state: BindingStatus["state"],
  words: Omit<Announcement, "about">,
  about: ObjectRef,
): { announcements?: Announcement[] } {
  return before === state ? {} : { announcements: [{ ...words, about }] };
}
