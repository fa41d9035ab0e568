import type { ReasonRule } from "../../core/remedy";

/** The reasons of TokenLifetimeBounded, worst first. */
export const REASONS = {
  Forbidden: {
    event: "Warning",
    help: "The message names the missing right; the chart grants it with `tokenLifetime.enabled`.",
  },
  Reverted: {
    event: "Warning",
    help: "The template is restored, and the change not retried for it: pods got 401s with the shorter token (update their client), or the trial gave no proof.",
  },
  Contested: {
    event: "Warning",
    help: "Others took it back: write the seconds into Git, or [let it ignore the field](../gitops.md#fields-that-both-write), then change the block, such as `expirationSeconds` to 601, as a new request.",
  },
  RolloutStuck: {
    event: "Warning",
    help: "For ten minutes no pod became Ready: `kubectl describe` the DaemonSet, and its pods that are not.",
  },
  Unsupported: {
    event: "Warning",
    help: "It cannot be changed safely; the message says why, and what to do.",
  },
  WouldChange: {
    event: "Warning",
    help: "Observe mode: it would be changed now.",
  },
  Rolling: {
    event: "Normal",
    help: "It is being changed: on one node first, then on all.",
  },
  WaitingForWindow: {
    event: "Normal",
    help: "It changes in the next window. Stalled if one never opens.",
  },
  Waiting: {
    event: "Normal",
    passes: true,
    help: "Not now; the message says why, such as a PodDisruptionBudget or a limit of the operator. Stalled after an hour, except without pods.",
  },
  TargetNotFound: { event: "Warning", help: "No such DaemonSet (yet)." },
  Bounded: { event: "Normal", help: "No action required." },
  NothingToDo: {
    event: "Normal",
    help: "No DaemonSet is among the targets, or it is left alone: by the skip annotation, `defaultToken: Leave`, or without a token.",
  },
} as const satisfies Record<string, ReasonRule>;

export type Reason = keyof typeof REASONS;
