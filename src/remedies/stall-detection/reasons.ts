import type { ReasonRule } from "../../core/remedy";
import type { Finding as AnyFinding } from "../kit/finding";

/** The reasons of ControllersActive, worst first. */
export const REASONS = {
  RestartsExhausted: {
    event: "Warning",
    help: "As many restarts in a row as `maxRestarts` within a day did not help. Find out why the Lease is not renewed; a day later the operator tries again.",
  },
  BreakerTripped: {
    event: "Warning",
    help: "Two restarts without proof within an hour did not help: no such restart in the whole cluster until a person resets the [breaker](../reliability.md#the-restart-breaker).",
  },
  LeaseNotRenewed: {
    event: "Warning",
    help: "A running pod holds a Lease and has stopped renewing it. Look at the pod, then delete it, or set `onStall: Restart`. The message says why the operator does not restart it.",
  },
  AccessLost: {
    event: "Warning",
    help: "Since some time the pods get 403 responses. The message names the denied request and the binding that went. Restore it; a restart cannot help. [bindingRenewal](binding-renewal.md) prevents bindings from expiring.",
  },
  LeadershipLost: {
    event: "Warning",
    help: "A pod loses its Lease again and again. The message says what its log shows as the cause: throttled, denied or unauthorized requests, or none of these, such as a slow API server.",
  },
  Conflict: {
    event: "Warning",
    help: "An older object, which the message names, acts on the pods of the workload, so this one does not. Remove the workload from the targets of one of them.",
  },
  WouldRestart: { event: "Warning", help: "Observe mode: the pod would be restarted." },
  RestartBlocked: {
    event: "Warning",
    help: "The API server refused for now, such as for a PodDisruptionBudget. The operator tries again.",
  },
  RestartDeferred: {
    event: "Normal",
    passes: true,
    help: "Cooldown, `maxUnavailable`, a rollout in progress, the restart pace, leader warm-up, 429 responses to the pod, or the open outcome of another restart without proof; the message says which.",
  },
  Restarting: {
    event: "None",
    help: "A pod was restarted; the operator is watching whether its successor renews a Lease.",
  },
  TargetNotFound: { event: "Warning", help: "No such workload (yet): check kind and name." },
  Forbidden: {
    event: "Warning",
    help: "The operator may not read something that the message names, or may not evict pods.",
  },
  ObserveFailed: {
    event: "Warning",
    help: "A read failed; the message names the resource. Time in which the operator cannot read Leases, or only slowly, does not count.",
  },
  Active: { event: "Normal", help: "No evidence of a stall. The message names what the operator cannot tell." },
  NoPods: { event: "Normal", help: "No workload of the targets has a pod." },
} as const satisfies Record<string, ReasonRule>;

/** One of the reasons. */
export type Reason = keyof typeof REASONS;

/** A finding of this remedy. */
export type Finding = AnyFinding<Reason>;
