import { GROUP, PLURAL } from "./api/names";
import type { Permission } from "./core/intent";

/**
 * The operator's own permissions in every watched namespace, besides those of the remedies. A test compares both with the chart's
 * ClusterRoles. The Lease and Pepr's stores have Roles in their namespaces.
 */
export const ownPermissions: readonly Permission[] = [
  {
    apiGroup: GROUP,
    resource: PLURAL,
    verbs: ["get", "list", "watch", "patch"],
    why: "reconciles these objects; patch adds and removes its finalizer, for which no smaller permission exists",
  },
  { apiGroup: GROUP, resource: `${PLURAL}/status`, verbs: ["update"], why: "reports in status" },
  {
    apiGroup: "",
    resource: "namespaces",
    verbs: ["get", "list", "watch"],
    why: "reads the skip annotation of Namespaces, which is unknown without this right",
  },
  { apiGroup: "events.k8s.io", resource: "events", verbs: ["create", "patch"], why: "records Events" },
];
