/** API group of the custom resource. */
export const GROUP = "controller-resilience.io";

/** Served version of the custom resource. */
export const VERSION = "v1alpha1";

/** Kind of the custom resource. */
export const KIND = "ControllerResilience";

/** Plural of the custom resource, as in URLs and RBAC rules. */
export const PLURAL = "controllerresiliences";

/** Field manager of every write, value of `app.kubernetes.io/managed-by`, and reporting controller of every Event. */
export const MANAGER = "controller-resilience";

/** On any pod, workload or binding: `"true"` makes the operator leave it alone. */
export const SKIP_ANNOTATION = `${GROUP}/skip`;

/** On a MutatingAdmissionPolicy and its binding: name of the DaemonSet whose pods they are for. */
export const DAEMON_SET_ANNOTATION = `${GROUP}/daemonset`;

/** On a pod template: set by the strategy RolloutRestart, as kubectl sets `kubectl.kubernetes.io/restartedAt`. */
export const RESTARTED_AT_ANNOTATION = `${GROUP}/restarted-at`;

/** On a FlowSchema of the operator: the priority levels that it needs, separated by commas; the first is the one that it goes back to. */
export const LEVELS_ANNOTATION = `${GROUP}/priority-levels`;

/** On a workload that was scaled to zero: its replicas before, to be given back. {@link OWNER_ANNOTATION} beside it says to whom it matters. */
export const REPLICAS_BEFORE_ANNOTATION = `${GROUP}/replicas-before`;

/** Who keeps an object; {@link MANAGER} is its value on whatever this operator made. */
export const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";

/** On objects outside of namespaces: uid of the ControllerResilience that they were made for. */
export const OWNER_UID_LABEL = `${GROUP}/owner-uid`;

/** The same for people: its namespace and name. */
export const OWNER_ANNOTATION = `${GROUP}/owner`;

/** Holds a ControllerResilience back until what was made for it outside of its namespace is gone. */
export const FINALIZER = `${GROUP}/cleanup`;

/** Every FlowSchema and PriorityLevelConfiguration of the operator begins with it. */
export const FLOW_PREFIX = `${MANAGER}-`;
