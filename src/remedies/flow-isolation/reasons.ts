import type { ReasonRule } from "../../core/remedy";
import type { Finding as AnyFinding } from "../kit/finding";

/** The reasons of FlowsIsolated, worst first. */
export const REASONS = {
  ReleaseFailed: {
    event: "Warning",
    help: "A throttle is over, but the operator cannot lift it; the message has the command.",
  },
  Throttled: {
    event: "Warning",
    help: "A runaway is throttled; check its logs before the release.",
  },
  Runaway: {
    event: "Warning",
    help: "At its threshold for `for`, but not throttled; the message says why. After six relapses fix the client: a change of `flowIsolation`, or a day below 80 % of the threshold, starts anew.",
  },
  LevelUnusable: {
    event: "Warning",
    help: "An object that is not the operator's has the name of a level: delete it. Or a FlowSchema's level is missing: the operator makes it again.",
  },
  FlowShadowed: {
    event: "Warning",
    help: "Another FlowSchema matches all requests first, or is made for a part of them: name the ServiceAccount in one object only, or change that FlowSchema as the message says. Or one that others made has the name of the operator's: delete it.",
  },
  TooMany: {
    event: "Warning",
    help: "More than 32 ServiceAccounts. Use several objects.",
  },
  WouldIsolate: {
    event: "Warning",
    help: "Observe mode: these would be written now.",
  },
  Progressing: {
    event: "Normal",
    help: "FlowSchemas or levels are being written, or not taken up yet.",
  },
  TargetNotFound: { event: "Warning", help: "No such workload (yet); existing FlowSchemas are kept." },
  ObserveFailed: {
    event: "Warning",
    help: "Runaways go undetected: the API servers' counters, pods or bindings cannot be read; the message says why.",
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
