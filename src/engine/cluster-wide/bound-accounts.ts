import { SERVICE_ACCOUNT_USERS } from "../../core/service-account-user";
import type { BindingView, SubjectView } from "../../core/views";

/** Source of the ClusterRoleBindings; RoleBindings have their namespace. */
export const CLUSTER_ROLE_BINDINGS = "";

const GROUP_OF_NAMESPACE = "system:serviceaccounts:";

/**
 * Which ServiceAccounts some role is bound to: by name, or by the group of their namespace. The groups of all ServiceAccounts and of all
 * authenticated users do not count, since the defaults of every cluster bind roles to them.
 */
export class BoundAccounts {
  /** What each source binds, as `namespace/name`, or `namespace/` for a whole namespace. */
  readonly #bySource = new Map<string, ReadonlySet<string>>();
  readonly #counts = new Map<string, number>();

  clear(): void {
    this.#bySource.clear();
    this.#counts.clear();
  }

  has(namespace: string, name: string): boolean {
    return this.#counts.has(`${namespace}/${name}`) || this.#counts.has(`${namespace}/`);
  }

  /**
   * Replaces the bindings of a namespace, or the ClusterRoleBindings. Returns the namespaces whose ServiceAccounts gain or lose one.
   *
   * @param source a namespace, or {@link CLUSTER_ROLE_BINDINGS}
   */
  replace(source: string, bindings: readonly BindingView[]): ReadonlySet<string> {
    const before = this.#bySource.get(source) ?? new Set<string>();
    const after = new Set(bindings.flatMap(({ subjects }) => subjects.flatMap(accountsOf)));
    const changed = new Set<string>();
    for (const account of before) if (!after.has(account)) this.#add(account, -1, changed);
    for (const account of after) if (!before.has(account)) this.#add(account, 1, changed);
    if (after.size === 0) this.#bySource.delete(source);
    else this.#bySource.set(source, after);
    return changed;
  }

  #add(account: string, by: 1 | -1, changed: Set<string>): void {
    const before = this.#counts.get(account) ?? 0;
    if (before + by === 0) this.#counts.delete(account);
    else this.#counts.set(account, before + by);
    if (before === 0 || before + by === 0) changed.add(account.slice(0, account.indexOf("/")));
  }
}

function accountsOf({ kind, name, namespace }: SubjectView): string[] {
  if (kind === "ServiceAccount") return namespace === undefined ? [] : [`${namespace}/${name}`];
  if (kind === "User" && name.startsWith(SERVICE_ACCOUNT_USERS))
    return [name.slice(SERVICE_ACCOUNT_USERS.length).replace(":", "/")];
  if (kind !== "Group" || !name.startsWith(GROUP_OF_NAMESPACE)) return [];
  return [`${name.slice(GROUP_OF_NAMESPACE.length)}/`];
}
