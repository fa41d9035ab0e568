// Condition types and reasons are API: programs compare them, so renaming one is a breaking change.

/** Every condition type that the operator writes. Those of remedies are positive: True is good. */
export const ConditionType = {
  /** Every remedy that is on holds. */
  Ready: "Ready",
  /** tokenRestart: no pod of a target is persistently answered 401. */
  TokensAccepted: "TokensAccepted",
  /** bindingRenewal: no binding expires unattended. */
  BindingsCurrent: "BindingsCurrent",
  /** tokenLifetime: the DaemonSets' tokens live no longer than asked for. */
  TokenLifetimeBounded: "TokenLifetimeBounded",
  /** flowIsolation: each ServiceAccount has its own flow, and none is a runaway. */
  FlowsIsolated: "FlowsIsolated",
  /** kstatus, abnormal-true: the operator is in the middle of something. */
  Reconciling: "Reconciling",
  /** kstatus, abnormal-true: nothing will happen until a person acts; the message says what is needed. */
  Stalled: "Stalled",
} as const;

/** One of the condition types. */
export type ConditionType = (typeof ConditionType)[keyof typeof ConditionType];

/** Every reason that the operator writes, short enough for a column of `kubectl get cres`. */
export const Reason = {
  // Any remedy.
  /** Ready: every remedy that is on holds. */
  AllHold: "AllHold",
  /** Ready: no remedy is on. */
  NoRemedies: "NoRemedies",
  /** spec.suspend is true. */
  Suspended: "Suspended",
  /** This version of the operator does not have that remedy yet. */
  NotImplemented: "NotImplemented",
  /** Something could not be read; the message names it. Nothing is done while it lasts. */
  ObserveFailed: "ObserveFailed",
  /** The remedy itself failed on its facts; a bug. Nothing is done. */
  DecideFailed: "DecideFailed",
  /** The operator lacks a right; the message names verb and resource. */
  Forbidden: "Forbidden",
  /** Something of somebody else's has a name that the operator needs; it is left alone. */
  NameTaken: "NameTaken",
  /** Reconciling: writes are under way or being watched. */
  Progressing: "Progressing",
  /** The object is being deleted, or a block was removed; what was made for it outside of its namespace goes first. */
  CleaningUp: "CleaningUp",
  /** Stalled and Reconciling: the normal state. */
  Idle: "Idle",

  // TokensAccepted.
  /** No pod is persistently answered 401. */
  Accepted: "Accepted",
  /** No workload matches the targets (yet). */
  TargetNotFound: "TargetNotFound",
  /** The workloads have no running pods. */
  NoPods: "NoPods",
  /** 401s are seen, but not yet persistently. */
  Suspected: "Suspected",
  /** A pod is persistently answered 401 and is about to be restarted; or, with Stalled, somebody is and a person has to find out who. */
  Rejected: "Rejected",
  /** Observe mode: a pod would be restarted now. */
  WouldRestart: "WouldRestart",
  /** A pod was restarted; its successor is being watched. */
  Restarting: "Restarting",
  /** A PodDisruptionBudget does not allow the eviction now. */
  RestartBlocked: "RestartBlocked",
  /** Cooldown, maxUnavailable or the operator's overall pace holds the restart back; the message says until when. */
  RestartDeferred: "RestartDeferred",
  /** maxRestarts is used up; a person is needed. */
  RestartsExhausted: "RestartsExhausted",
  /** The ServiceAccount does not exist; a restart can't help. */
  ServiceAccountMissing: "ServiceAccountMissing",
  /** extraPatterns has a pattern that is not valid; the message names its position. */
  InvalidPattern: "InvalidPattern",

  // BindingsCurrent.
  /** No binding expires soon, or what expires is renewed. */
  Current: "Current",
  /** No binding with an expiry gives rights to a ServiceAccount of the targets. */
  NoBindings: "NoBindings",
  /** A binding expires within warnBefore; it will be renewed in time. */
  ExpiringSoon: "ExpiringSoon",
  /** A binding is due to be renewed, and the write has not succeeded yet. */
  Renewing: "Renewing",
  /** A binding that expired is to be created again, and the write has not succeeded yet. */
  Restoring: "Restoring",
  /** Observe mode: a binding would be renewed or restored now. */
  WouldRenew: "WouldRenew",
  /** The operator lacks a right, most often `bind` on the role; the message is the rule to add. */
  RenewalForbidden: "RenewalForbidden",
  /** An expiry can't be read; the message names key and value. The binding is left alone. */
  MalformedExpiry: "MalformedExpiry",
  /** Status has no room for all bindings: nothing is done for those that have no place in it. */
  TooManyBindings: "TooManyBindings",
  /** A binding is not renewed because of its other subjects or its owner. */
  BindingRefused: "BindingRefused",
  /** A listed binding does not exist, and was never seen. */
  BindingNotFound: "BindingNotFound",
  /** A binding vanished before its expiry: that was a person's will, and it is never brought back. */
  Revoked: "Revoked",
  /** A binding vanished at or after its expiry, and is not to be restored. */
  Expired: "Expired",
  /** Somebody has put an expiry back that the operator had renewed. It gives up rather than fight. */
  RenewalContested: "RenewalContested",
  /** renewUntil has come, or no renewal can reach beyond the present expiry: nothing is renewed any more. */
  RenewalEnded: "RenewalEnded",

  // TokenLifetimeBounded.
  /** Tokens of the DaemonSets' pods live no longer than asked for. */
  Bounded: "Bounded",
  /** No DaemonSet is among the targets. */
  NoDaemonSets: "NoDaemonSets",
  /** The template is about to be changed, which is written down first; or the admission policy is about to be made or to take effect. */
  Planned: "Planned",
  /** Not the moment for a change; the message says why. */
  Waiting: "Waiting",
  /** Observe mode: a template would be changed now, an admission policy made, or a pod replaced. */
  WouldChange: "WouldChange",
  /** The template was changed; the DaemonSet replaces its pods at its own pace. */
  Rolling: "Rolling",
  /** The admission policy is in effect; pods with a longer token are replaced one after the other. */
  Replacing: "Replacing",
  /** The pods' replacement does not go on. */
  RolloutStuck: "RolloutStuck",
  /** The API server does not serve MutatingAdmissionPolicy in v1, which came with Kubernetes 1.36. */
  AdmissionUnavailable: "AdmissionUnavailable",
  /** The admission policy is there, but a new pod has a longer token all the same: no more pods are replaced. */
  AdmissionIneffective: "AdmissionIneffective",
  /** Pods with the shorter token are answered 401: the change is being taken back. */
  Reverting: "Reverting",
  /** The change was taken back, and is not tried again for that template. */
  Reverted: "Reverted",
  /** Somebody else keeps taking the change back; the message names them. The operator gives up rather than fight. */
  FieldContested: "FieldContested",
  /** updateStrategy is OnDelete: a changed template would replace no pod. */
  OnDeleteStrategy: "OnDeleteStrategy",
  /** No token is mounted, and none would be. */
  AutomountOff: "AutomountOff",
  /** Something of its own is mounted in the place of the token. */
  OwnMount: "OwnMount",
  /** The pods run on Windows nodes. */
  WindowsNodes: "WindowsNodes",
  /** The skip annotation is set, and tokens may live longer. */
  LeftAlone: "LeftAlone",
  /** The default token stays, since defaultToken is Leave. */
  DefaultTokenLeft: "DefaultTokenLeft",

  // FlowsIsolated.
  /** Each ServiceAccount of the targets has a flow of its own, and none is near the threshold. */
  Isolated: "Isolated",
  /** There is no ServiceAccount to look after: every workload of the targets has the skip annotation. */
  NoServiceAccounts: "NoServiceAccounts",
  /** FlowSchemas or priority levels are being made or changed, or the API server has not taken them up yet. */
  Provisioning: "Provisioning",
  /** Observe mode: FlowSchemas or priority levels would be made or changed now. */
  WouldIsolate: "WouldIsolate",
  /** A ServiceAccount is at the threshold or above it, but not yet for long enough. */
  Elevated: "Elevated",
  /** A ServiceAccount is a runaway, and nothing may be done about it: onRunaway is Report, or mode Observe. */
  Runaway: "Runaway",
  /** A runaway is held still in the tar pit; status says until when. */
  Throttled: "Throttled",
  /** A runaway is held still in the tar pit, and its workloads have no replicas. */
  ScaledToZero: "ScaledToZero",
  /** A throttle was lifted, and the ServiceAccount is being watched. */
  Probation: "Probation",
  /** The API servers' counters can't be read, so nobody can tell a runaway; the flows are isolated all the same. */
  RateUnknown: "RateUnknown",
  /** Somebody else keeps changing a FlowSchema or priority level; the message names them. The operator gives up rather than fight. */
  FlowContested: "FlowContested",
  /** Another FlowSchema takes the ServiceAccount's requests before the operator's own does. */
  FlowShadowed: "FlowShadowed",
  /** The level of spec.priorityLevel does not exist. */
  LevelMissing: "LevelMissing",
  /** The level of spec.priorityLevel is none that a custom controller may be put on. */
  LevelRefused: "LevelRefused",
  /** The API server says that a FlowSchema's level does not exist. */
  Dangling: "Dangling",
  /** The API server does not serve API Priority and Fairness in v1, which came with Kubernetes 1.29. */
  FlowControlUnavailable: "FlowControlUnavailable",
} as const;

/** One of the reasons. */
export type Reason = (typeof Reason)[keyof typeof Reason];

/**
 * Reasons of what goes on by itself, as it is meant to. As kubectl has it, the Event of a condition is Normal where the condition is True or
 * has one of these; with any other it is a Warning, which a person should look at.
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

/** Why a pod is restarted. Stands in status, Events and metrics, where log text never does. */
export const Cause = {
  /** The pod is older than its ServiceAccount, so its token names a ServiceAccount that is gone: proof without a log line. */
  ServiceAccountRecreated: "ServiceAccountRecreated",
  /** The ServiceAccount is gone; a restart can't help. */
  ServiceAccountMissing: "ServiceAccountMissing",
  /** Several workloads with different ServiceAccounts began to be rejected at the same time. */
  SigningKeyRotated: "SigningKeyRotated",
  /** New pods can't start on the pod's node, since the credential that a CNI agent leaves there is answered 401. */
  CniCredentialRejected: "CniCredentialRejected",
  /** No 401: its token lives longer than tokenLifetime allows, and it is replaced to get a shorter one. */
  TokenTooLong: "TokenTooLong",
  /** Persistent 401s, and nothing that says why. */
  Unknown: "Unknown",
} as const;

/** One of the causes. */
export type Cause = (typeof Cause)[keyof typeof Cause];
