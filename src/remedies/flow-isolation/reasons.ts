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
    help: "A throttle is over, but the operator cannot lift it; the message has the command.",
  },
  Throttled: {
    event: "Warning",
    help: "A runaway is throttled; check its logs before the release.",
  },
  ThrottleGivenUp: {
    event: "Warning",
    help: "Released after six relapses. Fix the client: a change of spec.flowIsolation, or a day below 80 % of the threshold, starts anew.",
  },
  Runaway: {
    event: "Warning",
    help: "At its threshold for `for`, but not throttled; the message says why.",
  },
  NameTaken: {
    event: "Warning",
    help: "An object of another owner has a needed name; the message names it.",
  },
  LevelRefused: {
    event: "Warning",
    help: "spec.flowIsolation.priorityLevel names a level that custom controllers must not use.",
  },
  LevelMissing: { event: "Warning", help: "`priorityLevel` does not exist." },
  Contested: {
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
    help: "More than 32 ServiceAccounts. Use several objects.",
  },
  WouldIsolate: {
    event: "Warning",
    help: "Observe mode: these would be written now.",
  },
  Provisioning: {
    event: "Normal",
    help: "FlowSchemas or levels are being written, or not taken up yet.",
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
    help: "A flood of requests is answered 401, and has no flow. Find the client ([runbook](../runbook-runaway.md)).",
  },
  Isolated: {
    event: "Normal",
    help: "No action required.",
  },
  NothingToDo: {
    event: "Normal",
    help: "Every workload of the targets has the skip annotation.",
  },
} as const satisfies Record<string, ReasonRule>;

/** One of the reasons. */
export type Reason = keyof typeof REASONS;

/** A finding with one of the reasons. */
export type Finding = AnyFinding<Reason>;
