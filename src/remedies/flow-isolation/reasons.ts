import type { ReasonRule } from "../../core/remedy";
import type { Finding as AnyFinding } from "../kit/finding";

/** The reasons of FlowsIsolated, worst first. */
export const REASONS = {
  FlowControlUnavailable: {
    event: "Warning",
    help: "The API server does not serve API Priority and Fairness v1, which requires Kubernetes 1.29.",
  },
  ScaledToZero: {
    event: "Warning",
    help: "A runaway is in the quarantine level, and its workloads are scaled to zero.",
  },
  Throttled: {
    event: "Warning",
    help: "A runaway is throttled: it is in the quarantine level; status.flows says until when.",
  },
  Runaway: {
    event: "Warning",
    help: "A ServiceAccount is a runaway, and the operator only reports it: onRunaway is Report, or mode is Observe.",
  },
  NameTaken: {
    event: "Warning",
    help: "An object that the operator did not create has the name that the operator needs. The operator does not change that object.",
  },
  LevelRefused: {
    event: "Warning",
    help: "spec.flowIsolation.priorityLevel names a level that custom controllers must not use.",
  },
  LevelMissing: { event: "Warning", help: "The level named by spec.flowIsolation.priorityLevel does not exist." },
  FlowContested: {
    event: "Warning",
    help: "Another field manager keeps changing a FlowSchema or priority level; the message names it. The operator stops changing it.",
  },
  FlowShadowed: {
    event: "Warning",
    help: "Another FlowSchema matches the requests of the ServiceAccount before the operator's FlowSchema does.",
  },
  Dangling: {
    event: "Warning",
    help: "The API server reports the condition Dangling: the priority level of a FlowSchema does not exist.",
  },
  WouldIsolate: {
    event: "Warning",
    help: "Observe mode: in Enforce mode the operator would write FlowSchemas or priority levels now.",
  },
  Provisioning: {
    event: "Normal",
    help: "The operator is writing FlowSchemas or priority levels, or the API server has not applied them yet.",
  },
  TargetNotFound: { event: "Warning", help: "No workload matches the targets." },
  RateUnknown: {
    event: "Warning",
    help: "The request counters of the API servers cannot be read, so runaways go undetected. The flows are still isolated.",
  },
  Elevated: {
    event: "Normal",
    help: "The request rate of a ServiceAccount is at or above the threshold, but not yet for long enough.",
  },
  Probation: {
    event: "Normal",
    help: "A throttled ServiceAccount was released, and the operator is watching its request rate.",
  },
  Isolated: {
    event: "Normal",
    help: "Each ServiceAccount of the targets has its own flow, and no request rate is near the threshold.",
  },
  NoServiceAccounts: {
    event: "Normal",
    help: "Every workload of the targets has the skip annotation, so no ServiceAccount remains.",
  },
} as const satisfies Record<string, ReasonRule>;

/** One of the reasons. */
export type Reason = keyof typeof REASONS;

/** A finding with one of the reasons. */
export type Finding = AnyFinding<Reason>;
