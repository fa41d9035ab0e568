import type { ReasonRule } from "../../core/remedy";

/** The reasons of BindingsCurrent, worst first. */
export const REASONS = {
  Renewing: {
    event: "Normal",
    help: "It is due, and the write or the read of its role failed; both are retried. False after an hour (sooner for a short life).",
  },
  TooMany: {
    event: "Warning",
    help: "More than 400 bindings: spread the targets over several objects.",
  },
  Forbidden: {
    event: "Warning",
    help: "Add the role to the chart's `bindingRenewal.bind`, or the rules in the message.",
  },
  MalformedExpiry: {
    event: "Warning",
    help: "Correct what the message prints: one value that can be read, in one key.",
  },
  Contested: {
    event: "Warning",
    help: "A person or a GitOps tool made the expiry earlier, or a backup brought the binding back. The message says how to resume.",
  },
  BindingRefused: {
    event: "Warning",
    help: "Its role is too powerful: create a narrower one. Or it has an owner: extend that.",
  },
  RenewalNotRequested: {
    event: "Warning",
    help: "It expires soon: review the access, then request its renewal (or set a later `renewUntil`), or give it the skip annotation.",
  },
  AccessEnded: {
    event: "Warning",
    help: "It expired or was deleted: the message says how to grant it again. False if named, or not deleted for an hour.",
  },
  WouldRenew: {
    event: "Warning",
    help: "Observe mode: it would be renewed now.",
  },
  TargetNotFound: { event: "Warning", help: "No such workload or binding (yet): check kind and name." },
  Current: { event: "Normal", help: "No action required: it expires later, or is renewed in time." },
  NothingToDo: {
    event: "Normal",
    help: "No binding of the targets' ServiceAccounts expires.",
  },
} as const satisfies Record<string, ReasonRule>;

/** One of the reasons. */
export type Reason = keyof typeof REASONS;
