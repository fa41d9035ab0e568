// Made from crds/controllerresilience.yaml by "npm run generate". Do not edit.
// As read from the API server: what it defaults is always there; dates are RFC 3339 strings.

/**
 * ControllerResilience protects the controllers of one team or release against silent failures, such as rejected tokens and expired bindings. Create it in the namespace of those controllers.
 */
export interface ControllerResilienceBody {
  spec: ControllerResilienceSpec;
  status?: ControllerResilienceStatus;
}
/**
 * spec defines which workloads to protect, and how. The presence of a block activates its remedy; `{}` uses every default.
 */
export interface ControllerResilienceSpec {
  /**
   * mode is Enforce or Observe. With Enforce the operator acts. With Observe it decides and reports, but writes only status and Events. In both modes, removing a block or the object removes what the operator created for it; a changed pod template stays.
   */
  mode: "Enforce" | "Observe";
  /**
   * suspend pauses every remedy. While it is true, no remedy reads, decides or changes anything, and the conditions have the reason Suspended. Deleting the object still removes what the operator created for it.
   */
  suspend: boolean;
  /**
   * targets is the list of workloads in this namespace to protect, 1 to 1,024 entries, at most 32 of them with a selector.
   */
  targets: TargetSelector[];
  tokenRestart?: TokenRestartSpec;
  bindingRenewal?: BindingRenewalSpec;
  tokenLifetime?: TokenLifetimeSpec;
  flowIsolation?: FlowIsolationSpec;
  stallDetection?: StallDetectionSpec;
}
/**
 * A target is one workload by name, or every workload of a kind that a selector matches.
 */
export interface TargetSelector {
  /**
   * Kind of the workload.
   */
  kind: "Deployment" | "StatefulSet" | "DaemonSet";
  /**
   * Name of the workload. The workload may be created later.
   */
  name?: string;
  selector?: LabelSelector;
}
/**
 * Label selector on the labels of the workload itself, not of its pods.
 */
export interface LabelSelector {
  /**
   * Labels that the workload must have.
   */
  matchLabels?: {
    [k: string]: string;
  };
  /**
   * Requirements on the workload's labels.
   */
  matchExpressions?: {
    key: string;
    operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
    values?: string[];
  }[];
}
/**
 * tokenRestart evicts pods that persistently get 401 responses because their ServiceAccount token is no longer accepted.
 */
export interface TokenRestartSpec {
  /**
   * Evidence that justifies a restart. Logs: the containers of the pod log 401 responses, or their metrics count them. ServiceAccountAge: the pod is older than its ServiceAccount, and its token cannot have been refreshed yet. SandboxEvents: the API server rejects the credential that a CNI agent left on its node, as Events FailedCreatePodSandBox and FailedKillPod show; the agent's pod is restarted.
   */
  evidence: ("Logs" | "ServiceAccountAge" | "SandboxEvents")[];
  /**
   * Minimum time between the first and the last 401 response. A pod counts as rejected after 401 responses on three occasions within 15 minutes; log lines less than 2 s apart are one occasion.
   */
  minDuration: string;
  /**
   * Names of the containers whose logs are read. Empty means all containers except init containers.
   */
  containers: string[];
  /**
   * A log record that contains one of these phrases counts as a 401 response to a request of the controller itself; upper and lower case are the same.
   */
  extraPhrases?: string[];
  /**
   * Minimum time between two restarts of one workload. It doubles while restarts do not help.
   */
  cooldown: string;
  /**
   * Maximum number of restarts of one workload per hour, where the restarts of one incident that help count as one; a further one waits. After as many restarts in a row that did not help, or two without proof, a person must act.
   */
  maxRestarts: number;
  /**
   * Maximum number of pods of one workload that may be down at the same time for a restart; pods that are not Ready for other reasons count. More than 1 needs proof for each pod.
   */
  maxUnavailable: number;
}
/**
 * bindingRenewal renews RoleBindings and ClusterRoleBindings before they expire. It updates the expiry in the annotations or labels that each binding uses.
 */
export interface BindingRenewalSpec {
  /**
   * Bindings to renew, besides those of the targets' ServiceAccounts that have the annotation controller-resilience.io/renew: "true". Other bindings of theirs are only reported before they expire.
   */
  bindings: {
    /**
     * Kind of the binding.
     */
    kind: "RoleBinding" | "ClusterRoleBinding";
    /**
     * Name of the binding.
     */
    name: string;
  }[];
  /**
   * How long before the expiry a condition and an Event begin to warn. The effective value is at most two thirds of the extension or, if that is longer, of the original lifetime.
   */
  warnBefore: string;
  /**
   * How long before the expiry the operator renews the binding. The effective value is at most one third of the extension.
   */
  renewBefore: string;
  /**
   * Duration by which a renewal extends a binding that the list names. Empty means its original lifetime.
   */
  extendBy: string;
  /**
   * Latest expiry that a renewal may set (RFC 3339), such as the date of the next access review.
   */
  renewUntil?: string | null;
}
/**
 * tokenLifetime limits the lifetime of the projected ServiceAccount tokens of target DaemonSets.
 */
export interface TokenLifetimeSpec {
  /**
   * Maximum lifetime of the token in seconds.
   */
  expirationSeconds: number;
  /**
   * defaultToken is Project or Leave. Project adds a projected volume where a container would get the default token. Leave keeps the default token.
   */
  defaultToken: "Project" | "Leave";
  /**
   * windows are the times at which a trial on one node may begin. Empty means always.
   */
  windows?: {
    /**
     * schedule is when the window opens: a cron schedule of five fields, such as 0 2 * * 6.
     */
    schedule: string;
    /**
     * duration is how long the window stays open.
     */
    duration: string;
    /**
     * timeZone is the IANA time zone of the schedule, such as Europe/Berlin.
     */
    timeZone: string;
  }[];
}
/**
 * flowIsolation gives each ServiceAccount of the targets, 32 at most, its own API Priority and Fairness flow, and can throttle runaways.
 */
export interface FlowIsolationSpec {
  /**
   * requestRate defines when a ServiceAccount is a runaway, and what to do then.
   */
  requestRate: {
    /**
     * Request rate of one running pod, in requests per second. The threshold of a ServiceAccount is this times the number of its running pods, at least 1.
     */
    threshold: number;
    /**
     * A ServiceAccount at or above the threshold for this long is a runaway.
     */
    for: string;
    /**
     * onRunaway is Report or Throttle. Report only reports the runaway. Throttle moves it to the quarantine level for a limited time.
     */
    onRunaway: "Report" | "Throttle";
    /**
     * Duration of a throttle. A probation follows. The duration doubles with each relapse, up to 1h.
     */
    release: string;
  };
}
/**
 * stallDetection finds controllers that run and do nothing: a Lease that is no longer renewed, lost permissions, leadership that is lost again and again, or work that is due while nothing moves.
 */
export interface StallDetectionSpec {
  /**
   * What to look for in Leases and logs. Lease: a pod holds a Lease and no longer renews it. Forbidden: the pods log 403 responses that began while they ran. LeaderLoss: a pod loses its Lease three times in an hour. Kinds of objects, and metrics, are looked at if progress and metrics are set.
   */
  evidence: ("Lease" | "Forbidden" | "LeaderLoss")[];
  /**
   * How long Lease and Forbidden must last. A Lease must also miss four of its durations. Kinds in progress have a time of their own.
   */
  for: string;
  /**
   * onStall is Report or Restart. Report only reports. Restart evicts a pod that no longer renews its Lease, or whose metrics show that it does nothing while work is due, within cooldown, maxRestarts and maxUnavailable of tokenRestart, or their defaults without that block. All other evidence is only reported.
   */
  onStall: "Report" | "Restart";
  /**
   * Leases in other namespaces, or whose holders are named after a node. Leases in the namespace of this object are found by their holders.
   */
  leases: {
    /**
     * Namespace of the Lease.
     */
    namespace: string;
    /**
     * Name of the Lease.
     */
    name: string;
  }[];
  /**
   * Kinds of objects that these controllers handle. Work is due, and nothing moves, if an object is due for its time while the status of no object of that kind changes. The operator needs a ClusterRole with the label controller-resilience.io/aggregate-to-progress: "true" that allows get and list of the kind, and the author of this object must be allowed to list it.
   */
  progress?: ProgressSpec[];
  metrics?: MetricsSpec;
}
export interface ProgressSpec {
  /**
   * apiVersion of the kind, such as example.com/v1. Optional for kinds that the operator knows, such as Application of Argo CD.
   */
  apiVersion?: string;
  /**
   * Kind of the objects, such as Widget.
   */
  kind: string;
  /**
   * CEL expression over `object` that is true while the controller has to do something for it. By default what is known for the kind, or else has(object.status.observedGeneration) && object.metadata.generation > object.status.observedGeneration.
   */
  due?: string;
  /**
   * How long an object must be due, and nothing of its kind move.
   */
  for: string;
  /**
   * Label selector. Other objects of the kind are left to another controller.
   */
  selector?: LabelSelector;
}
/**
 * Where the metrics of the pods are; `{}` uses every default. The operator reads them from each pod every 30 s, without credentials unless tokenFrom is set. They show work queues that stand still, and requests that get 401 responses. Work that is done speaks against what progress finds.
 */
export interface MetricsSpec {
  /**
   * Name of a port that a container declares, or a number. By default the first that is named metrics, http-metrics, http-prom, https-metrics or https. Pods with hostNetwork are read only at a number.
   */
  port?: number | string;
  /**
   * scheme is HTTP or HTTPS. By default HTTPS for ports whose names begin with https.
   */
  scheme?: "HTTP" | "HTTPS";
  /**
   * Name of a ServiceAccount in this namespace. The operator sends a token of it, valid for 600 s, to the pods. Choose one that may get /metrics and nothing else; the author of this object must be allowed to create serviceaccounts/token for it.
   */
  tokenFrom?: string;
}
/**
 * status is what the operator observed and did. It never contains log text.
 */
export interface ControllerResilienceStatus {
  /**
   * Generation of the spec that this status describes. -1 before the operator has looked.
   */
  observedGeneration?: number;
  /**
   * Whether the operator acts. Enforce: it does. Observe: spec.mode says that it only reports. OperatorObserves: it runs with --mode=Observe. NamespaceSkipped: the Namespace has the annotation controller-resilience.io/skip.
   */
  mode?: "Enforce" | "Observe" | "OperatorObserves" | "NamespaceSkipped";
  /**
   * Ready, Reconciling and Stalled, and one condition per active remedy: TokensAccepted, BindingsCurrent, TokenLifetimeBounded, FlowsIsolated, ControllersActive.
   */
  conditions?: StatusCondition[];
  /**
   * Observed state of each target.
   */
  targets?: TargetStatus[];
  /**
   * Requested restarts: the last 10, and every restart that still counts against a budget. The operator computes budgets from this list, so a new leader continues with the same budgets.
   */
  restarts?: RestartStatus[];
  /**
   * Number of pods restarted for this object since it was created.
   */
  restartsTotal?: number;
  /**
   * Bindings of the targets' ServiceAccounts that expire, and those that the spec names, ordered by expiry.
   */
  bindings?: BindingStatus[];
  /**
   * DaemonSets whose token lifetime is limited.
   */
  daemonSets?: DaemonSetStatus[];
  /**
   * Stalled controllers, for each pod and evidence.
   */
  stalls?: StallStatus[];
  /**
   * Flows of the ServiceAccounts of the targets.
   */
  flows?: FlowStatus[];
}
export interface StatusCondition {
  /**
   * Type of the condition.
   */
  type: string;
  /**
   * Status of the condition.
   */
  status: "True" | "False" | "Unknown";
  /**
   * Generation of the spec that the condition describes.
   */
  observedGeneration?: number;
  /**
   * Time of the last change of status.
   */
  lastTransitionTime: string;
  /**
   * Stable identifier for programs.
   */
  reason: string;
  /**
   * Message for people.
   */
  message: string;
}
export interface TargetStatus {
  /**
   * Kind of the workload.
   */
  kind: string;
  /**
   * Name of the workload.
   */
  name: string;
  /**
   * Number of pods that are not being deleted.
   */
  pods: number;
  /**
   * Number of pods that persistently get 401 responses.
   */
  rejectedPods: number;
  /**
   * Time of the last 401 response in the logs of the workload; it may lag by up to 7.5 minutes.
   */
  lastUnauthorizedTime?: string;
  /**
   * What recreated the ServiceAccount after rejected pods had got their token, by its annotations. Absent: nothing did, or it is unknown.
   */
  recreatedBy?: "HelmHook" | "ArgoCDHook" | "Other";
  /**
   * UIDs of pods whose logs have shown persistent 401 responses that have not ended, at most 16. A container that crashes again and again may not show this again to a new leader.
   */
  persistentPods?: string[];
  /**
   * Time since when the workload waits for something that may never happen, such as a PodDisruptionBudget or a pod that does not become Ready. After an hour the object is Stalled.
   */
  waitStartTime?: string;
}
export interface RestartStatus {
  /**
   * Name of the pod.
   */
  pod: string;
  /**
   * UID of the pod.
   */
  podUID: string;
  /**
   * Node of a pod of a DaemonSet.
   */
  nodeName?: string;
  /**
   * Container whose log has the 401 responses.
   */
  container?: string;
  /**
   * Kind and name of the workload, such as Deployment/kai-scheduler.
   */
  workload: string;
  /**
   * Time when the restart was requested.
   */
  time: string;
  /**
   * Cause of the restart: ServiceAccountRecreated, SigningKeyRotated, CniCredentialRejected, TokenTooLong, LeaseNotRenewed, ProgressStopped or Unknown.
   */
  cause: string;
  /**
   * Requested: recorded before the operator requests the restart. Restarted: the pod is gone, and the operator is watching its successor. Recovered: the tokens of the successor are accepted, it renews its Lease, or work that was due moves. Replaced: nothing confirms that it helped: the log of the successor, which is Ready, is empty or cannot be read, or there is none, such as after the workload was scaled down. Ineffective: the tokens of the successor are rejected, it renews no Lease, or nothing moves.
   */
  outcome: "Requested" | "Restarted" | "Recovered" | "Replaced" | "Ineffective";
  /**
   * UID of the ServiceAccount that is newer than the pod. Restarts of one incident have the same value.
   */
  serviceAccountUID?: string;
  /**
   * Time from the start of the pod to its first 401, or until its Lease was stale, in seconds; 0 if the first 401 may be older than what was read. Only of restarts without proof.
   */
  workedSeconds?: number;
  /**
   * Creation time of the newest pod of the workload when the restart was requested. Pods that are newer were created after it.
   */
  newestPodTime?: string;
}
export interface BindingStatus {
  /**
   * Kind of the binding.
   */
  kind: "RoleBinding" | "ClusterRoleBinding";
  /**
   * Name of the binding.
   */
  name: string;
  /**
   * Namespace of a RoleBinding.
   */
  namespace?: string;
  /**
   * UID of the last observed binding with that name.
   */
  uid?: string;
  /**
   * Kind and name of its role, such as ClusterRole/edit.
   */
  role?: string;
  /**
   * Current: expires later than warnBefore. ExpiringSoon: expires within warnBefore. NotRequested: the same, and no renewal is requested, or none after renewUntil. Forbidden: the operator lacks a permission. Contested: another client has moved the expiry to an earlier time, or a backup brought the binding back. Ended: its expiry has passed, and it still exists. Expired: was deleted at or after its expiry. Revoked: was deleted before its expiry. Refused: not renewed because of its role or owner reference. Malformed: its expiry cannot be parsed, or several keys hold one. Skipped: has the skip annotation. Never: has no expiry that the operator can read.
   */
  state:
    | "Current"
    | "ExpiringSoon"
    | "NotRequested"
    | "Forbidden"
    | "Contested"
    | "Ended"
    | "Expired"
    | "Revoked"
    | "Refused"
    | "Malformed"
    | "Skipped"
    | "Never";
  /**
   * Time when the binding expires.
   */
  expiryTime?: string;
  /**
   * Time when the operator will renew the binding.
   */
  renewTime?: string;
  /**
   * Time of the last renewal.
   */
  lastRenewalTime?: string;
  /**
   * Latest expiry of this object that the operator has observed or written. An earlier expiry counts as a revocation.
   */
  latestExpiryTime?: string;
  /**
   * Key that holds the expiry.
   */
  source?: string;
}
export interface DaemonSetStatus {
  /**
   * Name of the DaemonSet.
   */
  name: string;
  /**
   * UID of the last observed DaemonSet with that name.
   */
  uid?: string;
  /**
   * Bounded: no token lives longer than expirationSeconds. LeftAlone: no change is needed or possible. Waiting: the change must wait, or is not in effect yet. Planned: recorded before the template is changed. Trial: the template was changed, with updateStrategy OnDelete, and one pod is replaced. Rolling: the trial has passed, and the other pods are being replaced. Reverted: the operator has reverted the change because of 401 responses, and does not retry it for that template. Contested: another field manager has reverted the change. Unproven: the trial on one node ended without proof, and the change was reverted.
   */
  outcome:
    | "Bounded"
    | "LeftAlone"
    | "Waiting"
    | "Planned"
    | "Trial"
    | "Rolling"
    | "Reverted"
    | "Contested"
    | "Unproven";
  /**
   * Token lifetimes in the volumes of the template before the change, to restore them.
   */
  previous?: PreviousExpiration[];
  /**
   * Time of the last step of the change.
   */
  appliedTime?: string;
  /**
   * A number of the block; a template is changed once for each.
   */
  generation?: number;
  /**
   * Time since which a change waits; the object is Stalled after an hour.
   */
  waitStartTime?: string;
  /**
   * Hash of the template without the changes of the operator. The operator does not retry a reverted change for the same hash.
   */
  fingerprint?: string;
}
export interface PreviousExpiration {
  volume: string;
  expirationSeconds: number;
}
export interface StallStatus {
  /**
   * Kind and name of the workload, such as Deployment/web.
   */
  workload: string;
  /**
   * What shows that it is stalled.
   */
  evidence: "Lease" | "Forbidden" | "LeaderLoss" | "Progress" | "Metrics";
  /**
   * Time when the operator found it.
   */
  since: string;
  /**
   * Name of the pod. Absent if it is not about a single pod.
   */
  pod?: string;
  /**
   * UID of the pod.
   */
  podUID?: string;
  /**
   * Namespace and name of the Lease.
   */
  lease?: string;
  /**
   * resourceVersion of the Lease when it was found. While the Lease has it, a new leader of the operator knows that it was not renewed.
   */
  leaseVersion?: string;
  /**
   * Kind and name of the object that is due, such as Widget blue; with its namespace if that is another, as in Widget shop/blue.
   */
  object?: string;
  /**
   * What was denied, such as list pods in namespace web.
   */
  denied?: string;
  /**
   * What had allowed it, such as RoleBinding web.
   */
  lost?: string;
  /**
   * Time since when the restart of the pod waits for something that may never happen. After an hour the object is Stalled.
   */
  waitStartTime?: string;
}
export interface FlowStatus {
  /**
   * Name of the ServiceAccount.
   */
  serviceAccount: string;
  /**
   * Name of the FlowSchema of the ServiceAccount.
   */
  flowSchema?: string;
  /**
   * Measured request rate, rounded to two digits. Updated when the state changes, or when the rate changes by more than half. Absent if it is not known.
   */
  requestsPerSecond?: number;
  /**
   * Requests per second from which it is a runaway, of all its running pods together.
   */
  threshold?: number;
  /**
   * State of the throttle. Normal: below the threshold. Elevated: at or above the threshold, but not yet for long enough to be a runaway. Throttled: in quarantine until the time in until, and then until the cluster shows that it is released. Probation: released, and the operator is watching the request rate. GivenUp: released after too many relapses, and not throttled again before the block changes or a day of low rates has passed.
   */
  state?: "Normal" | "Elevated" | "Throttled" | "Probation" | "GivenUp";
  /**
   * Time when the state began.
   */
  since?: string;
  /**
   * Time when the throttle ends, or when the probation ends if the request rate stays low. Absent while the rate during a probation is high.
   */
  until?: string;
  /**
   * Duration of the current or last throttle in seconds. Doubles with each relapse.
   */
  releaseSeconds?: number;
  /**
   * Number of throttles that followed a probation since the flow was last Normal.
   */
  relapses?: number;
  /**
   * A number of the block for which the flow was last planned.
   */
  generation?: number;
}
