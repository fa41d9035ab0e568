import type { ReasonRule } from "../../core/remedy";

/** The reasons of BindingsCurrent, worst first. */
export const REASONS = {
  Renewing: {
    event: "Normal",
    help: "The write comes next, or has failed and is retried. False if it fails for an hour (of a short-lived binding for less): the message says why; mend that, or renew the binding by hand.",
  },
  TooManyBindings: {
    event: "Warning",
    help: "More than 400 bindings; those that are requested and expire first are handled, the others are left alone. Spread the targets over several objects.",
  },
  RenewalForbidden: {
    event: "Warning",
    help: "Add the rule that the message prints, as above.",
  },
  RoleUnread: {
    event: "Warning",
    help: "Reads of the role have failed for an hour (of a short-lived binding for less): find out why, or renew the binding by hand. Other bindings are renewed.",
  },
  MalformedExpiry: {
    event: "Warning",
    help: "Correct the value that the message prints.",
  },
  RenewalContested: {
    event: "Warning",
    help: "Another writer moved the expiry to an earlier time: a person who revokes access, or a GitOps tool that reverts a renewal. The operator never moves it back; the message says how to resume.",
  },
  BindingRefused: {
    event: "Warning",
    help: "Its role is too powerful, or it has an owner: create a narrower role, or extend the owner, as the message says.",
  },
  RenewalNotRequested: {
    event: "Warning",
    help: "It expires soon, and neither the spec names it nor has it the annotation. Request the renewal in one of the two ways, or give the binding the skip annotation.",
  },
  RenewalEnded: {
    event: "Warning",
    help: "`renewUntil` has passed or leaves no room: review the access, then set a later date. Or no later time can be written: the message says so, and `extendBy` may help.",
  },
  Expired: {
    event: "Warning",
    help: "Its expiry has passed, and the operator never extends or recreates access that has ended: the message says what to do. False only where its renewal is requested.",
  },
  Revoked: {
    event: "Warning",
    help: "Deleted before its expiry; recreate it if that was a mistake, or take it off the list. False only where it is listed.",
  },
  WouldRenew: {
    event: "Warning",
    help: "Observe mode: it would be renewed now.",
  },
  BindingNotFound: {
    event: "Warning",
    help: "No such binding or workload (yet): check kind and name.",
  },
  TargetNotFound: { event: "Warning", help: "No workload matches the targets." },
  ExpiringSoon: { event: "Normal", help: "It will be renewed in time." },
  Current: { event: "Normal", help: "No action required." },
  NoBindings: {
    event: "Normal",
    help: "No binding with an expiry binds the targets' ServiceAccounts.",
  },
} as const satisfies Record<string, ReasonRule>;

/** One of the reasons. */
export type Reason = keyof typeof REASONS;
