// The objects in each namespace before the operator acts.

/** Placeholder for the namespace in which a spec is applied. */
export const NAMESPACE = "NAMESPACE";

/** Placeholder for a time less than a week ahead. */
export const IN_THREE_DAYS = "IN_THREE_DAYS";

/** Names of the workloads; each runs as a ServiceAccount of the same name. */
export const WORKLOADS = { Deployment: "web", StatefulSet: "store", DaemonSet: "agent" } as const;

/** Label of every workload. */
export const LABEL = { key: "part-of", value: "team" } as const;

/** A level that another user created. */
export const FOREIGN_LEVEL = "fields-of-others";

/** The role of all bindings. */
export const ROLE = "fields-reader";

/** Expiring RoleBindings by name, with their life in hours. A ClusterRoleBinding has the namespace's name. */
export const BINDINGS = { soon: 7, late: 1_440 } as const;
