import type { StallStatus } from "../../api/controller-resilience";
import type { ReasonRule } from "../../core/remedy";
import { toSeconds } from "../../core/time";
import { RESTART_REASONS, WORST_RESTART_REASONS } from "../../restarts/claims";
import type { RestartFinding } from "../kit/restarting";
import type { Scope } from "./observed";

/** The reasons of ControllersActive, worst first. */
export const REASONS = {
  ...WORST_RESTART_REASONS,
  LeaseNotRenewed: {
    event: "Warning",
    help: "A running pod stopped renewing its Lease, or released it and none takes it: look at it, then delete it, unless a restart cannot help.",
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

/** What the evidence shows of a workload. */
export interface Sign extends Finding {
  /** In status. Absent: it accuses nobody. */
  readonly entry?: StallStatus;
}

/** The evidence by what is said of it. */
const EVIDENCE = {
  LeaseNotRenewed: "Lease",
  AccessLost: "Forbidden",
  ProgressStopped: "Progress",
  QueueStuck: "Metrics",
  WatchesDead: "Metrics",
  LeadershipLost: "LeaderLoss",
} as const satisfies Partial<Record<Finding["reason"], StallStatus["evidence"]>>;

/** What two entries about the same have in common. */
const IDENTITY = ["evidence", "workload", "podUID", "lease", "denied", "object"] as const;

/** Says that a workload is stalled. Its entry keeps the time at which it was first found. */
export function accuse(
  reason: keyof typeof EVIDENCE,
  of: Omit<StallStatus, "workload" | "evidence" | "since">,
  sentence: string,
  { id, observed, now }: Scope,
): Sign {
  const entry: StallStatus = { workload: id, evidence: EVIDENCE[reason], since: toSeconds(now), ...of };
  const before = observed.previous.find(one => IDENTITY.every(field => one[field] === entry[field]));
  const since = before?.since ?? entry.since;
  return { status: "False", reason, sentence, isStalled: true, entry: { ...entry, since } };
}

/** Says what proves nothing, or what the operator cannot tell. */
export function note(sentence: string): Sign {
  return { status: "True", reason: "Active", sentence, isNotable: true };
}
