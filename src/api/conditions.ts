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
  /** stallDetection: no controller of the targets runs without doing anything. */
  ControllersActive: "ControllersActive",
  /** ClusterControllerResilience: every workload of the cluster that uses the API is protected or excluded on purpose. */
  Covered: "Covered",
  /** kstatus, negative polarity: the operator is writing, or watching the result of a write. */
  Reconciling: "Reconciling",
  /** kstatus, negative polarity: the operator cannot continue until a person acts; the message says what to do. */
  Stalled: "Stalled",
} as const;

/** A condition type that the operator writes. */
export type ConditionType = (typeof ConditionType)[keyof typeof ConditionType];

/** Conditions that repeat what those of remedies say. */
export const SUMMARIES: readonly string[] = [ConditionType.Ready, ConditionType.Reconciling, ConditionType.Stalled];

/**
 * Condition reasons of the engine. Each remedy declares its own in reasons.ts. Every reason is short enough for the column
 * REASON of `kubectl get cres` (test/docs/columns.test.ts).
 */
export const EngineReason = {
  /** Ready: every active remedy reports True. */
  AllHold: "AllHold",
  /** Ready: the spec activates no remedy. A remedy: the targets have nothing that it is about. */
  NothingToDo: "NothingToDo",
  /** spec.suspend is true. */
  Suspended: "Suspended",
  /** A read failed or still runs; the message names the resource. The remedy does nothing until the read succeeds. */
  ObserveFailed: "ObserveFailed",
  /** The remedy threw an error while it decided, which is a bug. The remedy does nothing. */
  DecideFailed: "DecideFailed",
  /** The operator lacks a permission; the message names verb and resource. */
  Forbidden: "Forbidden",
  /** Reconciling: the operator is writing, or watching the result of a write. */
  Progressing: "Progressing",
  /** The object is being deleted, or a remedy block was removed. The operator is removing what it made for it outside of its namespace. */
  CleaningUp: "CleaningUp",
  /** Stalled and Reconciling are False with this reason: the normal state. */
  Idle: "Idle",
} as const;

/** One of the engine's condition reasons. */
export type EngineReason = (typeof EngineReason)[keyof typeof EngineReason];

/** Condition reasons of ClusterControllerResilience. */
export const ClusterReason = {
  /**
   * Ready: every selected workload is protected, and every generated object is Ready. Covered: no workload that uses the API lacks
   * protection.
   */
  AllProtected: "AllProtected",
  /**
   * Ready: the operator is still creating or changing generated objects, or reading or writing in a namespace fails, and is tried again. Covered
   * is Unknown while reading fails, with this reason or Refused.
   */
  Progressing: "Progressing",
  /** Ready: the spec selects no namespace, or no workload, yet. */
  TargetNotFound: "TargetNotFound",
  /** Ready: generated objects report Ready=False; the message counts their reasons. Stalled: generated objects are Stalled. */
  ObjectsNotReady: "ObjectsNotReady",
  /** Ready and Stalled: the API server refuses a generated object, as for a quota, or fails for ten minutes, or workloads do not fit into one. */
  Refused: "Refused",
  /** Covered: workloads that use the API are neither protected nor excluded on purpose. */
  Unprotected: "Unprotected",
  /** Ready and Stalled: more than half of the protected workloads would lose protection, and keep it until a person allows that. */
  RemovalWaits: "RemovalWaits",
} as const;

/** One of these reasons. */
export type ClusterReason = (typeof ClusterReason)[keyof typeof ClusterReason];

/** Why a pod is restarted. Causes appear in status, Events and metrics; log text never does. */
export const Cause = {
  /** The pod is older than its ServiceAccount, so its token names a deleted ServiceAccount. This needs no evidence from logs. */
  ServiceAccountRecreated: "ServiceAccountRecreated",
  /** The ServiceAccount does not exist, so a restart cannot help. */
  ServiceAccountMissing: "ServiceAccountMissing",
  /** The key that signed the pod's token is gone from the keys that the API servers publish. */
  SigningKeyRotated: "SigningKeyRotated",
  /** Pods cannot start or end on the node of the pod, because the credential that a CNI agent wrote there gets 401 responses. */
  CniCredentialRejected: "CniCredentialRejected",
  /** The token of the pod lives longer than tokenLifetime allows, and the pod is replaced to get a shorter one. No 401 is involved. */
  TokenTooLong: "TokenTooLong",
  /** The pod holds a Lease and no longer renews it. */
  LeaseNotRenewed: "LeaseNotRenewed",
  /** Work is due, nothing moves, and the metrics of the pod show that it does nothing. */
  ProgressStopped: "ProgressStopped",
  /** The pod persistently gets 401 responses, and the cause is not known. */
  Unknown: "Unknown",
} as const;

/** Causes of restarts by stallDetection. */
export const STALL_CAUSES: readonly Cause[] = [Cause.LeaseNotRenewed, Cause.ProgressStopped];

/** One of the causes. */
export type Cause = (typeof Cause)[keyof typeof Cause];
