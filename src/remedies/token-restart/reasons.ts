import type { ReasonRule } from "../../core/remedy";

/** The reasons of TokensAccepted, worst first. */
export const REASONS = {
  InvalidPattern: { event: "Warning", help: "extraPatterns contains an invalid pattern; the message names its index." },
  RestartsExhausted: { event: "Warning", help: "maxRestarts is used up; a person must act." },
  ServiceAccountMissing: { event: "Warning", help: "The ServiceAccount does not exist, so a restart cannot help." },
  Rejected: {
    event: "Warning",
    help: "A pod persistently gets 401 responses. The operator restarts it next, unless the message gives a reason not to. With Stalled a person must find out which client gets the 401s.",
  },
  WouldRestart: { event: "Warning", help: "Observe mode: in Enforce mode the operator would restart a pod now." },
  RestartBlocked: { event: "Warning", help: "A PodDisruptionBudget does not allow the eviction at present." },
  RestartDeferred: {
    event: "Warning",
    help: "Cooldown, maxUnavailable or the operator's restart pace defers the restart; the message says until when.",
  },
  Restarting: { event: "Normal", help: "A pod was restarted; the operator is watching its successor." },
  TargetNotFound: { event: "Warning", help: "No workload matches the targets." },
  Forbidden: { event: "Warning", help: "The operator lacks a permission; the message names verb and resource." },
  ObserveFailed: {
    event: "Warning",
    help: "A read failed; the message names the resource. The remedy does nothing until the read succeeds.",
  },
  Suspected: { event: "Normal", help: "A pod gets 401 responses, but not yet persistently." },
  NoPods: { event: "Normal", help: "The workloads have no running pods." },
  Accepted: { event: "Normal", help: "No pod persistently gets 401 responses." },
} as const satisfies Record<string, ReasonRule>;

/** One of the reasons. */
export type Reason = keyof typeof REASONS;
