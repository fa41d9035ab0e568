import { isNamedIn } from "../../core/json";
import { SYSTEM_NAMESPACE } from "../../core/text";
import type { BindingView, RoleRule } from "../../core/views";

/** Resources on which these verbs let the holder of a role take rights that it was not given. */
interface Power {
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** Reports whether a rule that is limited to an object of this name is as powerful. Absent: it is, whatever the name. */
  readonly named?: (name: string) => boolean;
}

const RBAC = "rbac.authorization.k8s.io";
const CORE = "";
const ADMISSION = "admissionregistration.k8s.io";
const CHANGE = ["create", "update", "patch"];

/** The answer to a patch, also to an empty one, and to a delete in the foreground is the object, that to deletecollection the list; also in a dry run. */
const READ = ["get", "list", "watch", "patch", "delete", "deletecollection"];

/** A request without a name, such as list, matches an empty name in a rule. */
const isEmpty = (name: string): boolean => name === "";

/** Certificates of other signers are no identities for the API server. */
const isClientSigner = (name: string): boolean =>
  isEmpty(name) || name === "kubernetes.io/*" || name.startsWith("kubernetes.io/kube-apiserver-client");

// Source of both tables: "Privilege escalation risks" in https://kubernetes.io/docs/concepts/security/rbac-good-practices/; the comments
// name its sections. An aggregated ClusterRole has its effective rules in `rules`, like any other role, and each review reads them again.
// Not listed, because the controllers that are healed here need them, and Pod Security can limit them: "Workload creation", "Persistent
// volume creation" and "Namespace modification".

/** In every binding. */
const POWERS: readonly Power[] = [
  // "Escalate verb" and "Bind verb". The named role may be cluster-admin.
  { group: RBAC, resources: ["roles", "clusterroles"], verbs: ["escalate", "bind"] },
  // "Impersonate verb". A star is a constrained verb as well.
  { group: CORE, resources: ["users", "groups"], verbs: ["impersonate"] },
  { group: "authentication.k8s.io", resources: ["users", "groups", "serviceaccounts", "nodes"], verbs: ["*"] },
];

/**
 * In a ClusterRoleBinding, and in a RoleBinding of kube-system or the operator's namespace, which reach the credentials there. In any other
 * RoleBinding, these rights end at the pods and Secrets of its namespace (as Kubernetes' roles `edit` and `admin` do), or have no effect.
 */
const CLUSTER_POWERS: readonly Power[] = [
  // "Impersonate verb".
  { group: CORE, resources: ["serviceaccounts"], verbs: ["impersonate"] },
  // "Listing secrets", and every other verb that answers with them. Who creates one may make a bootstrap token, and with it become any node; who
  // overwrites one chooses its bootstrap token, or a password of a controller with more rights (argocd-secret).
  { group: CORE, resources: ["secrets"], verbs: [...READ, "create", "update"], named: isEmpty },
  // "Token request".
  { group: CORE, resources: ["serviceaccounts/token"], verbs: ["create"] },
  // Commands in any pod, as "Access to proxy subresource of Nodes" gives them; get is enough for a WebSocket. Names of pods are no limit: one has the keys.
  { group: CORE, resources: ["pods/exec", "pods/attach"], verbs: ["create", "get"] },
  { group: CORE, resources: ["pods/ephemeralcontainers"], verbs: ["update", "patch"] },
  // "Access to proxy subresource of Nodes". Each verb gives a part of the kubelet's API.
  { group: CORE, resources: ["nodes/proxy"], verbs: ["get", "create", "update", "patch", "delete"] },
  // "CSRs and certificate issuing". Approval needs this verb on the signer.
  { group: "certificates.k8s.io", resources: ["signers"], verbs: ["approve", "sign"], named: isClientSigner },
  // Kubernetes approves it for whoever has this right, whichever node it names (pkg/controller/certificates/approver).
  { group: "certificates.k8s.io", resources: ["certificatesigningrequests/nodeclient"], verbs: ["create"] },
  // "Control admission webhooks". A policy that mutates has the same effect.
  {
    group: ADMISSION,
    resources: [
      "mutatingwebhookconfigurations",
      "validatingwebhookconfigurations",
      "mutatingadmissionpolicies",
      "mutatingadmissionpolicybindings",
    ],
    verbs: CHANGE,
  },
  // An aggregated API server sees the credentials of its clients.
  { group: "apiregistration.k8s.io", resources: ["apiservices"], verbs: CHANGE },
];

/** Constrained impersonation (KEP 5284) puts what it allows into the verb: `impersonate:user-info`, `impersonate-on:user-info:list`. */
const CONSTRAINED = /^impersonate(-on)?:/;

/**
 * Says what lets the holder of a role take rights that it was not given, such as `may escalate clusterroles`; undefined if nothing does. An
 * operator that binds such a role is as good as cluster-admin. Pure.
 *
 * @param ownNamespace that of the operator, if it is known
 */
export function excessOf(
  rules: readonly RoleRule[],
  { kind, namespace }: Pick<BindingView, "kind" | "namespace">,
  ownNamespace?: string,
): string | undefined {
  const reachesAll = kind === "ClusterRoleBinding" || [SYSTEM_NAMESPACE, ownNamespace].includes(namespace);
  for (const rule of rules) {
    const found = powerIn(rule, POWERS) ?? constrained(rule) ?? allResources(rule);
    const excess = found ?? (reachesAll ? powerIn(rule, CLUSTER_POWERS) : undefined);
    if (excess !== undefined) return `may ${excess}`;
  }
  return undefined;
}

function constrained({ resources, verbs }: RoleRule): string | undefined {
  const verb = verbs.find(one => CONSTRAINED.test(one));
  return verb === undefined ? undefined : `${verb} ${resources.join(", ")}`;
}

function powerIn(rule: RoleRule, powers: readonly Power[]): string | undefined {
  for (const { group, resources, verbs, named } of powers) {
    if (!isNamedIn(rule.apiGroups, group) || isLimited(rule, named)) continue;
    const verb = verbs.find(one => isNamedIn(rule.verbs, one));
    const resource = resources.find(one => allows(rule, one));
    if (verb !== undefined && resource !== undefined) return `${verb} ${resource}`;
  }
  return undefined;
}

/** With Secrets, whatever else there is. */
function allResources({ apiGroups, resources, verbs }: RoleRule): string | undefined {
  const isAll = verbs.length > 0 && resources.includes("*") && isNamedIn(apiGroups, CORE);
  return isAll ? `${verbs.join(", ")} all resources ("*")` : undefined;
}

/** The rule has names, and none of them is as powerful as all. */
function isLimited({ resourceNames = [] }: RoleRule, named: Power["named"]): boolean {
  return resourceNames.length > 0 && named !== undefined && !resourceNames.some(named);
}

/** As RBAC does: a star stands for all resources and subresources, and before a subresource for all resources (pkg/apis/rbac/v1/evaluation_helpers.go). */
function allows({ resources }: RoleRule, resource: string): boolean {
  const [, subresource] = resource.split("/");
  return isNamedIn(resources, resource) || (subresource !== undefined && resources.includes(`*/${subresource}`));
}
