import { pluralOf } from "../../core/kinds";
import type { Intent, Permission } from "../../core/intent";

/** What the API server checks for a write, as an RBAC rule states it. */
export interface RequiredPermission {
  readonly apiGroup: string;
  readonly resource: string;
  readonly verb: string;
}

/** The permission that an intent needs. Pure. */
export function requiredPermission(intent: Intent): RequiredPermission {
  // The Eviction is of group policy, but the subresource belongs to the pod.
  if (intent.verb === "evict") return { apiGroup: "", resource: "pods/eviction", verb: "create" };
  const { apiVersion, kind } = intent.target;
  const apiGroup = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  // Server-side apply is a patch, also when it creates.
  return { apiGroup, resource: pluralOf(kind) ?? kind, verb: intent.verb === "apply" ? "patch" : intent.verb };
}

/** Reports whether a remedy's permissions cover a required one. */
export function isPermitted(required: RequiredPermission, permissions: readonly Permission[]): boolean {
  return permissions.some(
    ({ apiGroup, resource, verbs }) =>
      apiGroup === required.apiGroup && resource === required.resource && verbs.includes(required.verb),
  );
}
