import type { ReasonRule } from "../../core/remedy";

/** The reasons of BindingsCurrent, worst first. */
export const REASONS = {
  Renewing: {
    event: "Normal",
    help: "The write comes next, or has failed and is retried. False if it fails for an hour (of a short-lived binding for less): the message says why; mend that, or renew the binding by hand.",
  },
  TooManyBindings: {
    event: "Warning",
    help: "Status has room for about 600 bindings of usual size, and the others are left alone (bindings with the skip annotation do not count). Spread the targets over several objects, or list the important bindings in `bindings`.",
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
    help: "Another writer moved the expiry to an earlier time: a person who revokes access, or a GitOps tool that reverts a renewal. The message says how to resume.",
  },
  ServiceAccountChanged: {
    event: "Warning",
    help: "A target runs as another ServiceAccount than when `targets` or this block last changed, and its bindings are not renewed. If that is intended, change this block, or list the bindings. False only if a binding of it expires.",
  },
  BindingRefused: {
    event: "Warning",
    help: "Give the targets' ServiceAccounts a separate binding, or a narrower role, or extend the owner, as the message says.",
  },
  RenewalEnded: {
    event: "Warning",
    help: "`renewUntil` has passed or leaves no room: review the access, then set a later date. Or no later time can be written: the message says so, and `extendBy` may help.",
  },
  Expired: {
    event: "Warning",
    help: "Gone at or after its expiry. The operator never recreates access: the message says how to create the binding again. Or take it off the list. False only where it is listed.",
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
