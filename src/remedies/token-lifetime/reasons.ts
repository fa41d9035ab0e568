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
  FieldContested: {
    event: "Warning",
    help: "Others reverted it twice: use `via: Admission`, or see above. For a policy: others change or delete it.",
  },
  NameTaken: {
    event: "Warning",
    help: "A policy or binding of that name is not the operator's, by its labels: find its owner.",
  },
  AdmissionUnavailable: {
    event: "Warning",
    help: "This API server lacks MutatingAdmissionPolicy in `admissionregistration.k8s.io/v1` (Kubernetes 1.36): use `via: Template`.",
  },
  TooManyDaemonSets: {
    event: "Warning",
    help: "With `via: Admission` an object bounds at most 32 DaemonSets; the message names one that is left. Use several objects.",
  },
  AdmissionIneffective: {
    event: "Warning",
    help: "A pod younger than the policy has a longer token: turn on the admission plugin `MutatingAdmissionPolicy` at every API server, then delete that pod.",
  },
  RolloutStuck: {
    event: "Warning",
    help: "For ten minutes no pod was replaced or became Ready: see `kubectl rollout status`. Other DaemonSets of the object wait.",
  },
  TrialUnproven: {
    event: "Warning",
    help: "The first pod with the shorter token gave no proof in time; the message says what is missing. `via: Template` restored the template, `via: Admission` replaces no more pods. For a CNI agent `allowNodeAgents: true` skips the proof.",
  },
  OwnedByController: {
    event: "Warning",
    help: "A controller, such as an operator, owns the DaemonSet and would revert a template: use its own setting or `via: Admission`.",
  },
  OnDeleteStrategy: {
    event: "Warning",
    help: "A changed template would replace no pod: use `via: Admission`, change `updateStrategy`, or shorten the token yourself.",
  },
  TooManyAtOnce: {
    event: "Warning",
    help: "A rolling update would replace more than one pod and more than 10 % of them at once: lower `maxUnavailable` or `maxSurge`.",
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
    help: "The API server refused the eviction for now, such as for a PodDisruptionBudget; the operator retries.",
  },
  RestartDeferred: {
    event: "Normal",
    passes: true,
    help: "A limit of the operator delays the eviction or the change: cooldown, restart pace, leader warm-up, another object's restart or rollout. The message says which.",
  },
  Rolling: { event: "Normal", help: "The template was changed; the DaemonSet controller is replacing the pods." },
  Replacing: {
    event: "Normal",
    help: "Pods with a longer token are replaced one by one; the message says what the next one waits for.",
  },
  Planned: {
    event: "Normal",
    help: "It is being changed; a policy is not yet in effect.",
  },
  WaitingForWindow: {
    event: "Normal",
    help: "It changes in the next [maintenance window](../maintenance-windows.md).",
  },
  Waiting: {
    event: "Normal",
    help: "Not the moment for a change: a rollout, 401s, unreadable logs, no ServiceAccount, or another object has it; the message says which. Stalled after an hour.",
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
