import type { ReasonRule } from "../../core/remedy";
import type { Finding as AnyFinding } from "../kit/finding";

/** The reasons of FlowsIsolated, worst first. */
export const REASONS = {
  FlowControlUnavailable: {
    event: "Warning",
    help: "The API server does not serve `flowcontrol.apiserver.k8s.io/v1` (Kubernetes 1.29).",
  },
  ReleaseFailed: {
    event: "Warning",
    help: "A throttle is over, but the operator cannot lift it; the message says why, and has the command.",
  },
  Throttled: {
    event: "Warning",
    help: "A runaway is throttled; check its logs before the release.",
  },
  ThrottleGivenUp: {
    event: "Warning",
    help: "It relapsed after each of six throttles, and is released. Fix the client or raise the threshold: a change of spec.flowIsolation, or a day below 80 % of the threshold, starts anew.",
  },
  Runaway: {
    event: "Warning",
    help: "At its threshold for `for`, but not throttled: `onRunaway: Report`, Observe mode, a component of the cluster, the operator itself, or the quarantine level or its FlowSchemas are not in place. Or the write has failed for three minutes: the message says why.",
  },
  NameTaken: {
    event: "Warning",
    help: "An object of another owner has a needed name; the message names it.",
  },
  LevelRefused: {
    event: "Warning",
    help: "spec.flowIsolation.priorityLevel names a level that custom controllers must not use.",
  },
  LevelMissing: { event: "Warning", help: "`priorityLevel` does not exist, or is not for custom controllers." },
  FlowContested: {
    event: "Warning",
    help: "A FlowSchema or level was changed three times by others.",
  },
  FlowShadowed: {
    event: "Warning",
    help: "Another FlowSchema matches all requests first; name the ServiceAccount in one object only.",
  },
  Dangling: {
    event: "Warning",
    help: "The API server says that a FlowSchema's level does not exist.",
  },
  TooManyServiceAccounts: {
    event: "Warning",
    help: "The targets have more than 32 ServiceAccounts; the message names some that are not isolated. Use several objects.",
  },
  WouldIsolate: {
    event: "Warning",
    help: "Observe mode: these would be written now.",
  },
  Provisioning: {
    event: "Normal",
    help: "FlowSchemas or levels are being written, or the API server has not taken them up yet.",
  },
  TargetNotFound: { event: "Warning", help: "No such workload (yet); existing FlowSchemas are kept." },
  RateUnknown: {
    event: "Warning",
    help: "The API servers' counters or the pods cannot be read; the message says why.",
  },
  Elevated: {
    event: "Normal",
    help: "A ServiceAccount is at its threshold; no action yet.",
  },
  Probation: {
    event: "Normal",
    help: "It was released, and is being watched.",
  },
  Unauthenticated: {
    event: "Normal",
    help: "Isolated; but the API servers answer 401 to a flood of requests, which have no flow. Find the client ([runbook](../runbook-runaway.md)).",
  },
  Isolated: {
    event: "Normal",
    help: "No action required.",
  },
  NoServiceAccounts: {
    event: "Normal",
    help: "Every workload of the targets has the skip annotation.",
  },
} as const satisfies Record<string, ReasonRule>;

/** One of the reasons. */
export type Reason = keyof typeof REASONS;

/** A finding with one of the reasons. */
export type Finding = AnyFinding<Reason>;
