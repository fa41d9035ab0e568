import type { ReasonRule } from "../../core/remedy";

/** The reasons of BindingsCurrent, worst first. */
export const REASONS = {
  Renewing: {
    event: "Normal",
    help: "The write comes next, or failed and is retried. False after an hour (sooner for a short life): the message says why.",
  },
  TooMany: {
    event: "Warning",
    help: "More than 400 bindings: the others are left alone. Spread the targets over several objects.",
  },
  Forbidden: {
    event: "Warning",
    help: "Add the rule that the message prints.",
  },
  ObserveFailed: {
    event: "Warning",
    help: "A read failed. False: the role, for an hour (sooner for a short life): find out why, or renew the binding by hand.",
  },
  MalformedExpiry: {
    event: "Warning",
    help: "Correct the value that the message prints.",
  },
  Contested: {
    event: "Warning",
    help: "Another writer made the expiry earlier: a person, or a GitOps tool. The message says how to resume.",
  },
  BindingRefused: {
    event: "Warning",
    help: "Its role is too powerful, or it has an owner: create a narrower role, or extend the owner.",
  },
  RenewalNotRequested: {
    event: "Warning",
    help: "It expires soon: request its renewal, or give it the skip annotation.",
  },
  RenewalEnded: {
    event: "Warning",
    help: "`renewUntil`, or a later time in another key, leaves no room: review the access, then set a later one. Or no later time can be written; `extendBy` may help.",
  },
  AccessEnded: {
    event: "Warning",
    help: "Its expiry has passed, or it was deleted before: the message says how to grant the access again. False only if it is named, or still exists.",
  },
  WouldRenew: {
    event: "Warning",
    help: "Observe mode: it would be renewed now.",
  },
  TargetNotFound: { event: "Warning", help: "No such workload or binding (yet): check kind and name." },
  ExpiringSoon: { event: "Normal", help: "It will be renewed in time." },
  Current: { event: "Normal", help: "No action required." },
  NothingToDo: {
    event: "Normal",
    help: "No binding of the targets' ServiceAccounts expires.",
  },
} as const satisfies Record<string, ReasonRule>;

/** One of the reasons. */
export type Reason = keyof typeof REASONS;
