import type { Api } from "../../src/cluster/http/api";
import type { Connection } from "../../src/cluster/http/connection";
import { loadKubeConfigFile } from "../../src/cluster/testing/kubeconfig";
import { ForbiddenError } from "../../src/core/errors";
import { apiOver, connectionOf } from "./cluster-operator";
import type { Admin } from "../cluster/admin";
import { suiteLab } from "./suite-lab";

/** A right that an author may have: in the namespace of its objects, or for a cluster-scoped resource in the whole cluster. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  /** With its subresource, such as `pods/eviction`. */
  readonly resource: string;
  readonly isCluster?: true;
  /** How a refusal names it, where that is not verb and resource alone. */
  readonly said?: string;
}

const RBAC_GROUP = "rbac.authorization.k8s.io";
const FLOWS = "flowcontrol.apiserver.k8s.io";

/** All rights that the policy checks. */
export const RIGHTS = {
  evict: { verb: "create", group: "", resource: "pods/eviction" },
  readLogs: { verb: "get", group: "", resource: "pods/log" },
  patchDaemonSets: { verb: "patch", group: "apps", resource: "daemonsets" },
  updateRoleBindings: { verb: "update", group: RBAC_GROUP, resource: "rolebindings" },
  updateClusterRoleBindings: { verb: "update", group: RBAC_GROUP, resource: "clusterrolebindings", isCluster: true },
  bindRoles: { verb: "bind", group: RBAC_GROUP, resource: "roles" },
  bindClusterRoles: { verb: "bind", group: RBAC_GROUP, resource: "clusterroles" },
  bindClusterRolesEverywhere: { verb: "bind", group: RBAC_GROUP, resource: "clusterroles", isCluster: true },
  readClusterRoleBindings: { verb: "get", group: RBAC_GROUP, resource: "clusterrolebindings", isCluster: true },
  listWidgets: {
    ...{ verb: "list", group: "example.com", resource: "widgets", isCluster: true },
    said: "list widgets.example.com in all namespaces",
  },
  createTokens: { verb: "create", group: "", resource: "serviceaccounts/token" },
  createFlowSchemas: { verb: "create", group: FLOWS, resource: "flowschemas", isCluster: true },
} as const satisfies Readonly<Record<string, Right>>;

const OWN = own("controllerresiliences");

/** The rights to write ClusterControllerResiliences. */
export const CLUSTER_OBJECTS = own("clustercontrollerresiliences").map(right => ({
  ...right,
  isCluster: true as const,
}));

function own(resource: string): Right[] {
  return ["create", "update", "patch", "get"].map(verb => ({ verb, group: "controller-resilience.io", resource }));
}

/** A user who writes ControllerResiliences. */
export interface Author {
  readonly name: string;
  readonly api: Api;
}

/** Authors that have exactly these rights. Authors with the same rights are the same user. */
export class Authors {
  readonly #known = new Map<string, Author>();
  readonly #connections: Connection[] = [];

  constructor(
    private readonly admin: Admin,
    private readonly namespace: string,
  ) {}

  /** @param always rights in all namespaces, so that no refusal is about them: by default those to write ControllerResiliences */
  async with(rights: readonly Right[], always: readonly Right[] = OWN): Promise<Author> {
    const key = JSON.stringify([rights, always]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const name = `author-${this.#known.size}-${this.namespace}`;
    await this.#grant(name, "cluster", [...always, ...rights.filter(isCluster)]);
    await this.#grant(
      name,
      "namespace",
      rights.filter(right => !isCluster(right)),
    );
    for (const { verb, group, resource: full } of [...always, ...rights]) {
      const [resource, subresource = ""] = full.split("/");
      await this.admin.untilAllowed(name, { namespace: this.namespace, verb, group, resource, subresource });
    }
    const author = this.user(name);
    this.#known.set(key, author);
    return author;
  }

  /** A user that exists already, such as a controller of the cluster: an administrator impersonates it. */
  user(name: string): Author {
    const admin = loadKubeConfigFile(suiteLab().kubeconfigPath).getCurrentUser();
    const connection = connectionOf({ ...admin, impersonateUser: name });
    this.#connections.push(connection);
    return { name, api: apiOver(connection) };
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  async #grant(name: string, where: "cluster" | "namespace", rights: readonly Right[]): Promise<void> {
    if (rights.length === 0) return;
    const rules = rights.map(({ verb, group, resource }) => ({
      apiGroups: [group],
      resources: [resource],
      verbs: [verb],
    }));
    const isHere = where === "namespace";
    const api = `/apis/${RBAC_GROUP}/v1${isHere ? `/namespaces/${this.namespace}` : ""}`;
    const [role, binding] = isHere
      ? (["roles", "rolebindings"] as const)
      : (["clusterroles", "clusterrolebindings"] as const);
    const roleRef = { apiGroup: RBAC_GROUP, kind: isHere ? "Role" : "ClusterRole", name };
    await this.admin.create(`${api}/${role}`, { metadata: { name }, rules });
    const subjects = [{ apiGroup: RBAC_GROUP, kind: "User", name }];
    await this.admin.create(`${api}/${binding}`, { metadata: { name }, roleRef, subjects });
  }
}

function isCluster(right: Right): boolean {
  return right.isCluster === true;
}

interface Write {
  readonly method: "POST" | "PATCH" | "PUT";
  readonly path: string;
  readonly body: object;
}

/** Sends a dry run of a write. Returns the API server's refusal, or undefined if it accepts the write. */
export async function refused({ api, name }: Author, { method, path, body }: Write): Promise<string | undefined> {
  const what = { what: `${method} as ${name}`, query: { dryRun: "All" } };
  const contentType = method === "PATCH" ? { contentType: "application/merge-patch+json" as const } : {};
  try {
    await api.json({ ...what, method, path, body, ...contentType });
    return undefined;
  } catch (error) {
    if (error instanceof ForbiddenError) return error.message;
    throw error;
  }
}
