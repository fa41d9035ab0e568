// Kinds whose conventions are known, as data: what shows that an object is due, and what pauses it. A row is used for each version of its group.

/** What is known of a kind. */
export interface WellKnownKind {
  /** The version that is read if the spec has none. */
  readonly apiVersion: string;
  readonly kind: string;
  /** CEL. */
  readonly due: string;
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

const FLUX = `(${BY_GENERATION}) || (${requested("reconcile.fluxcd.io/requestedAt", "lastHandledReconcileAt")})`;

/** The controller removes both when it has done what they request. */
const ARGO_CD =
  "has(object.operation) || (has(object.metadata.annotations) && 'argocd.argoproj.io/refresh' in object.metadata.annotations)";

const ARGO_WORKFLOWS =
  "has(object.spec.shutdown) && object.spec.shutdown == 'Terminate' && has(object.status.phase) && object.status.phase in ['Pending', 'Running']";

const EXTERNAL_SECRETS =
  "has(object.status.syncedResourceVersion) && !object.status.syncedResourceVersion.startsWith(string(object.metadata.generation) + '-') && !(has(object.spec.refreshPolicy) && object.spec.refreshPolicy == 'CreatedOnce')";

const rows = (apiVersion: string, kinds: string, due: string): WellKnownKind[] =>
  kinds.split(" ").map(kind => ({ apiVersion, kind, due }));

/** The kinds. Where objects wait for people or for others by design, such as a Promotion for a pull request, phases show nothing. */
export const WELL_KNOWN: readonly WellKnownKind[] = [
  ...rows("argoproj.io/v1alpha1", "Application", ARGO_CD),
  ...rows("argoproj.io/v1alpha1", "Workflow", ARGO_WORKFLOWS),
  ...rows("kustomize.toolkit.fluxcd.io/v1", "Kustomization", FLUX),
  ...rows("helm.toolkit.fluxcd.io/v2", "HelmRelease", FLUX),
  ...rows("source.toolkit.fluxcd.io/v1", "GitRepository OCIRepository HelmRepository HelmChart Bucket", FLUX),
  ...rows("cert-manager.io/v1", "Certificate Issuer ClusterIssuer", BY_CONDITIONS),
  ...rows("pkg.crossplane.io/v1", "Provider Configuration Function", BY_CONDITIONS),
  ...rows("apiextensions.crossplane.io/v1", "CompositeResourceDefinition", BY_CONDITIONS),
  ...rows("cluster.x-k8s.io/v1beta2", "Cluster Machine", BY_GENERATION),
  ...rows("postgresql.cnpg.io/v1", "Cluster", BY_CONDITIONS),
  ...rows("kafka.strimzi.io/v1", "Kafka", BY_GENERATION),
  ...rows("external-secrets.io/v1", "ExternalSecret", EXTERNAL_SECRETS),
  ...rows("karpenter.sh/v1", "NodeClaim", BY_CONDITIONS),
  ...rows("kargo.akuity.io/v1alpha1", "Promotion", requested("kargo.akuity.io/refresh", "lastHandledRefresh")),
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
