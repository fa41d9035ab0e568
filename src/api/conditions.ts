// Condition types and reasons are API: programs compare them, so a new name is a breaking change.

/** Condition types that the operator writes. The types of remedies have positive polarity: True is good. */
export const ConditionType = {
  /** Every active remedy reports True. */
  Ready: "Ready",
  /** tokenRestart: no pod of a target persistently gets 401 responses. */
  TokensAccepted: "TokensAccepted",
  /** bindingRenewal: every binding that expires will be renewed in time. */
  BindingsCurrent: "BindingsCurrent",
  /** tokenLifetime: no token of a target DaemonSet lives longer than expirationSeconds. */
  TokenLifetimeBounded: "TokenLifetimeBounded",
  /** flowIsolation: each ServiceAccount has its own flow, and no ServiceAccount is a runaway. */
  FlowsIsolated: "FlowsIsolated",
  /** kstatus, negative polarity: the operator is writing, or watching the result of a write. */
  Reconciling: "Reconciling",
  /** kstatus, negative polarity: the operator cannot continue until a person acts; the message says what to do. */
  Stalled: "Stalled",
} as const;

/** A condition type that the operator writes. */
export type ConditionType = (typeof ConditionType)[keyof typeof ConditionType];

/** Condition reasons that the operator writes. Each is short enough for a column of `kubectl get cres`. */
export const Reason = {
  // Any remedy.
  /** Ready: every active remedy reports True. */
  AllHold: "AllHold",
  /** Ready: the spec activates no remedy. */
  NoRemedies: "NoRemedies",
  /** spec.suspend is true. */
  Suspended: "Suspended",
  /** This version of the operator does not implement the remedy. */
  NotImplemented: "NotImplemented",
  /** A read failed; the message names the resource. The remedy does nothing until the read succeeds. */
  ObserveFailed: "ObserveFailed",
  /** The remedy threw an error while it decided, which is a bug. The remedy does nothing. */
  DecideFailed: "DecideFailed",
  /** The operator lacks a permission; the message names verb and resource. */
  Forbidden: "Forbidden",
  /** An object that the operator did not create has the name that the operator needs. The operator does not change that object. */
  NameTaken: "NameTaken",
  /** Reconciling: the operator is writing, or watching the result of a write. */
  Progressing: "Progressing",
  /** The object is being deleted, or a remedy block was removed. The operator is removing what it made for it outside of its namespace. */
  CleaningUp: "CleaningUp",
  /** Stalled and Reconciling are False with this reason: the normal state. */
  Idle: "Idle",

  // TokensAccepted.
  /** No pod persistently gets 401 responses. */
  Accepted: "Accepted",
  /** No workload matches the targets. */
  TargetNotFound: "TargetNotFound",
  /** The workloads have no running pods. */
  NoPods: "NoPods",
  /** A pod gets 401 responses, but not yet persistently. */
  Suspected: "Suspected",
  /**
   * A pod persistently gets 401 responses. The operator restarts it next, unless the message gives a reason not to. With Stalled a person
   * must find out which client gets the 401s.
   */
  Rejected: "Rejected",
  /** Observe mode: in Enforce mode the operator would restart a pod now. */
  WouldRestart: "WouldRestart",
  /** A pod was restarted; the operator is watching its successor. */
  Restarting: "Restarting",
  /** A PodDisruptionBudget does not allow the eviction at present. */
  RestartBlocked: "RestartBlocked",
  /** Cooldown, maxUnavailable or the operator's restart pace defers the restart; the message says until when. */
  RestartDeferred: "RestartDeferred",
  /** maxRestarts is used up; a person must act. */
  RestartsExhausted: "RestartsExhausted",
  /** The ServiceAccount does not exist, so a restart cannot help. */
  ServiceAccountMissing: "ServiceAccountMissing",
  /** extraPatterns contains an invalid pattern; the message names its index. */
  InvalidPattern: "InvalidPattern",

  // BindingsCurrent.
  /** No binding expires soon, or the expiring bindings are renewed. */
  Current: "Current",
  /** No binding with an expiry has a ServiceAccount of the targets as its subject. */
  NoBindings: "NoBindings",
  /** A binding expires within warnBefore; the operator will renew it in time. */
  ExpiringSoon: "ExpiringSoon",
  /** A renewal is due, and the write has not succeeded yet. */
  Renewing: "Renewing",
  /** The operator is recreating an expired binding, and the write has not succeeded yet. */
  Restoring: "Restoring",
  /** Observe mode: in Enforce mode the operator would renew or restore a binding now. */
  WouldRenew: "WouldRenew",
  /** The operator lacks a permission, most often `bind` on the role; the message contains the RBAC rule to add. */
  RenewalForbidden: "RenewalForbidden",
  /** An expiry cannot be parsed; the message names key and value. The operator does not renew the binding. */
  MalformedExpiry: "MalformedExpiry",
  /** The status has no room for every binding. The operator does not renew bindings that are missing from status.bindings. */
  TooManyBindings: "TooManyBindings",
  /** The operator does not renew a binding because of its other subjects or its owner reference. */
  BindingRefused: "BindingRefused",
  /** spec.bindingRenewal.bindings lists a binding that does not exist and that the operator has never seen. */
  BindingNotFound: "BindingNotFound",
  /** A binding was deleted before its expiry, which is a revocation. The operator never recreates it. */
  Revoked: "Revoked",
  /** A binding was deleted at or after its expiry, and restoreExpired is false. */
  Expired: "Expired",
  /** Another client has reset an expiry that the operator had renewed. The operator stops renewing that binding. */
  RenewalContested: "RenewalContested",
  /** renewUntil has passed, or does not allow an expiry later than the current one. The operator renews nothing. */
  RenewalEnded: "RenewalEnded",

  // TokenLifetimeBounded.
  /** No token of a target DaemonSet lives longer than expirationSeconds. */
  Bounded: "Bounded",
  /** The targets contain no DaemonSet. */
  NoDaemonSets: "NoDaemonSets",
  /**
   * The operator has recorded a template change, which it makes next; or it is about to create the admission policy, or the policy is not in
   * effect yet.
   */
  Planned: "Planned",
  /** The operator is waiting with a change; the message says why. */
  Waiting: "Waiting",
  /** Observe mode: in Enforce mode the operator would change a template, create an admission policy or replace a pod now. */
  WouldChange: "WouldChange",
  /** The template was changed; the DaemonSet controller is replacing the pods. */
  Rolling: "Rolling",
  /** The admission policy is in effect; the operator is replacing pods with a longer token one by one. */
  Replacing: "Replacing",
  /** The replacement of the pods makes no progress. */
  RolloutStuck: "RolloutStuck",
  /** The API server does not serve MutatingAdmissionPolicy v1, which requires Kubernetes 1.36. */
  AdmissionUnavailable: "AdmissionUnavailable",
  /** The admission policy exists, but a new pod still has a longer token. The operator replaces no more pods. */
  AdmissionIneffective: "AdmissionIneffective",
  /** Pods with the shorter token get 401 responses. The operator is reverting the change. */
  Reverting: "Reverting",
  /** The operator has reverted the change, and does not retry it for that template. */
  Reverted: "Reverted",
  /** Another field manager keeps reverting the change; the message names it. The operator stops changing the field. */
  FieldContested: "FieldContested",
  /** updateStrategy is OnDelete, so a template change would replace no pod. */
  OnDeleteStrategy: "OnDeleteStrategy",
  /** automountServiceAccountToken is false, so the pods get no token. */
  AutomountOff: "AutomountOff",
  /** The containers mount something other than a projected token at the path of the token. */
  OwnMount: "OwnMount",
  /** The pods run on Windows nodes. */
  WindowsNodes: "WindowsNodes",
  /** The skip annotation is set, so tokens may live longer than expirationSeconds. */
  LeftAlone: "LeftAlone",
  /** defaultToken is Leave, so the default token keeps its lifetime. */
  DefaultTokenLeft: "DefaultTokenLeft",

  // FlowsIsolated.
  /** Each ServiceAccount of the targets has its own flow, and no request rate is near the threshold. */
  Isolated: "Isolated",
  /** Every workload of the targets has the skip annotation, so no ServiceAccount remains. */
  NoServiceAccounts: "NoServiceAccounts",
  /** The operator is writing FlowSchemas or priority levels, or the API server has not applied them yet. */
  Provisioning: "Provisioning",
  /** Observe mode: in Enforce mode the operator would write FlowSchemas or priority levels now. */
  WouldIsolate: "WouldIsolate",
  /** The request rate of a ServiceAccount is at or above the threshold, but not yet for long enough. */
  Elevated: "Elevated",
  /** A ServiceAccount is a runaway, and the operator only reports it: onRunaway is Report, or mode is Observe. */
  Runaway: "Runaway",
  /** A runaway is throttled: it is in the quarantine level; status.flows says until when. */
  Throttled: "Throttled",
  /** A runaway is in the quarantine level, and its workloads are scaled to zero. */
  ScaledToZero: "ScaledToZero",
  /** A throttled ServiceAccount was released, and the operator is watching its request rate. */
  Probation: "Probation",
  /** The request counters of the API servers cannot be read, so runaways go undetected. The flows are still isolated. */
  RateUnknown: "RateUnknown",
  /** Another field manager keeps changing a FlowSchema or priority level; the message names it. The operator stops changing it. */
  FlowContested: "FlowContested",
  /** Another FlowSchema matches the requests of the ServiceAccount before the operator's FlowSchema does. */
  FlowShadowed: "FlowShadowed",
  /** The level named by spec.flowIsolation.priorityLevel does not exist. */
  LevelMissing: "LevelMissing",
  /** spec.flowIsolation.priorityLevel names a level that custom controllers must not use. */
  LevelRefused: "LevelRefused",
  /** The API server reports the condition Dangling: the priority level of a FlowSchema does not exist. */
  Dangling: "Dangling",
  /** The API server does not serve API Priority and Fairness v1, which requires Kubernetes 1.29. */
  FlowControlUnavailable: "FlowControlUnavailable",
} as const;

/** A condition reason that the operator writes. */
export type Reason = (typeof Reason)[keyof typeof Reason];

/**
 * Reasons of work that continues without a person. The Event of a condition is Normal if the condition is True or has one of these
 * reasons. Otherwise it is a Warning, which a person should look at.
 */
export const PROGRESS: ReadonlySet<string> = new Set<Reason>([
  Reason.Suspended,
  Reason.Restarting,
  Reason.Planned,
  Reason.Waiting,
  Reason.Rolling,
  Reason.Replacing,
  Reason.Provisioning,
]);

/** Why a pod is restarted. Causes appear in status, Events and metrics; log text never does. */
export const Cause = {
  /** The pod is older than its ServiceAccount, so its token names a deleted ServiceAccount. This needs no evidence from logs. */
  ServiceAccountRecreated: "ServiceAccountRecreated",
  /** The ServiceAccount does not exist, so a restart cannot help. */
  ServiceAccountMissing: "ServiceAccountMissing",
  /** Several workloads with different ServiceAccounts began to get 401 responses at the same time. */
  SigningKeyRotated: "SigningKeyRotated",
  /** New pods cannot start on the node of the pod, because the credential that a CNI agent wrote there gets 401 responses. */
  CniCredentialRejected: "CniCredentialRejected",
  /** The token of the pod lives longer than tokenLifetime allows, and the pod is replaced to get a shorter one. No 401 is involved. */
  TokenTooLong: "TokenTooLong",
  /** The pod persistently gets 401 responses, and the cause is not known. */
  Unknown: "Unknown",
} as const;

/** One of the causes. */
export type Cause = (typeof Cause)[keyof typeof Cause];
