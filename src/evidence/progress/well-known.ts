// Kinds whose conventions are known, as data: what shows that an object is due, and what pauses it. A row is used for each version of its group.

/** What is known of a kind. */
export interface WellKnownKind {
  /** The version that is read if the spec has none. */
  readonly apiVersion: string;
  readonly kind: string;
  /** CEL; absent: {@link BY_GENERATION}. */
  readonly due?: string;
}

/** The default, by the convention of the API. */
export const BY_GENERATION =
  "has(object.status.observedGeneration) && object.metadata.generation > object.status.observedGeneration";

/** For kinds that count generations in their conditions: all that do are behind. */
const BY_CONDITIONS =
  "has(object.status.conditions) && object.status.conditions.exists(c, has(c.observedGeneration)) && object.status.conditions.all(c, !has(c.observedGeneration) || c.observedGeneration < object.metadata.generation)";

/** A person or a webhook requests a reconciliation by an annotation, which the status repeats when that is done. */
const requested = (annotation: string, handled: string): string =>
  `has(object.metadata.annotations) && '${annotation}' in object.metadata.annotations && has(object.status.${handled}) && object.metadata.annotations['${annotation}'] != object.status.${handled}`;

const FLUX_DUE = `(${BY_GENERATION}) || (${requested("reconcile.fluxcd.io/requestedAt", "lastHandledReconcileAt")})`;

const flux = (apiVersion: string, ...kinds: readonly string[]): WellKnownKind[] =>
  kinds.map(kind => ({
    apiVersion,
    kind,
    due: FLUX_DUE,
  }));

const byConditions = (apiVersion: string, ...kinds: readonly string[]): WellKnownKind[] =>
  kinds.map(kind => ({ apiVersion, kind, due: BY_CONDITIONS }));

/** The kinds. Where objects wait for people or for others by design, such as a Promotion for a pull request, phases show nothing. */
export const WELL_KNOWN: readonly WellKnownKind[] = [
  {
    ...{ apiVersion: "argoproj.io/v1alpha1", kind: "Application" },
    // The controller removes both when it has done what they request.
    due: "has(object.operation) || (has(object.metadata.annotations) && 'argocd.argoproj.io/refresh' in object.metadata.annotations)",
  },
  {
    ...{ apiVersion: "argoproj.io/v1alpha1", kind: "Workflow" },
    due: "has(object.spec.shutdown) && object.spec.shutdown == 'Terminate' && has(object.status.phase) && object.status.phase in ['Pending', 'Running']",
  },
  ...flux("kustomize.toolkit.fluxcd.io/v1", "Kustomization"),
  ...flux("helm.toolkit.fluxcd.io/v2", "HelmRelease"),
  ...flux("source.toolkit.fluxcd.io/v1", "GitRepository", "OCIRepository", "HelmRepository", "HelmChart", "Bucket"),
  ...byConditions("cert-manager.io/v1", "Certificate", "Issuer", "ClusterIssuer"),
  ...byConditions("pkg.crossplane.io/v1", "Provider", "Configuration", "Function"),
  ...byConditions("apiextensions.crossplane.io/v1", "CompositeResourceDefinition"),
  { apiVersion: "cluster.x-k8s.io/v1beta2", kind: "Cluster" },
  { apiVersion: "cluster.x-k8s.io/v1beta2", kind: "Machine" },
  ...byConditions("postgresql.cnpg.io/v1", "Cluster"),
  { apiVersion: "kafka.strimzi.io/v1", kind: "Kafka" },
  {
    ...{ apiVersion: "external-secrets.io/v1", kind: "ExternalSecret" },
    due: "has(object.status.syncedResourceVersion) && !object.status.syncedResourceVersion.startsWith(string(object.metadata.generation) + '-') && !(has(object.spec.refreshPolicy) && object.spec.refreshPolicy == 'CreatedOnce')",
  },
  ...byConditions("karpenter.sh/v1", "NodeClaim"),
  {
    ...{ apiVersion: "kargo.akuity.io/v1alpha1", kind: "Promotion" },
    due: requested("kargo.akuity.io/refresh", "lastHandledRefresh"),
  },
];

/** Reports whether a kind of a group is one of them, of whatever version. */
export function isWellKnown(group: string, kind: string): boolean {
  return WELL_KNOWN.some(row => row.kind === kind && row.apiVersion.split("/")[0] === group);
}

/** Fields of the spec that pause an object while they are true, of whatever kind. */
export const PAUSING_FIELDS = ["suspend", "suspended", "pause", "paused"] as const;

/** A condition of this type pauses an object while its status is True. */
export const PAUSING_CONDITION = "Paused";

/** Annotations that pause an object of whatever kind while they have this value; null: any. */
export const PAUSING_ANNOTATIONS: Readonly<Record<string, string | null>> = {
  "argocd.argoproj.io/skip-reconcile": "true",
  "cluster.x-k8s.io/paused": null,
  "cnpg.io/hibernation": "on",
  "cnpg.io/reconciliationLoop": "disabled",
  "crossplane.io/paused": "true",
  "strimzi.io/pause-reconciliation": "true",
};
