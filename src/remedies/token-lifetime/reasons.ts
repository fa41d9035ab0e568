import type { ReasonRule } from "../../core/remedy";

/** The reasons of TokenLifetimeBounded, worst first. */
export const REASONS = {
  Reverting: {
    event: "Warning",
    help: "Pods with the shorter token get 401 responses. The operator is reverting the change.",
  },
  Reverted: {
    event: "Warning",
    help: "The operator has reverted the change, and does not retry it for that template.",
  },
  FieldContested: {
    event: "Warning",
    help: "Another field manager keeps reverting the change; the message names it. The operator stops changing the field.",
  },
  NameTaken: {
    event: "Warning",
    help: "An object that the operator did not create has the name that the operator needs. The operator does not change that object.",
  },
  AdmissionUnavailable: {
    event: "Warning",
    help: "The API server does not serve MutatingAdmissionPolicy v1, which requires Kubernetes 1.36.",
  },
  AdmissionIneffective: {
    event: "Warning",
    help: "The admission policy exists, but a new pod still has a longer token. The operator replaces no more pods.",
  },
  RolloutStuck: { event: "Warning", help: "The replacement of the pods makes no progress." },
  OnDeleteStrategy: {
    event: "Warning",
    help: "updateStrategy is OnDelete, so a template change would replace no pod.",
  },
  OwnMount: {
    event: "Warning",
    help: "The containers mount something other than a projected token at the path of the token.",
  },
  WindowsNodes: { event: "Warning", help: "The pods run on Windows nodes." },
  WouldChange: {
    event: "Warning",
    help: "Observe mode: in Enforce mode the operator would change a template, create an admission policy or replace a pod now.",
  },
  RestartBlocked: { event: "Warning", help: "A PodDisruptionBudget does not allow the eviction at present." },
  RestartDeferred: { event: "Warning", help: "A restart budget or the operator's restart pace delays the eviction." },
  Rolling: { event: "Normal", help: "The template was changed; the DaemonSet controller is replacing the pods." },
  Replacing: {
    event: "Normal",
    help: "The admission policy is in effect; the operator is replacing pods with a longer token one by one.",
  },
  Planned: {
    event: "Normal",
    help: "The operator has recorded a template change, which it makes next; or it is about to create the admission policy, or the policy is not in effect yet.",
  },
  Waiting: { event: "Normal", help: "The operator is waiting with a change; the message says why." },
  TargetNotFound: { event: "Warning", help: "No workload matches the targets." },
  DefaultTokenLeft: { event: "Normal", help: "defaultToken is Leave, so the default token keeps its lifetime." },
  AutomountOff: { event: "Normal", help: "automountServiceAccountToken is false, so the pods get no token." },
  LeftAlone: {
    event: "Normal",
    help: "The skip annotation is set, so tokens may live longer than expirationSeconds.",
  },
  Bounded: { event: "Normal", help: "No token of a target DaemonSet lives longer than expirationSeconds." },
  NoDaemonSets: { event: "Normal", help: "The targets contain no DaemonSet." },
} as const satisfies Record<string, ReasonRule>;

export type Reason = keyof typeof REASONS;
