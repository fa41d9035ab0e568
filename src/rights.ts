import { CLUSTER_PLURAL, GROUP, PLURAL } from "./api/names";
import type { Permission } from "./core/intent";
import { clusterWidePermissions } from "./engine/cluster-wide/cluster-wide";

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
  ...clusterWidePermissions,
  {
    apiGroup: GROUP,
    resource: CLUSTER_PLURAL,
    verbs: ["get", "list", "watch"],
    why: "protects the namespaces that these objects select",
  },
  { apiGroup: GROUP, resource: `${CLUSTER_PLURAL}/status`, verbs: ["update"], why: "reports in their status" },
  { apiGroup: "events.k8s.io", resource: "events", verbs: ["create"], why: "records Events" },
];
