// Made from crds/controllerresilience.yaml by "npm run generate". Do not edit.
// As read from the API server: what it defaults is always there; dates are RFC 3339 strings.

/**
 * ControllerResilience protects the controllers of one team or release from the ways in which controllers die silently. It lives in the namespace of those controllers.
 */
export interface ControllerResilienceBody {
  spec: ControllerResilienceSpec;
  status?: ControllerResilienceStatus;
}
/**
 * What to protect, and how. A remedy's block that is present turns that remedy on; `{}` takes every default.
 */
export interface ControllerResilienceSpec {
  /**
   * Enforce acts. Observe decides and reports everything and writes nothing but status and Events; what was made before still goes with its block or with the object.
   */
  mode: "Enforce" | "Observe";
  /**
   * While true no remedy reads, decides or changes anything; the conditions say Suspended. Deleting the object still takes away what was made for it.
   */
  suspend: boolean;
  /**
   * The workloads of this namespace to protect; 1 to 32.
   */
  targets: TargetSelector[];
  tokenRestart?: TokenRestartSpec;
  bindingRenewal?: BindingRenewalSpec;
  tokenLifetime?: TokenLifetimeSpec;
  flowIsolation?: FlowIsolationSpec;
}
/**
 * One workload by name, or all workloads of a kind that a selector matches.
 */
export interface TargetSelector {
  /**
   * Kind of the workload.
   */
  kind: "Deployment" | "StatefulSet" | "DaemonSet";
  /**
   * Name of the workload. It need not exist yet.
   */
  name?: string;
  selector?: LabelSelector;
}
/**
 * Label selector on the workloads' own labels.
 */
export interface LabelSelector {
  /**
   * Labels that the workload must carry.
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
 * Restarts pods whose requests are persistently answered 401 because their ServiceAccount token is dead.
 */
export interface TokenRestartSpec {
  /**
   * What counts as evidence. Logs: the pod's own client logs 401s. ServiceAccountAge: the pod is older than its ServiceAccount and its token can't have been refreshed yet. SandboxEvents: FailedCreatePodSandBox with an unauthorized cause on a node condemns this DaemonSet's pod on that node.
   */
  evidence: ("Logs" | "ServiceAccountAge" | "SandboxEvents")[];
  /**
   * 401 occasions (lines closer than 2 s are one) inside the window that make a pod rejected.
   */
  occasions: number;
  /**
   * Only occasions younger than this count. Crash loops come round every 5 to 6 minutes.
   */
  window: string;
  /**
   * The occasions must be spread over at least this long.
   */
  minDuration: string;
  /**
   * Names of the containers whose logs are read. Empty means all but init containers.
   */
  containers: string[];
  /**
   * Further patterns (RE2 syntax, matched in linear time) that make a log record a 401 of the controller's own request.
   */
  extraPatterns: string[];
  /**
   * Evict replaces the rejected pod by the Eviction API. RolloutRestart rolls the whole workload.
   */
  strategy: "Evict" | "RolloutRestart";
  /**
   * Least time between two restarts of one workload. It doubles while restarts don't help.
   */
  cooldown: string;
  /**
   * Restarts of one workload per maxRestartsWindow; after that a person is needed.
   */
  maxRestarts: number;
  /**
   * The time over which maxRestarts counts.
   */
  maxRestartsWindow: string;
  /**
   * Pods of one workload that this remedy may have down at once.
   */
  maxUnavailable: number;
}
/**
 * Renews RoleBindings and ClusterRoleBindings before they expire, in the convention that they use.
 */
export interface BindingRenewalSpec {
  /**
   * The bindings to renew. Empty means every binding with an expiry whose subjects are only ServiceAccounts of the targets.
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
   * A condition and an Event warn from this long before the expiry, at most two thirds of the extension ahead.
   */
  warnBefore: string;
  /**
   * The binding is renewed from this long before the expiry, at most a third of the extension ahead.
   */
  renewBefore: string;
  /**
   * How long a renewal extends. Empty means the binding's own original life.
   */
  extendBy: string;
  /**
   * Never renewed past this moment (RFC 3339), the access review's date.
   */
  renewUntil?: string | null;
  /**
   * Create the binding again if it vanished at or after its recorded expiry; never if it went before, which was a revocation.
   */
  restoreExpired: boolean;
}
/**
 * Bounds the life of the projected ServiceAccount token of DaemonSet targets.
 */
export interface TokenLifetimeSpec {
  /**
   * Longest life of the token in seconds.
   */
  expirationSeconds: number;
  /**
   * Template patches the DaemonSet. Admission shortens the token of each new pod by a MutatingAdmissionPolicy (Kubernetes 1.36), leaves the DaemonSet untouched and replaces its pods one after the other.
   */
  via: "Template" | "Admission";
  /**
   * Template only. Project adds the explicit projected volume where the template has none.
   */
  defaultToken: "Project" | "Leave";
  /**
   * 401s after the change take the change back.
   */
  revertOnUnauthorized: boolean;
}
/**
 * Gives each ServiceAccount of the targets its own API Priority and Fairness flow, and holds runaways still.
 */
export interface FlowIsolationSpec {
  /**
   * An existing level to use, but for the built-in ones of the control plane, of people (global-default) and of last resort. Empty means the shared level that the operator keeps, or `dedicated`.
   */
  priorityLevel: string;
  /**
   * Settings of a level of this object's own.
   */
  dedicated?: {
    /**
     * Share of the server's seats. The built-in levels have 245 shares, so 20 of then 265 are 46 of the usual 600 seats; more would let whoever may write this object starve the cluster.
     */
    nominalConcurrencyShares: number;
    /**
     * Percentage of the seats that others may borrow.
     */
    lendablePercent: number;
    /**
     * How much it may borrow, in percent of its own seats.
     */
    borrowingLimitPercent: number;
    /**
     * Number of queues.
     */
    queues: number;
    /**
     * Queues that one flow is dealt. The API server takes no more than 15, and less with many queues.
     */
    handSize: number;
    /**
     * Requests that may wait in one queue.
     */
    queueLengthLimit: number;
  };
  /**
   * Precedence of the FlowSchemas.
   */
  matchingPrecedence: number;
  /**
   * Leases keep going to the built-in leader-election level.
   */
  protectLeases: boolean;
  /**
   * What is a runaway, and what to do about it.
   */
  requestRate: {
    /**
     * Requests per second of one ServiceAccount.
     */
    threshold: number;
    /**
     * Above the threshold for this long is a runaway.
     */
    for: string;
    /**
     * Report only says so. Throttle is a reversible tar pit. ScaleToZero is the last resort; the replica count is kept.
     */
    onRunaway: "Report" | "Throttle" | "ScaleToZero";
    /**
     * A throttle is lifted on probation after this long; it doubles on each relapse, up to 1h.
     */
    release: string;
  };
}
/**
 * What the operator sees and has done. Log text never stands here.
 */
export interface ControllerResilienceStatus {
  /**
   * The generation of the spec that this status speaks of.
   */
  observedGeneration?: number;
  /**
   * Ready, Reconciling and Stalled, and one for each remedy that is on: TokensAccepted, BindingsCurrent, TokenLifetimeBounded, FlowsIsolated.
   */
  conditions?: StatusCondition[];
  /**
   * What was found for each target.
   */
  targets?: TargetStatus[];
  /**
   * Restarts that were asked for: the last 10 and all that still count against a budget. Budgets are computed from these, so that a new leader inherits them.
   */
  restarts?: RestartStatus[];
  /**
   * Pods restarted for this object since it was created.
   */
  restartsTotal?: number;
  /**
   * The bindings under renewal, the next to expire first. What is recorded of a living binding is what it is restored from.
   */
  bindings?: BindingStatus[];
  /**
   * The DaemonSets whose token life is bounded.
   */
  daemonSets?: DaemonSetStatus[];
  /**
   * The flows of the targets' ServiceAccounts.
   */
  flows?: FlowStatus[];
}
export interface StatusCondition {
  /**
   * Kind of condition.
   */
  type: string;
  /**
   * Whether it holds.
   */
  status: "True" | "False" | "Unknown";
  /**
   * The generation that was judged.
   */
  observedGeneration?: number;
  /**
   * When status last changed.
   */
  lastTransitionTime: string;
  /**
   * A stable word for programs.
   */
  reason: string;
  /**
   * A sentence for people.
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
   * Pods of the workload.
   */
  pods: number;
  /**
   * Pods whose requests are persistently answered 401.
   */
  rejectedPods: number;
  /**
   * When a 401 was last seen in its logs.
   */
  lastUnauthorizedTime?: string;
  /**
   * Generation at which the restarts of this workload were used up. A newer generation, or accepted tokens, end it.
   */
  exhaustedGeneration?: number;
}
export interface RestartStatus {
  /**
   * Name of the pod.
   */
  pod: string;
  /**
   * UID of the pod.
   */
  podUID?: string;
  /**
   * Kind and name, as Deployment/kai-scheduler.
   */
  workload: string;
  /**
   * When the restart was asked for.
   */
  time: string;
  /**
   * ServiceAccountRecreated, SigningKeyRotated, CniCredentialRejected, TokenTooLong or Unknown.
   */
  cause: string;
  /**
   * Requested: written down before it is asked for. Restarted: the pod is gone, its successor is being watched. Recovered: the successor's tokens are accepted. Ineffective: they are not.
   */
  outcome: "Requested" | "Restarted" | "Recovered" | "Ineffective";
  /**
   * The ServiceAccount that the pod could not know. Restarts of one incident share it.
   */
  serviceAccountUID?: string;
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
   * The binding that was last seen under that name.
   */
  uid?: string;
  /**
   * Current: expires later than warnBefore. ExpiringSoon: announced. Forbidden: the operator lacks a right. Contested: somebody has put back what was renewed. Ended: expires and is not renewed, because of renewUntil. Expired: it vanished at or after its expiry and was not restored. Revoked: it vanished before. Expired and Revoked bindings are never brought back. Refused: not renewed because of its subjects or owner. Malformed: its expiry can't be read. Skipped: it has the skip annotation. Never: it does not expire.
   */
  state:
    | "Current"
    | "ExpiringSoon"
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
   * When it expires.
   */
  expiryTime?: string;
  /**
   * When it will be renewed.
   */
  renewTime?: string;
  /**
   * When it was last renewed.
   */
  lastRenewalTime?: string;
  /**
   * The expiry that is about to be written, noted before the write. A binding that expires then has been renewed, whoever has seen it.
   */
  renewingUntil?: string;
  /**
   * The expiry that the last renewal has written.
   */
  renewedUntil?: string;
  /**
   * Generation of this object at the last renewal. A newer one lets a contested binding be renewed again.
   */
  renewedGeneration?: number;
  /**
   * The renewUntil that was told of ahead of time.
   */
  announcedEnd?: string;
  /**
   * Its life from creation to expiry before the first renewal: what a renewal extends by.
   */
  lifeSeconds?: number;
  roleRef?: RoleRef;
  /**
   * Recorded while the binding lives, to restore it.
   */
  subjects?: Subject[];
  /**
   * Recorded while the binding lives, to restore it.
   */
  labels?: {
    [k: string]: string;
  };
  /**
   * Recorded while the binding lives, to restore it, without what kubectl apply keeps there.
   */
  annotations?: {
    [k: string]: string;
  };
  /**
   * The keys that hold its expiry, separated by commas.
   */
  source?: string;
}
/**
 * Recorded while the binding lives, to restore it.
 */
export interface RoleRef {
  apiGroup: string;
  kind: string;
  name: string;
}
export interface Subject {
  apiGroup?: string;
  kind: string;
  name: string;
  namespace?: string;
}
export interface DaemonSetStatus {
  /**
   * Name of the DaemonSet.
   */
  name: string;
  /**
   * The DaemonSet that was last seen under that name.
   */
  uid?: string;
  /**
   * Bounded: no token lives longer. LeftAlone: nothing is to be done, or nothing can be. Waiting: not the moment for a change, or it has yet to take effect. Planned: written down before the template is changed. Rolling: changed, and the pods are being replaced. Stuck: their replacement does not go on. Reverting: the change is to be taken back, Reverted: it was, because of 401s; it is not tried again for that template. Contested: somebody else keeps taking it back.
   */
  outcome:
    | "Bounded"
    | "LeftAlone"
    | "Waiting"
    | "Planned"
    | "Rolling"
    | "Stuck"
    | "Reverting"
    | "Reverted"
    | "Contested";
  /**
   * The longest life that stood in the template before. Absent where none did.
   */
  previousExpirationSeconds?: number;
  /**
   * What stood in the volumes of the template before, to be put back.
   */
  previous?: PreviousExpiration[];
  /**
   * When the template was changed; with a policy
   */
  appliedTime?: string;
  /**
   * From when on 401s are watched for, where that is later than appliedTime: the template became another one, or a pod was replaced because of the change.
   */
  watchTime?: string;
  /**
   * Changes of the template, or makings of the policy, by the operator since generation; two at most.
   */
  changes?: number;
  /**
   * Generation of this object that the changes are counted for.
   */
  generation?: number;
  /**
   * What stood in the way of its change, or of the replacement of its next pod, at the last try.
   */
  hindrance?: {
    /**
     * Where it is one of those of the condition.
     */
    reason?: "Forbidden" | "RestartBlocked" | "RestartDeferred";
    /**
     * What was not done, and why.
     */
    message: string;
  };
  /**
   * Name of the MutatingAdmissionPolicy and its binding, with via: Admission.
   */
  policy?: string;
  /**
   * Of the template without what the operator has put there. A change that was taken back is not tried again for it.
   */
  fingerprint?: string;
}
export interface PreviousExpiration {
  volume: string;
  expirationSeconds: number;
}
export interface FlowStatus {
  /**
   * Name of the ServiceAccount.
   */
  serviceAccount: string;
  /**
   * Its FlowSchema.
   */
  flowSchema?: string;
  /**
   * The priority level that the operator has put it on last.
   */
  priorityLevel?: string;
  /**
   * Its measured rate in two digits, told anew when the state changes or the rate has moved by more than half. Absent: not known.
   */
  requestsPerSecond?: number;
  /**
   * State of the breaker. Elevated: at the threshold or above it; if that lasts, it is a runaway. Throttled: held still, until then. Probation: let go, and watched.
   */
  state?: "Normal" | "Elevated" | "Throttled" | "Probation";
  /**
   * When that state began.
   */
  since?: string;
  /**
   * When a throttle ends, or a probation that stays quiet. Absent while a probation is not quiet.
   */
  until?: string;
  /**
   * How long it is throttled, or was before the probation. Doubles with each relapse.
   */
  releaseSeconds?: number;
  /**
   * How it is held still. ScaleToZero stands until every replica count was given back.
   */
  held?: "Throttle" | "ScaleToZero";
  /**
   * How often something that somebody else had changed was put back since generation; twice at most.
   */
  changes?: number;
  /**
   * Generation of this object that the changes are counted for.
   */
  generation?: number;
}
