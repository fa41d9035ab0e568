import { withDeadline } from "../../core/time";
import { publicMessage, ResilienceError, UnauthorizedError } from "../../core/errors";
import { KINDS, pluralOf } from "../../core/kinds";
import type { Readers, Right } from "../../core/readers";
import type { BindingView } from "../../core/views";
import { excessOf } from "./role";

/** What the API server and the operator itself ask before a write of a binding. */
export interface Review {
  /** Rights that the write needs and the operator lacks. */
  readonly lacks: readonly Right[];
  /** What the role allows and no binding by the operator may. Absent: nothing. */
  readonly excess?: string;
  /** Why neither could be reviewed now: nothing is written until they can. */
  readonly unread?: string;
}

const RBAC_GROUP = "rbac.authorization.k8s.io";

/** Time for the review of one binding. It leaves time for the others: one role that does not answer must not end the whole observation. */
const REVIEW_DEADLINE_MS = 25_000;

/**
 * Reviews the rights that a write of the binding needs, and with them its role. A failed read delays only this binding.
 *
 * @throws UnauthorizedError if the API server rejects the operator itself
 */
export async function reviewed(binding: BindingView, readers: Readers): Promise<Review> {
  try {
    return await withDeadline(readers.clock, REVIEW_DEADLINE_MS, "the read", () => review(binding, readers));
  } catch (error) {
    if (!(error instanceof ResilienceError) || error instanceof UnauthorizedError) throw error;
    return { lacks: [], unread: publicMessage(error) };
  }
}

async function review(binding: BindingView, readers: Readers): Promise<Review> {
  const rights = rightsFor(binding);
  const answers = await Promise.all(rights.map(right => readers.may(right)));
  const lacks = rights.filter((_, i) => answers[i] !== true);
  if (lacks.length > 0) return { lacks };
  const { namespace, roleRef } = binding;
  const role = await readers.role(roleRef.kind === "Role" ? "Role" : "ClusterRole", namespace, roleRef.name);
  // What it will allow once it is created again is as unknown.
  if (role === null) return { lacks, unread: "it does not exist" };
  // system:serviceaccount:NAMESPACE:NAME
  const own = [readers.ownNamespace, (await readers.ownUser())?.split(":")[2]];
  const excess = own.map(one => excessOf(role.rules, binding, one)).find(one => one !== undefined);
  return { lacks, ...(excess === undefined ? {} : { excess }) };
}

/**
 * The rights that a change of a binding needs: the write itself, and `bind` on the role, in the namespace of the binding
 * (kubernetes/kubernetes pkg/registry/rbac/rolebinding/policybased/storage.go and rbac/escalation_check.go, BindingAuthorized). The API
 * server also accepts a client that holds every permission of the role, which is more than `bind`. `get` on the role shows its rules: the
 * operator binds none with which its holder can take more rights (role.ts).
 */
export function rightsFor({ kind, name, namespace, roleRef }: BindingView): Right[] {
  const within = kind === "RoleBinding" ? { namespace } : {};
  const resource = pluralOf(roleRef.kind) ?? roleRef.kind;
  const role = { apiGroup: RBAC_GROUP, resource, name: roleRef.name };
  return [
    { apiGroup: RBAC_GROUP, resource: KINDS[kind].plural, verb: "patch", ...within, name },
    { ...role, verb: "bind", ...within },
    // A ClusterRole is read in no namespace: a Role cannot give that.
    { ...role, verb: "get", ...(roleRef.kind === "Role" ? within : {}) },
  ];
}

/** Verbs on a role, which are granted role by role. */
const ROLE_VERBS: ReadonlySet<string> = new Set(["bind", "get"]);

/** The rules to add, each as YAML in one line, and where a Role cannot give them. */
export function rulesOf(rights: readonly Right[]): string {
  return rights.map(ruleOf).join(" and ");
}

function ruleOf({ apiGroup, resource, verb, name, namespace }: Right): string {
  // A role's name may contain brackets and commas, and unquoted would be another rule.
  const names = name === undefined || !ROLE_VERBS.has(verb) ? "" : `, resourceNames: [${JSON.stringify(name)}]`;
  const where = namespace === undefined ? " by a ClusterRoleBinding" : "";
  return `{apiGroups: [${apiGroup}], resources: [${resource}]${names}, verbs: [${verb}]}${where}`;
}
