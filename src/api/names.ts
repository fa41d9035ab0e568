/** API group of the custom resource. */
export const GROUP = "controller-resilience.io";

/** Served version of the custom resource. */
export const VERSION = "v1alpha1";

/** Kind of the custom resource. */
export const KIND = "ControllerResilience";

/** Plural of the custom resource, as in URLs and RBAC rules. */
export const PLURAL = "controllerresiliences";

/** Kind of the cluster-scoped custom resource. */
export const CLUSTER_KIND = "ClusterControllerResilience";

/** Plural of the cluster-scoped custom resource. */
export const CLUSTER_PLURAL = "clustercontrollerresiliences";

/** Field manager of every write, value of `app.kubernetes.io/managed-by`, and reporting controller of every Event. */
export const MANAGER = "controller-resilience";

/** On any pod, workload or binding: with the value `"true"` the operator does not act on the object. On a Namespace: on nothing in it. */
export const SKIP_ANNOTATION = `${GROUP}/skip`;

/** On a binding: with the value `"true"` the operator renews it. The API server lets only who may update the binding and bind its role write it. */
export const RENEW_ANNOTATION = `${GROUP}/renew`;

/** On a binding that the operator renews: the latest expiry that it has seen or written, RFC 3339. An earlier one is a person's word. */
export const LATEST_EXPIRY_ANNOTATION = `${GROUP}/latest-expiry`;

/** On a binding that the operator has renewed: its life before the first renewal, in seconds. */
export const LIFE_ANNOTATION = `${GROUP}/life-seconds`;

/**
 * Label or annotation of a Namespace or workload: `"true"` selects it for every ClusterControllerResilience, `"false"` for none. False
 * wins, then the label.
 */
export const PROTECT_LABEL = `${GROUP}/protect`;

/** On a generated ControllerResilience: name of the ClusterControllerResilience that it was generated for. */
export const GENERATED_FOR_LABEL = `${GROUP}/generated-for`;

/** On a ClusterControllerResilience: how many workloads may lose its protection, and since when they wait for that, as `40/2025-01-01T00:00:00Z`. */
export const ALLOW_REMOVAL_ANNOTATION = `${GROUP}/allow-removal`;

/** The manager of an object. Its value is {@link MANAGER} on every object that this operator creates. */
export const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";

/** On cluster-scoped objects: UID of the ControllerResilience that they were created for. */
export const OWNER_UID_LABEL = `${GROUP}/owner-uid`;

/** Namespace and name of the ControllerResilience that an object was created for, for people to read. */
export const OWNER_ANNOTATION = `${GROUP}/owner`;

/** On the operator's Lease: the restart breaker is tripped while this annotation is there. Its value has the time and the reason. */
export const BREAKER_ANNOTATION = `${GROUP}/breaker`;

/** On the operator's Lease: when a person last reset the restart breaker. Restarts before do not count. */
export const BREAKER_RESET_ANNOTATION = `${GROUP}/breaker-reset`;

/** On the operator's Lease: which keys have signed ServiceAccount tokens, as JSON. Without it a new leader knows of no key rotation. */
export const KEYS_ANNOTATION = `${GROUP}/signing-keys`;

/** Finalizer of a ControllerResilience. It stays until everything made for the object outside of its namespace is removed. */
export const FINALIZER = `${GROUP}/cleanup`;

/** Prefix of the name of every FlowSchema and PriorityLevelConfiguration of the operator. */
export const FLOW_PREFIX = `${MANAGER}-`;
