// The kinds that the simulated servers know. Custom resources come from their definitions in the store.

/** What a server knows of a kind. */
export interface KindInfo {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  /** metadata.generation counts changes of everything but metadata and status. */
  readonly hasGeneration: boolean;
  readonly subresources: readonly string[];
  /** A custom resource. */
  readonly isCustom?: boolean;
}

type Row = readonly [plural: string, kind: string, scope: "Cluster" | "Namespaced", generation: boolean, subs: string];

const GROUPS: Readonly<Record<string, readonly Row[]>> = {
  v1: [
    ["namespaces", "Namespace", "Cluster", false, "status"],
    ["nodes", "Node", "Cluster", false, "status"],
    ["pods", "Pod", "Namespaced", true, "status log eviction"],
    ["serviceaccounts", "ServiceAccount", "Namespaced", false, "token"],
    ["events", "Event", "Namespaced", false, ""],
    ["configmaps", "ConfigMap", "Namespaced", false, ""],
    ["resourcequotas", "ResourceQuota", "Namespaced", false, "status"],
  ],
  "apps/v1": [
    ["deployments", "Deployment", "Namespaced", true, "status"],
    ["replicasets", "ReplicaSet", "Namespaced", true, "status"],
    ["statefulsets", "StatefulSet", "Namespaced", true, "status"],
    ["daemonsets", "DaemonSet", "Namespaced", true, "status"],
    ["controllerrevisions", "ControllerRevision", "Namespaced", false, ""],
  ],
  "rbac.authorization.k8s.io/v1": [
    ["roles", "Role", "Namespaced", false, ""],
    ["rolebindings", "RoleBinding", "Namespaced", false, ""],
    ["clusterroles", "ClusterRole", "Cluster", false, ""],
    ["clusterrolebindings", "ClusterRoleBinding", "Cluster", false, ""],
  ],
  "coordination.k8s.io/v1": [["leases", "Lease", "Namespaced", false, ""]],
  "policy/v1": [["poddisruptionbudgets", "PodDisruptionBudget", "Namespaced", true, "status"]],
  "discovery.k8s.io/v1": [["endpointslices", "EndpointSlice", "Namespaced", true, ""]],
  "flowcontrol.apiserver.k8s.io/v1": [
    ["flowschemas", "FlowSchema", "Cluster", true, "status"],
    ["prioritylevelconfigurations", "PriorityLevelConfiguration", "Cluster", true, "status"],
  ],
  "apiextensions.k8s.io/v1": [["customresourcedefinitions", "CustomResourceDefinition", "Cluster", true, "status"]],
};

/** The built-in kinds, by plural. */
export const BUILT_IN: ReadonlyMap<string, KindInfo> = new Map(
  Object.entries(GROUPS).flatMap(([apiVersion, rows]) =>
    rows.map(([plural, kind, scope, hasGeneration, subs]) => {
      const [version = "", group = ""] = apiVersion.split("/").reverse();
      const subresources = subs === "" ? [] : subs.split(" ");
      const info = { group, version, plural, kind, isNamespaced: scope === "Namespaced", hasGeneration, subresources };
      return [plural, info] as const;
    }),
  ),
);

/** Events in the group that writes them today; the store has them as the core group does. */
export const NEW_EVENTS: KindInfo = { ...BUILT_IN.get("events")!, group: "events.k8s.io" };

/** Returns `group/version`, or the version of the core group. */
export function apiVersionOf({ group, version }: Pick<KindInfo, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}

/** `pods`, or `deployments.apps`, as messages name a resource. */
export function qualifiedName({ group, plural }: Pick<KindInfo, "group" | "plural">): string {
  return group === "" ? plural : `${plural}.${group}`;
}

/** The kind of a custom resource, by its definition. */
export function kindOfDefinition(definition: Readonly<Record<string, unknown>> | undefined): KindInfo | undefined {
  const spec = definition?.["spec"] as DefinitionSpec | undefined;
  const version = spec?.versions.find(({ served }) => served);
  if (spec === undefined || version === undefined) return undefined;
  return {
    ...{ group: spec.group, version: version.name, plural: spec.names.plural, kind: spec.names.kind },
    isNamespaced: spec.scope === "Namespaced",
    hasGeneration: true,
    subresources: Object.keys(version.subresources ?? {}),
    isCustom: true,
  };
}

/** The part of a CustomResourceDefinition's spec that a server needs. */
export interface DefinitionSpec {
  readonly group: string;
  readonly scope: "Namespaced" | "Cluster";
  readonly names: { readonly plural: string; readonly kind: string };
  readonly versions: readonly {
    readonly name: string;
    readonly served: boolean;
    readonly subresources?: Readonly<Record<string, unknown>>;
    readonly schema?: { readonly openAPIV3Schema?: object };
  }[];
}
