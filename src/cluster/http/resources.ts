import { GROUP, KIND, PLURAL, VERSION } from "../../api/names";
import { TerminalError } from "../../core/errors";
import type { ObjectRef } from "../../core/intent";

/** A resource of the Kubernetes API, as URLs and RBAC rules name it. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

/** Where one object or collection is. */
export interface Place {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string;
}

const RBAC = "rbac.authorization.k8s.io";

/** The resources that this project reads. */
export const RESOURCES = {
  pods: { group: "", version: "v1", plural: "pods" },
  serviceAccounts: { group: "", version: "v1", plural: "serviceaccounts" },
  controllerResiliences: { group: GROUP, version: VERSION, plural: PLURAL },
  leases: { group: "coordination.k8s.io", version: "v1", plural: "leases" },
  roleBindings: { group: RBAC, version: "v1", plural: "rolebindings" },
  clusterRoleBindings: { group: RBAC, version: "v1", plural: "clusterrolebindings" },
  coreEvents: { group: "", version: "v1", plural: "events" },
  events: { group: "events.k8s.io", version: "v1", plural: "events" },
  endpointSlices: { group: "discovery.k8s.io", version: "v1", plural: "endpointslices" },
  peprStores: { group: "pepr.dev", version: "v1", plural: "peprstores" },
  selfSubjectReviews: { group: "authentication.k8s.io", version: "v1", plural: "selfsubjectreviews" },
  selfSubjectAccessReviews: { group: "authorization.k8s.io", version: "v1", plural: "selfsubjectaccessreviews" },
} as const satisfies Record<string, Resource>;

/** Plurals of the kinds that intents may name. No rule leads from one to the other, and asking the API server costs a call. */
const PLURALS: Readonly<Record<string, string>> = {
  Pod: "pods",
  ServiceAccount: "serviceaccounts",
  Deployment: "deployments",
  StatefulSet: "statefulsets",
  DaemonSet: "daemonsets",
  RoleBinding: "rolebindings",
  ClusterRoleBinding: "clusterrolebindings",
  FlowSchema: "flowschemas",
  PriorityLevelConfiguration: "prioritylevelconfigurations",
  MutatingAdmissionPolicy: "mutatingadmissionpolicies",
  MutatingAdmissionPolicyBinding: "mutatingadmissionpolicybindings",
  [KIND]: PLURAL,
};

/** Plurals of what is in no namespace. */
const CLUSTER_SCOPED: ReadonlySet<string> = new Set([
  "clusterrolebindings",
  "flowschemas",
  "prioritylevelconfigurations",
  "mutatingadmissionpolicies",
  "mutatingadmissionpolicybindings",
]);

/** Whether objects of that resource are in no namespace. */
export function isClusterScoped(plural: string): boolean {
  return CLUSTER_SCOPED.has(plural);
}

/** The resource of an object. @throws TerminalError for a kind that this project never writes */
export function resourceOf(ref: Pick<ObjectRef, "apiVersion" | "kind">): Resource {
  const plural = PLURALS[ref.kind];
  if (plural === undefined) throw new TerminalError(`kind ${ref.kind} is none that the operator writes`);
  const [version = "", group = ""] = ref.apiVersion.split("/").reverse();
  return { group, version, plural };
}

/** The URL path; names are escaped, so that none can lead elsewhere. */
export function pathOf(resource: Resource, place: Place = {}): string {
  const segments = [
    ...(resource.group === "" ? ["api"] : ["apis", resource.group]),
    resource.version,
    ...(place.namespace === undefined ? [] : ["namespaces", place.namespace]),
    resource.plural,
    ...(place.name === undefined ? [] : [place.name]),
    ...(place.subresource === undefined ? [] : [place.subresource]),
  ];
  return segments.map(segment => `/${encodeURIComponent(segment)}`).join("");
}

/** For people: `get pods kai/scheduler-0`, `list pods in kai`. */
export function describeCall(verb: string, resource: Resource, place: Place = {}): string {
  const plural = place.subresource === undefined ? resource.plural : `${resource.plural}/${place.subresource}`;
  if (place.name !== undefined) {
    return `${verb} ${plural} ${place.namespace === undefined ? "" : `${place.namespace}/`}${place.name}`;
  }
  return place.namespace === undefined ? `${verb} ${plural}` : `${verb} ${plural} in ${place.namespace}`;
}
