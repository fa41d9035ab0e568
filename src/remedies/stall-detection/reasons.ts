import type { ReasonRule } from "../../core/remedy";
import { RESTART_REASONS, WORST_RESTART_REASONS } from "../../restarts/claims";
import type { RestartFinding } from "../kit/restarting";

/** The reasons of ControllersActive, worst first. */
export const REASONS = {
  ...WORST_RESTART_REASONS,
  LeaseNotRenewed: {
    event: "Warning",
    help: "A running pod stopped renewing its Lease, or released it and none takes it: look at it, then delete it.",
  },
  ProgressStopped: {
    event: "Warning",
    help: "The object in the message is due, and none of its kind has moved since: look at it and at the pods' logs. If it is fine, correct `due` or `selector`; if not, delete the pod.",
  },
  QueueStuck: {
    event: "Warning",
    help: "Items wait for the pod's workers or occupy all, and none is done: look at its log, then delete the pod.",
  },
  WatchesDead: {
    event: "Warning",
    help: "The pod renews its Lease, but sees no change: delete the pod.",
  },
  AccessLost: {
    event: "Warning",
    help: "The pods get 403s: restore the binding in the message ([bindingRenewal](binding-renewal.md)).",
  },
  LeadershipLost: {
    event: "Warning",
    help: "A pod loses its Lease again and again. The message has the cause, if the log shows one.",
  },
  ...RESTART_REASONS,
  ObserveFailed: {
    event: "Warning",
    help: "A read failed or still runs; the message names the resource.",
  },
  WorkerStuck: {
    event: "Warning",
    help: "No stall: one worker is on one item for long, while others go on. Look at the pod's log.",
  },
  Active: { event: "Normal", help: "No evidence of a stall. The message names what the operator cannot tell." },
  NothingToDo: { event: "Normal", help: "No workload of the targets has a pod." },
} as const satisfies Record<string, ReasonRule>;

/** One of the reasons. */
export type Reason = keyof typeof REASONS;

/** A finding of this remedy. */
export type Finding = RestartFinding<Reason>;
