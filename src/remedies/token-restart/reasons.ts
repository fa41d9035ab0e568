import type { ReasonRule } from "../../core/remedy";

/** The reasons of TokensAccepted, worst first. */
export const REASONS = {
  RestartsExhausted: {
    event: "Warning",
    help: "Restarts do not help: find what rejects the tokens, then change the spec.",
  },
  ServiceAccountMissing: {
    event: "Warning",
    help: "Create the ServiceAccount. Not reported for pods that mount no token or have the skip annotation; the Events of their owner show that no new pod can be created.",
  },
  BreakerTripped: {
    event: "Warning",
    help: "Two restarts without proof within an hour did not help: no such restart in the whole cluster until a person resets the breaker with the command in the message.",
  },
  Rejected: {
    event: "Warning",
    help: "Being healed, unless the message says otherwise: the skip annotation is set; the pod mounts no token that a restart renews (check its other credentials); a restart would upgrade a pod of an `OnDelete` workload; or a person must decide between two CNI agents.",
  },
  Conflict: {
    event: "Warning",
    help: "An older object, which the message names, acts on the pods of the workload, so this one does not. Remove the workload from the targets of one of them.",
  },
  WouldRestart: { event: "Warning", help: "Observe mode: it would be restarted." },
  RestartBlocked: {
    event: "Warning",
    help: "The API server refused for now, such as for a PodDisruptionBudget; the message has the time of the next try.",
  },
  RestartDeferred: {
    event: "Normal",
    passes: true,
    help: "Cooldown, `maxUnavailable`, a rollout in progress, the restart pace, leader warm-up, or the open outcome of another restart without proof; the message says which.",
  },
  Restarting: { event: "None", help: "A pod was restarted; the operator is watching its successor." },
  TargetNotFound: { event: "Warning", help: "No such workload (yet): check kind and name." },
  Forbidden: {
    event: "Warning",
    help: "The operator could not read something that the message names, has not read the logs yet, or found no container named in `containers`; it does nothing meanwhile.",
  },
  ObserveFailed: {
    event: "Warning",
    help: "A read failed; the message names the resource. The remedy does nothing until the read succeeds.",
  },
  Suspected: { event: "None", help: "Some 401s; wait a minute." },
  Accepted: { event: "Normal", help: "No action required." },
  NoPods: { event: "Normal", help: "No workload of the targets has a pod." },
} as const satisfies Record<string, ReasonRule>;

/** One of the reasons. */
export type Reason = keyof typeof REASONS;
