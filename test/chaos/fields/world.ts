// What there is in each namespace before the operator comes.

/** Stands for the namespace that a spec is applied in. */
export const NAMESPACE = "NAMESPACE";

/** Stands for a moment that is less than a week ahead. */
export const IN_THREE_DAYS = "IN_THREE_DAYS";

/** Names of the workloads; each runs as a ServiceAccount of the same name. */
export const WORKLOADS = { Deployment: "web", StatefulSet: "store", DaemonSet: "agent" } as const;

/** On every workload. */
export const LABEL = { key: "part-of", value: "team" } as const;

/** A level that another user made. */
export const FOREIGN_LEVEL = "fields-of-others";

/** The role that all bindings give. */
export const ROLE = "fields-reader";

/** RoleBindings that expire, by their names: in how many hours. A ClusterRoleBinding has the namespace's name. */
export const BINDINGS = { soon: 7, late: 1_440 } as const;
