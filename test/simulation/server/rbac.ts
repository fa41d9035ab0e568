import type { Identity } from "./access";
import { qualifiedName } from "./kinds";
import type { Obj } from "./objects";
import { matches } from "./selectors";
import type { Store } from "./store";

/** What a request wants, as an authorizer sees it. */
export interface Attributes {
  readonly verb: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** Counts for a request that is for no resource. */
  readonly path?: string;
}

/** A rule of a role. */
export interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

interface RoleRef {
  readonly kind: string;
  readonly name: string;
}

/** What the roles of every cluster give to each user that is authenticated. */
const BASIC: readonly Rule[] = [
  {
    verbs: ["create"],
    apiGroups: ["authorization.k8s.io"],
    resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
  },
  { verbs: ["create"], apiGroups: ["authentication.k8s.io"], resources: ["selfsubjectreviews"] },
  {
    verbs: ["get"],
    nonResourceURLs: [
      ...["/healthz", "/livez", "/readyz", "/version", "/version/"],
      ...["/api", "/apis", "/openapi"].flatMap(url => [url, `${url}/*`]),
    ],
  },
];

/** system:service-account-issuer-discovery, which every cluster binds to all ServiceAccounts. */
const ISSUER: Rule = {
  verbs: ["get"],
  nonResourceURLs: ["/.well-known/openid-configuration", "/openid/v1/jwks"].flatMap(url => [url, `${url}/`]),
};

interface Aggregation {
  readonly clusterRoleSelectors?: readonly object[];
}

/** A number that changes with the rights that somebody has in a namespace; without it, with those at the cluster scope. */
export function rbacVersion(store: Store, namespace?: string): number {
  const everywhere = store.version("clusterroles") + store.version("clusterrolebindings");
  if (namespace === undefined) return everywhere;
  return everywhere + store.version("roles", namespace) + store.version("rolebindings", namespace);
}

/** What was found out about one namespace. */
interface Known {
  readonly version: number;
  readonly rules: Map<string, readonly Rule[]>;
  readonly answers: Map<string, boolean>;
}

/** Authorizes by the roles and bindings in the store. */
export class Rbac {
  readonly #store: Store;
  readonly #known = new Map<string | undefined, Known>();

  constructor(store: Store) {
    this.#store = store;
  }

  allows(identity: Identity, attributes: Attributes): boolean {
    if (identity.groups.includes("system:masters")) return true;
    const { verb, group, resource, subresource, namespace, name, path } = attributes;
    const { answers } = this.#knownOf(namespace);
    const id = `${identity.user}|${verb}|${group}|${resource}|${subresource}|${name}|${resource === undefined ? path : ""}`;
    const known = answers.get(id);
    if (known !== undefined) return known;
    const allowed = this.rulesOf(identity, namespace).some(rule => covers(rule, attributes));
    answers.set(id, allowed);
    return allowed;
  }

  /** The rules of a user in a namespace, or in none. */
  rulesOf(identity: Identity, namespace?: string): readonly Rule[] {
    const { rules } = this.#knownOf(namespace);
    const id = `${identity.user}|${identity.groups.join(",")}`;
    const known = rules.get(id);
    if (known !== undefined) return known;
    const found = this.#rulesOf(identity, namespace);
    rules.set(id, found);
    return found;
  }

  /** The rules of a role that a binding refers to; undefined if there is none. */
  rulesOfRole({ kind, name }: RoleRef, namespace?: string): readonly Rule[] | undefined {
    const role =
      kind === "ClusterRole"
        ? this.#store.get("clusterroles", undefined, name)
        : this.#store.get("roles", namespace, name);
    if (role === undefined) return undefined;
    const own = (role["rules"] ?? []) as Rule[];
    const { clusterRoleSelectors: selectors = [] } = (role["aggregationRule"] ?? {}) as Aggregation;
    const aggregated = selectors.flatMap(selector =>
      this.#store.list("clusterroles").filter(({ metadata: { labels } }) => matches(selector, labels)),
    );
    return [...own, ...aggregated.flatMap(({ rules }) => (rules ?? []) as Rule[])];
  }

  #knownOf(namespace: string | undefined): Known {
    const version = rbacVersion(this.#store, namespace);
    const known = this.#known.get(namespace);
    if (known?.version === version) return known;
    const fresh = { version, rules: new Map<string, readonly Rule[]>(), answers: new Map<string, boolean>() };
    this.#known.set(namespace, fresh);
    return fresh;
  }

  #rulesOf(identity: Identity, namespace: string | undefined): readonly Rule[] {
    const isBound = ({ subjects, metadata }: Obj): boolean =>
      ((subjects ?? []) as Subject[]).some(subject => isSubject(subject, identity, metadata.namespace));
    const within = namespace === undefined ? [] : this.#store.list("rolebindings", namespace);
    const bindings = [...this.#store.list("clusterrolebindings"), ...within].filter(isBound);
    const granted = bindings.flatMap(
      ({ roleRef, metadata }) => this.rulesOfRole(roleRef as RoleRef, metadata.namespace) ?? [],
    );
    const common = identity.groups.includes("system:authenticated") ? BASIC : [];
    const issuer = identity.groups.includes("system:serviceaccounts") ? [ISSUER] : [];
    return [...common, ...issuer, ...granted];
  }
}

function isSubject({ kind, name, namespace }: Subject, { user, groups }: Identity, place: string | undefined): boolean {
  if (kind === "User") return name === user;
  if (kind === "Group") return groups.includes(name);
  return kind === "ServiceAccount" && user === `system:serviceaccount:${namespace ?? place ?? ""}:${name}`;
}

/** Reports whether a rule allows this. */
export function covers(rule: Rule, attributes: Attributes): boolean {
  const { verb, resource, path = "" } = attributes;
  if (!has(rule.verbs, verb)) return false;
  return resource === undefined
    ? (rule.nonResourceURLs ?? []).some(url => isUrl(url, path))
    : coversResource(rule, attributes);
}

function coversResource({ apiGroups = [], resources = [], resourceNames = [] }: Rule, attributes: Attributes): boolean {
  const { group = "", name = "" } = attributes;
  const isNamed = resourceNames.length === 0 || resourceNames.includes(name);
  return isNamed && has(apiGroups, group) && resources.some(one => isResource(one, attributes));
}

function isResource(pattern: string, { resource = "", subresource }: Attributes): boolean {
  if (subresource === undefined) return pattern === "*" || pattern === resource;
  return ["*", `${resource}/${subresource}`, `*/${subresource}`].includes(pattern);
}

/** Whether a list of a rule has something, or all. */
export function has(list: readonly string[], wanted: string): boolean {
  return list.includes("*") || list.includes(wanted);
}

/** Whether a URL of a rule, perhaps with an asterisk, is for a path. */
export function isUrl(url: string, path: string): boolean {
  return url === path || url === "*" || (url.endsWith("*") && path.startsWith(url.slice(0, -1)));
}

/** What is said of a request for a resource that no rule allows. */
export function refusal(attributes: Attributes, user: string): string {
  const { verb, group = "", resource = "", subresource, namespace, name } = attributes;
  const what = qualifiedName({ group, plural: resource }) + (name === undefined ? "" : ` "${name}"`);
  const sub = subresource === undefined ? resource : `${resource}/${subresource}`;
  const where = namespace === undefined ? "at the cluster scope" : `in the namespace "${namespace}"`;
  return `${what} is forbidden: User "${user}" cannot ${verb} resource "${sub}" in API group "${group}" ${where}`;
}
