import type { ReasonRule } from "../../core/remedy";
import type { Finding as AnyFinding } from "../kit/finding";

/** The reasons of ControllersActive, worst first. */
export const REASONS = {
  RestartsExhausted: {
    event: "Warning",
    help: "Restarts did not help: find out why the Lease is not renewed, or the pod does nothing. More follow after a day, or a change of the spec.",
  },
  BreakerTripped: {
    event: "Warning",
    help: "No restart without proof until a person resets the breaker; the message has the command.",
  },
  LeaseNotRenewed: {
    event: "Warning",
    help: "A running pod holds a Lease and has stopped renewing it. Look at the pod, then delete it, or set `onStall: Restart`.",
  },
  ProgressStopped: {
    event: "Warning",
    help: "An object is due, and no object of its kind has moved since. Look at the pods and at the object that the message names.",
  },
  QueueStuck: {
    event: "Warning",
    help: "Items wait in the queue of the pod, and none is done: its workers are blocked. Look at its log, then delete the pod.",
  },
  WatchesDead: {
    event: "Warning",
    help: "The pod renews its Lease and has not opened a watch for 11 minutes: it sees no change. Delete the pod.",
  },
  AccessLost: {
    event: "Warning",
    help: "The pods have got 403 responses for some time. Restore the binding that the message names. [bindingRenewal](binding-renewal.md) prevents bindings from expiring.",
  },
  LeadershipLost: {
    event: "Warning",
    help: "A pod loses its Lease again and again. The message has the cause, if the log shows one: throttled, denied or unauthorized requests.",
  },
  Conflict: {
    event: "Warning",
    help: "Another object acts on the workload, as a rule the oldest; remove it from the targets of one of them.",
  },
  WouldRestart: { event: "Warning", help: "Observe mode: the pod would be restarted." },
  RestartBlocked: {
    event: "Warning",
    help: "The API server refuses the eviction for now, such as for a PodDisruptionBudget: add a replica, or delete the pod by hand.",
  },
  RestartDeferred: {
    event: "Normal",
    passes: true,
    help: "A limit delays the restart; the message says which.",
  },
  Restarting: {
    event: "None",
    help: "A pod was restarted; the operator is watching whether its successor works.",
  },
  TargetNotFound: { event: "Warning", help: "No such workload (yet): check kind and name." },
  Forbidden: {
    event: "Warning",
    help: "The operator lacks the right that the message names; it does nothing meanwhile.",
  },
  ObserveFailed: {
    event: "Warning",
    help: "A read failed; the message names the resource.",
  },
  WorkerStuck: {
    event: "Warning",
    help: "One worker of the pod has worked on one item for much longer than ever before, while others go on: a warning, and no stall. Look at the log of the pod.",
  },
  Active: { event: "Normal", help: "No evidence of a stall. The message names what the operator cannot tell." },
  NothingToDo: { event: "Normal", help: "No workload of the targets has a pod." },
} as const satisfies Record<string, ReasonRule>;

/** One of the reasons. */
export type Reason = keyof typeof REASONS;

/** A finding of this remedy. */
export type Finding = AnyFinding<Reason>;
