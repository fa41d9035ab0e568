import { pluralOf } from "../../core/kinds";
import type { Intent, Permission } from "../../core/intent";

/** What the API server will check for a write, in the words of an RBAC rule. */
export interface RequiredPermission {
  readonly apiGroup: string;
  readonly resource: string;
  readonly verb: string;
}

/** The right that an intent needs. Pure. */
export function requiredPermission(intent: Intent): RequiredPermission {
  // The Eviction is of the group policy, but the subresource that takes it is the pod's.
  if (intent.verb === "evict") return { apiGroup: "", resource: "pods/eviction", verb: "create" };
  const { apiVersion, kind } = intent.target;
  const apiGroup = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  // Server-side apply is a patch, also where it creates.
  return { apiGroup, resource: pluralOf(kind) ?? kind, verb: intent.verb === "apply" ? "patch" : intent.verb };
}

/** Whether what a remedy may do covers a right. */
export function isPermitted(required: RequiredPermission, permissions: readonly Permission[]): boolean {
  return permissions.some(
    ({ apiGroup, resource, verbs }) =>
      apiGroup === required.apiGroup && resource === required.resource && verbs.includes(required.verb),
  );
}
