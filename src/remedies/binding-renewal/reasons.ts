import type { ReasonRule } from "../../core/remedy";

/** The reasons of BindingsCurrent, worst first. */
export const REASONS = {
  Renewing: { event: "Normal", help: "A renewal is due, and the write has failed so far." },
  TooManyBindings: {
    event: "Warning",
    help: "The status has no room for every binding. The operator does not renew bindings that are missing from status.bindings.",
  },
  RenewalForbidden: {
    event: "Warning",
    help: "The operator lacks a permission, most often `bind` on the role; the message contains the RBAC rule to add.",
  },
  MalformedExpiry: {
    event: "Warning",
    help: "An expiry cannot be parsed; the message names key and value. The operator does not renew the binding.",
  },
  RenewalContested: {
    event: "Warning",
    help: "Another client has reset an expiry that the operator had renewed. The operator stops renewing that binding.",
  },
  BindingRefused: {
    event: "Warning",
    help: "The operator does not renew a binding because of its other subjects or its owner reference.",
  },
  RenewalEnded: {
    event: "Warning",
    help: "renewUntil has passed, or does not allow an expiry later than the current one. The operator renews nothing.",
  },
  Expired: {
    event: "Warning",
    help: "A binding was deleted at or after its expiry and is not restored; the message contains the cause.",
  },
  Revoked: {
    event: "Warning",
    help: "A binding was deleted before its expiry, which is a revocation. The operator never recreates it.",
  },
  Restoring: {
    event: "Warning",
    help: "The operator is recreating an expired binding, and the write has not succeeded yet.",
  },
  WouldRenew: {
    event: "Warning",
    help: "Observe mode: in Enforce mode the operator would renew or restore a binding now.",
  },
  BindingNotFound: {
    event: "Warning",
    help: "spec.bindingRenewal.bindings lists a binding that does not exist and that the operator has never seen.",
  },
  TargetNotFound: { event: "Warning", help: "No workload matches the targets." },
  ExpiringSoon: { event: "Normal", help: "A binding expires within warnBefore; the operator will renew it in time." },
  Current: { event: "Normal", help: "No binding expires soon, or the expiring bindings are renewed." },
  NoBindings: {
    event: "Normal",
    help: "No binding with an expiry has a ServiceAccount of the targets as its subject.",
  },
} as const satisfies Record<string, ReasonRule>;

/** One of the reasons. */
export type Reason = keyof typeof REASONS;
