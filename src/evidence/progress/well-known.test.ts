import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../core/json";
import { kindObject } from "./follow";
import { questionOf } from "./due";
import { WELL_KNOWN, type WellKnownKind } from "./well-known";

// An object of each kind as its API writes it, without and with work, and as it is while it is paused.

const observed = (observedGeneration: number): JsonObject => ({ status: { observedGeneration } });
const ready = (...generations: number[]): JsonObject => ({
  status: {
    conditions: generations.map(observedGeneration => ({ type: "Ready", status: "True", observedGeneration })),
  },
});
const requested = (key: string, at: string, field: string, handled: string): JsonObject => ({
  metadata: { annotations: { [key]: at } },
  status: { observedGeneration: 3, [field]: handled },
});
const flux = (at: string): JsonObject =>
  requested("reconcile.fluxcd.io/requestedAt", at, "lastHandledReconcileAt", "2025-01-01T00:00:00Z");
const annotated = (key: string, value: string): JsonObject => ({ metadata: { annotations: { [key]: value } } });
const suspended: JsonObject = { spec: { suspend: true }, ...observed(2) };

interface Fixture {
  readonly done: readonly JsonObject[];
  readonly due: readonly JsonObject[];
  readonly paused: readonly JsonObject[];
}

const FLUX: Fixture = {
  done: [
    observed(3),
    flux("2025-01-01T00:00:00Z"),
    {},
    { status: { observedGeneration: 3 }, spec: { suspend: false } },
  ],
  due: [observed(2), observed(-1), flux("2025-01-02T00:00:00Z")],
  paused: [suspended],
};
const CONDITIONS: Fixture = { done: [ready(3), ready(2, 3), ready()], due: [ready(2), ready(1, 2)], paused: [] };
const CROSSPLANE: Fixture = { ...CONDITIONS, paused: [annotated("crossplane.io/paused", "true")] };
const CAPI: Fixture = {
  done: [observed(3)],
  due: [observed(2)],
  paused: [
    { spec: { paused: true }, ...observed(2) },
    annotated("cluster.x-k8s.io/paused", ""),
    { status: { observedGeneration: 2, conditions: [{ type: "Paused", status: "True" }] } },
    { status: { observedGeneration: 2, v1beta2: { conditions: [{ type: "Paused", status: "True" }] } } },
  ],
};
const secret = (version: string, refreshPolicy = "Periodic"): JsonObject => ({
  spec: { refreshPolicy },
  status: { syncedResourceVersion: version },
});
const workflow = (phase: string, spec: JsonObject = { shutdown: "Terminate" }): JsonObject => ({
  spec,
  status: { phase },
});
const promotion = (token: string): JsonObject => requested("kargo.akuity.io/refresh", token, "lastHandledRefresh", "a");

const FIXTURES: Readonly<Record<string, Fixture>> = {
  "argoproj.io/v1alpha1 Application": {
    done: [{ status: { sync: { status: "Synced" } } }, annotated("notified.notifications.argoproj.io", "{}")],
    due: [{ operation: { sync: {} } }, annotated("argocd.argoproj.io/refresh", "normal")],
    paused: [annotated("argocd.argoproj.io/skip-reconcile", "true")],
  },
  "argoproj.io/v1alpha1 Workflow": {
    done: [workflow("Running", {}), workflow("Succeeded"), workflow("Running", { shutdown: "Stop" })],
    due: [workflow("Running"), workflow("Pending")],
    paused: [workflow("Running", { shutdown: "Terminate", suspend: true })],
  },
  "kustomize.toolkit.fluxcd.io/v1 Kustomization": FLUX,
  "helm.toolkit.fluxcd.io/v2 HelmRelease": FLUX,
  "source.toolkit.fluxcd.io/v1 GitRepository": FLUX,
  "source.toolkit.fluxcd.io/v1 OCIRepository": FLUX,
  "source.toolkit.fluxcd.io/v1 HelmRepository": FLUX,
  "source.toolkit.fluxcd.io/v1 HelmChart": FLUX,
  "source.toolkit.fluxcd.io/v1 Bucket": FLUX,
  "cert-manager.io/v1 Certificate": CONDITIONS,
  "cert-manager.io/v1 Issuer": CONDITIONS,
  "cert-manager.io/v1 ClusterIssuer": CONDITIONS,
  "pkg.crossplane.io/v1 Provider": CROSSPLANE,
  "pkg.crossplane.io/v1 Configuration": CROSSPLANE,
  "pkg.crossplane.io/v1 Function": CROSSPLANE,
  "apiextensions.crossplane.io/v1 CompositeResourceDefinition": CROSSPLANE,
  "cluster.x-k8s.io/v1beta2 Cluster": CAPI,
  "cluster.x-k8s.io/v1beta2 Machine": CAPI,
  "postgresql.cnpg.io/v1 Cluster": {
    ...CONDITIONS,
    paused: [annotated("cnpg.io/hibernation", "on"), annotated("cnpg.io/reconciliationLoop", "disabled")],
  },
  "kafka.strimzi.io/v1 Kafka": {
    ...{ done: [observed(3)], due: [observed(2)] },
    paused: [annotated("strimzi.io/pause-reconciliation", "true")],
  },
  "external-secrets.io/v1 ExternalSecret": {
    done: [secret("3-5fd3c0"), secret("2-5fd3c0", "CreatedOnce"), { status: {} }],
    due: [secret("2-5fd3c0"), secret("30-5fd3c0")],
    paused: [],
  },
  "karpenter.sh/v1 NodeClaim": CONDITIONS,
  "kargo.akuity.io/v1alpha1 Promotion": {
    // Running may mean that it waits for a person to merge.
    done: [promotion("a"), { status: { phase: "Running" } }, { status: { phase: "Pending" } }],
    due: [promotion("b")],
    paused: [],
  },
};

const FLUX_FIELDS =
  "spec.suspend status.observedGeneration status.lastHandledReconcileAt status.conditions status.conditions.observedGeneration";
const CONDITION_FIELDS = "status.conditions status.conditions.observedGeneration";

/**
 * What the published schemas say, as facts: the kinds, where the schema is, and which of the fields that are read here it has. A condition is
 * named by what each has.
 */
const PUBLISHED: readonly (readonly [kinds: string, source: string, fields: string])[] = [
  ["Application", "argoproj/argo-cd v3.1.9: manifests/crds/application-crd.yaml", "operation"],
  [
    "Workflow",
    "argoproj/argo-workflows f016ad89eb: manifests/base/crds/full/argoproj.io_workflows.yaml",
    "spec.shutdown spec.suspend status.phase",
  ],
  ["Kustomization", "fluxcd/kustomize-controller v1.9.6: config/crd/bases", FLUX_FIELDS],
  ["HelmRelease", "fluxcd/helm-controller v1.6.4: config/crd/bases", FLUX_FIELDS],
  [
    "GitRepository OCIRepository HelmRepository HelmChart Bucket",
    "fluxcd/source-controller v1.9.3: config/crd/bases",
    FLUX_FIELDS,
  ],
  ["Certificate Issuer ClusterIssuer", "cert-manager/cert-manager v1.21.2: deploy/crds", CONDITION_FIELDS],
  [
    "Provider Configuration Function CompositeResourceDefinition",
    "crossplane/crossplane 2d040d2daf: cluster/crds",
    CONDITION_FIELDS,
  ],
  [
    "cluster.x-k8s.io/v1beta2/Cluster",
    "kubernetes-sigs/cluster-api v1.14.2: core/config/crd/bases",
    "spec.paused status.observedGeneration status.conditions",
  ],
  [
    "Machine",
    "kubernetes-sigs/cluster-api v1.14.2: core/config/crd/bases",
    "status.observedGeneration status.conditions",
  ],
  [
    "postgresql.cnpg.io/v1/Cluster",
    "cloudnative-pg/cloudnative-pg a95a534dbe: config/crd/bases/postgresql.cnpg.io_clusters.yaml",
    CONDITION_FIELDS,
  ],
  [
    "Kafka",
    "strimzi/strimzi-kafka-operator 8541da1e33: packaging/install/cluster-operator/040-Crd-kafka.yaml",
    "status.observedGeneration",
  ],
  [
    "ExternalSecret",
    "external-secrets/external-secrets v1.3.2: config/crds/bases",
    "spec.refreshPolicy status.syncedResourceVersion",
  ],
  ["NodeClaim", "kubernetes-sigs/karpenter 2266468104: pkg/apis/crds/karpenter.sh_nodeclaims.yaml", CONDITION_FIELDS],
  [
    "Promotion",
    "akuity/kargo 1c764767ae: charts/kargo/resources/crds/kargo.akuity.io_promotions.yaml",
    "status.lastHandledRefresh",
  ],
];

/** The fields that a row reads; those of metadata are the same in all kinds. */
function fieldsOf({ due }: WellKnownKind): string[] {
  const paths = Array.from(due.matchAll(/object\.((?:\w+)(?:\.\w+)*)/g), ([, path = ""]) => path);
  const ofConditions = Array.from(due.matchAll(/\bc\.(\w+)/g), ([, field = ""]) => `status.conditions.${field}`);
  const fields = [...paths, ...ofConditions].map(field => field.replace(/\.(?:exists|all|startsWith)$/, ""));
  return fields.filter(field => !field.startsWith("metadata."));
}

it.each(WELL_KNOWN)("reads of $apiVersion $kind only fields of its published schema", row => {
  const { apiVersion, kind } = row;
  const [, , fields] = PUBLISHED.find(([kinds]) =>
    kinds.split(" ").some(one => one === kind || one === `${apiVersion}/${kind}`),
  )!;
  expect(fields.split(" ")).toEqual(expect.arrayContaining(fieldsOf(row)));
});

describe("well-known kinds", () => {
  it.each(WELL_KNOWN.map(({ apiVersion, kind }) => ({ apiVersion, kind })))(
    "$apiVersion $kind has objects without and with work",
    ({ apiVersion, kind }) => {
      const fixture = FIXTURES[`${apiVersion} ${kind}`]!;
      const question = questionOf({ apiVersion, kind });
      const whole = (over: JsonObject): JsonObject => {
        const metadata = { name: "blue", uid: "u", generation: 3, ...(over["metadata"] as object | undefined) };
        return { spec: {}, status: {}, ...over, apiVersion, kind, metadata };
      };
      const workOf = (over: JsonObject): string => {
        const object = kindObject(whole(over))!;
        return object.isPaused ? "paused" : question.workOf(whole(over));
      };
      expect(fixture.done.map(workOf)).toEqual(fixture.done.map(() => "done"));
      expect(fixture.due.map(workOf)).toEqual(fixture.due.map(() => "due"));
      expect(fixture.paused.map(workOf)).toEqual(fixture.paused.map(() => "paused"));
    },
  );

  it("are known by their kind alone, or in another version of their group", () => {
    expect(questionOf({ kind: "Application" })).toMatchObject({ apiVersion: "argoproj.io/v1alpha1" });
    const known = questionOf({ apiVersion: "kafka.strimzi.io/v1beta2", kind: "Kafka" });
    expect(known).toMatchObject({ apiVersion: "kafka.strimzi.io/v1beta2" });
    const other = questionOf({ apiVersion: "example.com/v1", kind: "Application" });
    expect(other.workOf({ operation: {}, metadata: { generation: 1 }, status: {} })).toBe("done");
  });

  it.each([
    [{ kind: "Widget" }, "kind Widget is not well known: expected an apiVersion"],
    [
      { kind: "Cluster" },
      "several well-known kinds are named Cluster: expected apiVersion cluster.x-k8s.io/v1beta2 or postgresql.cnpg.io/v1",
    ],
    [
      { kind: "Widget", apiVersion: "example.com/v1", due: "object.x ==" },
      "due of Widget does not compile: Unexpected token: EOF at character 12",
    ],
  ])("are told from %j", (entry, message) => {
    expect(() => questionOf(entry)).toThrow(message);
  });

  it("leave out other labels, and objects that are deleted; a field that is missing is unknown", () => {
    const entry = { apiVersion: "example.com/v1", kind: "Widget", due: "object.status.phase == 'Busy'" };
    const question = questionOf({ ...entry, selector: { matchLabels: { class: "a" } } });
    const metadata = { name: "blue", uid: "u", deletionTimestamp: "2025-01-01T00:00:00Z", labels: { class: "a" } };
    const object = kindObject({ metadata })!;
    expect([question.selects(object), object.isPaused]).toEqual([true, true]);
    expect(question.selects({ ...object, labels: {} })).toBe(false);
    expect(question.workOf({ status: { phase: "Busy" } })).toBe("due");
    expect(question.workOf({})).toBe("unknown");
  });
});
