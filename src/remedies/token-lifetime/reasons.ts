import type { ReasonRule } from "../../core/remedy";

/** The reasons of TokenLifetimeBounded, worst first. */
export const REASONS = {
  Reverting: {
    event: "Warning",
    help: "Pods were answered 401 with the shorter token: their client does not reread it. Update it.",
  },
  Reverted: {
    event: "Warning",
    help: "The operator has reverted the change, and does not retry it for that template.",
  },
  Contested: {
    event: "Warning",
    help: "Others reverted it twice: [remove the field from Git](../gitops.md#fields-that-both-write).",
  },
  RolloutStuck: {
    event: "Warning",
    help: "For ten minutes no pod became Ready: see `kubectl rollout status`. Others wait.",
  },
  TrialUnproven: {
    event: "Warning",
    help: "The trial gave no proof in time; the message says what is missing. The template was restored.",
  },
  OwnedByController: {
    event: "Warning",
    help: "A controller owns the DaemonSet and would revert a template: use its own setting.",
  },
  OnDeleteStrategy: {
    event: "Warning",
    help: "A changed template would replace no pod: change `updateStrategy`, or shorten the token yourself.",
  },
  TooManyAtOnce: {
    event: "Warning",
    help: "More than one pod and more than 10 % would be replaced at once: lower `maxUnavailable` or `maxSurge`.",
  },
  OwnMount: {
    event: "Warning",
    help: "Something else, such as a Secret, is mounted in the token's place.",
  },
  WindowsNodes: { event: "Warning", help: "File modes differ there; nothing is changed." },
  WouldChange: {
    event: "Warning",
    help: "Observe mode: it would be changed now.",
  },
  RestartBlocked: {
    event: "Warning",
    help: "The eviction was refused for now, such as for a PodDisruptionBudget.",
  },
  RestartDeferred: {
    event: "Normal",
    passes: true,
    help: "A limit of the operator delays the eviction or the change; the message says which.",
  },
  Rolling: {
    event: "Normal",
    help: "The DaemonSet controller is replacing the pods.",
  },
  Replacing: {
    event: "Normal",
    help: "The trial lasts; the message says what it waits for.",
  },
  Planned: {
    event: "Normal",
    help: "It is being changed.",
  },
  WaitingForWindow: {
    event: "Normal",
    help: "It changes in the next window. Stalled if one never opens.",
  },
  Waiting: {
    event: "Normal",
    help: "Not the moment for a change; the message says why. Stalled after an hour, except without pods.",
  },
  TargetNotFound: { event: "Warning", help: "No such DaemonSet (yet)." },
  DefaultTokenLeft: { event: "Normal", help: "As requested by `defaultToken: Leave`." },
  AutomountOff: { event: "Normal", help: "No token is mounted." },
  LeftAlone: {
    event: "Normal",
    help: "The skip annotation is set.",
  },
  Bounded: { event: "Normal", help: "No action required." },
  NoDaemonSets: { event: "Normal", help: "No DaemonSet is among the targets." },
} as const satisfies Record<string, ReasonRule>;

export type Reason = keyof typeof REASONS;
