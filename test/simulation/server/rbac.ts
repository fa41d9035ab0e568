import type { Identity } from "./access";
import type { Obj } from "./objects";
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

/** Rules of a user in one namespace; without it everywhere. */
interface Grant {
  readonly namespace: string | undefined;
  readonly rules: readonly Rule[];
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
      "/healthz",
      "/livez",
      "/readyz",
      "/version",
      "/version/",
      "/api",
      "/api/*",
      "/apis",
      "/apis/*",
      "/openapi",
      "/openapi/*",
    ],
  },
];

/** system:service-account-issuer-discovery, which every cluster binds to all ServiceAccounts. */
const ISSUER: Rule = {
  verbs: ["get"],
  nonResourceURLs: [
    "/.well-known/openid-configuration",
    "/.well-known/openid-configuration/",
    "/openid/v1/jwks",
    "/openid/v1/jwks/",
  ],
};

interface Aggregation {
  readonly clusterRoleSelectors?: readonly { readonly matchLabels?: Readonly<Record<string, string>> }[];
}

const RESOURCES = ["roles", "rolebindings", "clusterroles", "clusterrolebindings"];

/** Authorizes by the roles and bindings in the store. */
export class Rbac {
  readonly #store: Store;
  #grants = new Map<string, readonly Grant[]>();
  #answers = new Map<string, boolean>();
  #version = -1;

  constructor(store: Store) {
    this.#store = store;
  }

  allows(identity: Identity, attributes: Attributes): boolean {
    if (identity.groups.includes("system:masters")) return true;
    this.#refresh();
    const { verb, group, resource, subresource, namespace, name, path } = attributes;
    const id = `${identity.user}|${verb}|${group}|${resource}|${subresource}|${namespace}|${name}|${resource === undefined ? path : ""}`;
    const known = this.#answers.get(id);
    if (known !== undefined) return known;
    const allowed = this.rulesOf(identity, namespace).some(rule => covers(rule, attributes));
    this.#answers.set(id, allowed);
    return allowed;
  }

  /** The rules of a user in a namespace, or in none. */
  rulesOf(identity: Identity, namespace?: string): readonly Rule[] {
    this.#refresh();
    const id = `${identity.user}|${identity.groups.join(",")}`;
    const known = this.#grants.get(id);
    const grants = known ?? this.#grantsOf(identity);
    if (known === undefined) this.#grants.set(id, grants);
    return grants
      .filter(grant => grant.namespace === undefined || grant.namespace === namespace)
      .flatMap(({ rules }) => rules);
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
    const aggregated = selectors.flatMap(({ matchLabels = {} }) =>
      this.#store
        .list("clusterroles")
        .filter(({ metadata: { labels } }) =>
          Object.entries(matchLabels).every(([key, value]) => labels?.[key] === value),
        ),
    );
    return [...own, ...aggregated.flatMap(({ rules }) => (rules ?? []) as Rule[])];
  }

  #refresh(): void {
    const version = RESOURCES.reduce((sum, resource) => sum + this.#store.version(resource), 0);
    if (version === this.#version) return;
    this.#version = version;
    this.#grants = new Map();
    this.#answers = new Map();
  }

  #grantsOf(identity: Identity): Grant[] {
    const isBound = ({ subjects, metadata }: Obj): boolean =>
      ((subjects ?? []) as Subject[]).some(subject => isSubject(subject, identity, metadata.namespace));
    const grant = ({ roleRef, metadata }: Obj): Grant => {
      const rules = this.rulesOfRole(roleRef as RoleRef, metadata.namespace) ?? [];
      return { namespace: metadata.namespace, rules };
    };
    const bindings = [...this.#store.list("clusterrolebindings"), ...this.#store.list("rolebindings")];
    const common = identity.groups.includes("system:authenticated") ? BASIC : [];
    const issuer = identity.groups.includes("system:serviceaccounts") ? [ISSUER] : [];
    return [{ namespace: undefined, rules: [...common, ...issuer] }, ...bindings.filter(isBound).map(grant)];
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

function has(list: readonly string[], wanted: string): boolean {
  return list.includes("*") || list.includes(wanted);
}

function isUrl(url: string, path: string): boolean {
  return url === path || url === "*" || (url.endsWith("*") && path.startsWith(url.slice(0, -1)));
}
