import { type ClusterWideCaches, type Facts } from "../../../core/cluster-wide";
import type { ClusterWidePorts } from "../../../engine/cluster-wide/ports";
import { FactsReader } from "../../../engine/cluster-wide/facts-reader";
import { OPERATOR_NAMESPACE } from "../operator";
import type { AuditFacts } from "./facts";

type Lists = Pick<AuditFacts, "namespaces" | "workloads" | "accounts" | "bindings" | "objects" | "clusterObjects">;

/** Puts together what the operator would know of each namespace; undefined if a list that this needs could not be read. */
export async function readCoverage(lists: Lists, only?: string): Promise<readonly Facts[] | undefined> {
  const caches = cachesOf(lists, only);
  if (caches === undefined) return undefined;
  // cached() needs neither of these.
  const unused = {} as Pick<ClusterWidePorts, "readers" | "store">;
  const reader = new FactsReader(
    { caches, ...unused },
    { ownNamespace: OPERATOR_NAMESPACE, isWatched: () => true },
    () => undefined,
  );
  const names = await reader.namespaces();
  // A binding may name ServiceAccounts of other namespaces, so all bindings are counted before the first namespace is judged.
  for (const name of names) await reader.cached(name);
  const facts: Facts[] = [];
  for (const name of names) facts.push(...[await reader.cached(name)].filter(one => one !== null));
  return facts;
}

function cachesOf(lists: Lists, only: string | undefined): ClusterWideCaches | undefined {
  const { workloads, accounts, bindings, objects, clusterObjects } = lists;
  if (workloads === undefined || accounts === undefined || bindings === undefined) return undefined;
  const namespaces = lists.namespaces ?? (only === undefined ? undefined : [bareNamespace(only)]);
  if (namespaces === undefined) return undefined;
  const workloadsIn = groupBy(workloads, ({ view }) => view.namespace);
  const accountsIn = groupBy(accounts, ({ namespace }) => namespace);
  const bindingsIn = groupBy(bindings, ({ namespace }) => namespace);
  const objectsIn = groupBy(objects, ({ metadata }) => metadata.namespace);
  return {
    namespaces: () => Promise.resolve(namespaces),
    namespace: name => Promise.resolve(namespaces.find(one => one.name === name)),
    workloads: namespace => Promise.resolve((workloadsIn.get(namespace) ?? []).map(({ view }) => view)),
    serviceAccounts: namespace => Promise.resolve(accountsIn.get(namespace) ?? []),
    bindings: (namespace = "") => Promise.resolve(bindingsIn.get(namespace) ?? NONE),
    attempted: () => Promise.resolve(),
    objects: namespace => objectsIn.get(namespace) ?? [],
    clusterObjects: () => clusterObjects,
    release: () => undefined,
  };
}

const NONE: readonly never[] = [];

/** Who may not read Namespaces still knows the name of the one that was asked for. */
function bareNamespace(name: string): NonNullable<AuditFacts["namespaces"]>[number] {
  return {
    namespace: "",
    name,
    uid: "",
    labels: { "kubernetes.io/metadata.name": name },
    annotations: {},
    skip: false,
  };
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
