import { GROUP, PLURAL } from "./api/names";
import type { Permission } from "./core/intent";

/**
 * What the operator needs beside the remedies' `may`, in every namespace that it looks after. Together with those it is the ClusterRoles
 * of the chart; a test compares the two. Leases and Pepr's store are Roles in their own namespaces.
 */
export const ownPermissions: readonly Permission[] = [
  {
    apiGroup: GROUP,
    resource: PLURAL,
    verbs: ["get", "list", "watch", "patch"],
    why: "these are the objects it reconciles; patch puts its finalizer on them and takes it off, for which there is no smaller right",
  },
  { apiGroup: GROUP, resource: `${PLURAL}/status`, verbs: ["update"], why: "status says what it sees and has done" },
  { apiGroup: "events.k8s.io", resource: "events", verbs: ["create", "patch"], why: "Events tell people what it did" },
];
