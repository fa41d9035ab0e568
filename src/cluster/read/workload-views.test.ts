import { describe, expect, it } from "vitest";
import { daemonSetView, rolloutView, workloadView } from "./workload-views";
import { identity, metadata } from "./testing/identity";

describe("workloadView", () => {
  const template = { spec: { serviceAccountName: "kai" } };

  it("takes one replica for granted, as the API server does", () => {
    expect(workloadView("Deployment", { metadata, spec: { template } })).toEqual({
      kind: "Deployment",
      ...identity,
      labels: {},
      skip: false,
      serviceAccountName: "kai",
      replicas: 1,
      isComponent: true,
    });
  });

  it("has the Ready pods as its controller counts them", () => {
    const ready = (kind: "Deployment" | "DaemonSet", status: object) =>
      workloadView(kind, { metadata, spec: { template }, status })?.readyReplicas;
    expect(ready("Deployment", { observedGeneration: 1, readyReplicas: 2 })).toBe(2);
    expect(ready("DaemonSet", { observedGeneration: 1, numberReady: 3 })).toBe(3);
    expect(ready("DaemonSet", { observedGeneration: 1, numberReady: 3, numberMisscheduled: 2 })).toBe(5);
    expect(ready("Deployment", { observedGeneration: 1 })).toBe(0);
    expect(ready("Deployment", {})).toBeUndefined();
  });

  it("knows a component of the cluster, and a program that logs the 401s of others, by its names, labels and pods", () => {
    const view = (name: string, labels: object, spec: object) =>
      workloadView("Deployment", { metadata: { ...metadata, name, labels }, spec: { template: { spec } } });
    expect(view("web", {}, { containers: [{ name: "a", image: "web" }] })).not.toHaveProperty("isComponent");
    expect(view("web", { app: "csi" }, {})?.isComponent).toBe(true);
    expect(view("web", {}, { serviceAccountName: "kyverno" })?.isComponent).toBe(true);
    expect(view("web", {}, { volumes: [{ hostPath: { path: "/etc/cni/net.d" } }] })?.isComponent).toBe(true);
    expect(view("web", {}, { priorityClassName: "system-node-critical" })?.isComponent).toBe(true);
    const argo = view("web", {}, { initContainers: [{ name: "a", image: "argoproj/argocd:v3" }] });
    expect(argo?.logsForeign401s).toBe(true);
  });

  it("knows its tokens and this project's annotations", () => {
    const token = (audience?: string): object => ({ serviceAccountToken: { path: "token", audience } });
    const spec = {
      automountServiceAccountToken: false,
      volumes: [{ projected: { sources: [token(), token("vault"), token("")] } }, { emptyDir: {} }],
    };
    const annotations = { "controller-resilience.io/skip": "true", "example.com/heartbeat": "1" };
    const raw = { metadata: { ...metadata, annotations }, spec: { template: { spec } } };
    for (const kind of ["Deployment", "StatefulSet", "DaemonSet"] as const) {
      expect(workloadView(kind, raw)).toMatchObject({
        ...{ skip: true, automount: false, tokenAudiences: ["", "vault"] },
        annotations: { "controller-resilience.io/skip": "true" },
      });
    }
  });

  it("counts the nodes of a DaemonSet", () => {
    const raw = { metadata, spec: { template }, status: { desiredNumberScheduled: 3 } };
    expect(workloadView("DaemonSet", raw)?.replicas).toBe(3);
    expect(workloadView("DaemonSet", { metadata })?.replicas).toBe(0);
  });
});

describe("rolloutView", () => {
  const metadata = { generation: 3 };
  const observedGeneration = 3;

  it("knows the strategy, and RollingUpdate by default", () => {
    expect(rolloutView("Deployment", { metadata, spec: { strategy: { type: "Recreate" } } })?.strategy).toBe(
      "Recreate",
    );
    expect(rolloutView("StatefulSet", { metadata, spec: { updateStrategy: { type: "OnDelete" } } })?.strategy).toBe(
      "OnDelete",
    );
    expect(rolloutView("DaemonSet", { metadata })?.strategy).toBe("RollingUpdate");
    expect(rolloutView("DaemonSet", {})).toBeUndefined();
  });

  const rolling = { observedGeneration, replicas: 3, updatedReplicas: 2 };
  const revisions = { observedGeneration, currentRevision: "a", updateRevision: "b", updatedReplicas: 1 };
  const nodes = { observedGeneration, currentNumberScheduled: 2, updatedNumberScheduled: 1 };
  const unseen = { observedGeneration: 2 };
  const onDelete = { updateStrategy: { type: "OnDelete" } };
  const [complete, moving, standing] = [
    { isComplete: true, isInProgress: false },
    { isComplete: false, isInProgress: true },
    { isComplete: false, isInProgress: false },
  ];
  it.each<[string, "Deployment" | "StatefulSet" | "DaemonSet", { spec?: object; status: object }, object]>([
    ["older pods", "Deployment", { status: rolling }, moving],
    ["older pods, while it is paused", "Deployment", { spec: { paused: true }, status: rolling }, standing],
    ["an unseen spec", "Deployment", { status: { ...rolling, updatedReplicas: 3, ...unseen } }, moving],
    ["updated pods", "Deployment", { status: { ...rolling, updatedReplicas: 3 } }, complete],
    ["older pods", "StatefulSet", { spec: { replicas: 2 }, status: revisions }, moving],
    ["pods updated down to its partition", "StatefulSet", { spec: partition(1), status: revisions }, standing],
    ["older pods above its partition", "StatefulSet", { spec: partition(0), status: revisions }, moving],
    ["OnDelete", "StatefulSet", { spec: onDelete, status: revisions }, standing],
    ["one revision", "StatefulSet", { status: { ...revisions, currentRevision: "b" } }, complete],
    ["no revision", "StatefulSet", { status: { observedGeneration } }, moving],
    ["older pods", "DaemonSet", { status: nodes }, moving],
    ["OnDelete", "DaemonSet", { spec: onDelete, status: nodes }, standing],
    ["an unseen spec", "DaemonSet", { status: { ...nodes, updatedNumberScheduled: 2, ...unseen } }, moving],
    ["updated pods", "DaemonSet", { status: { ...nodes, updatedNumberScheduled: 2 } }, complete],
  ])("knows how far a rollout is: %s of a %s", (_, kind, fields, expected) => {
    expect(rolloutView(kind, { metadata, ...fields })).toMatchObject(expected);
  });

  it("knows the progress deadline of a Deployment", () => {
    const spec = { progressDeadlineSeconds: 90 };
    expect(rolloutView("Deployment", { metadata, spec })?.progressDeadlineMs).toBe(90_000);
    expect(rolloutView("Deployment", { metadata })).not.toHaveProperty("progressDeadlineMs");
  });

  it("knows the label of the pods of the present template", () => {
    const status = { observedGeneration, currentRevision: "a", updateRevision: "b" };
    expect(rolloutView("StatefulSet", { metadata, status })?.currentLabel).toEqual({
      key: "controller-revision-hash",
      value: "b",
    });
    expect(rolloutView("StatefulSet", { metadata, status: { ...status, ...unseen } })).not.toHaveProperty(
      "currentLabel",
    );
    const annotations = { "deprecated.daemonset.template.generation": "4" };
    expect(rolloutView("DaemonSet", { metadata: { ...metadata, annotations } })?.currentLabel).toEqual({
      key: "pod-template-generation",
      value: "4",
    });
  });
});

function partition(from: number): object {
  return { replicas: 2, updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: from } } };
}

const template = { spec: { serviceAccountName: "agent", containers: [{ name: "main" }] } };

const raw = {
  metadata: {
    name: "agent",
    namespace: "team",
    uid: "u",
    resourceVersion: "7",
    generation: 3,
    creationTimestamp: "2025-01-01T00:00:00Z",
    managedFields: [
      { manager: "helm", operation: "Update", time: "2025-01-01T00:00:00Z", fieldsV1: { "f:spec": {} } },
      { manager: "argocd-controller", operation: "Apply", time: "2025-01-02T00:00:00Z", fieldsV1: { "f:spec": {} } },
      { manager: "kube-controller-manager", subresource: "status", time: "2025-01-04T00:00:00Z" },
      {
        manager: "controller-resilience",
        operation: "Apply",
        time: "2025-01-03T00:00:00Z",
        fieldsV1: {
          "f:spec": {
            "f:template": {
              "f:spec": {
                "f:volumes": {
                  'k:{"name":"token"}': { ".": {}, "f:name": {}, "f:projected": { "f:sources": {} } },
                  'k:{"name":"other"}': { "f:name": {} },
                },
              },
            },
          },
        },
      },
    ],
  },
  spec: { updateStrategy: { type: "OnDelete" }, template },
  status: { observedGeneration: 2, desiredNumberScheduled: 5, updatedNumberScheduled: 4, numberAvailable: 3 },
};

describe("daemonSetView", () => {
  it("keeps the template, how far its rollout is, and who owns what of it", () => {
    expect(daemonSetView(raw)).toMatchObject({
      kind: "DaemonSet",
      name: "agent",
      generation: 3,
      observedGeneration: 2,
      updateStrategy: "OnDelete",
      replicas: 5,
      updatedPods: 4,
      availablePods: 3,
      template,
      ownedVolumes: ["token"],
      lastManager: "argocd-controller",
    });
  });

  it("keeps whether the operator has set the update strategy", () => {
    const owned = (operation: string) => {
      const field = {
        manager: "controller-resilience",
        operation,
        fieldsV1: { "f:spec": { "f:updateStrategy": { "f:type": {} } } },
      };
      return daemonSetView({ ...raw, metadata: { ...raw.metadata, managedFields: [field] } });
    };
    expect(owned("Apply")).toMatchObject({ ownsUpdateStrategy: true });
    expect(owned("Apply")).not.toHaveProperty("strategyManager");
    expect(owned("Update")).toMatchObject({ strategyManager: "controller-resilience" });
    expect(daemonSetView(raw)).not.toHaveProperty("strategyManager");
    expect(owned("Update")).not.toHaveProperty("ownsUpdateStrategy");
    expect(daemonSetView(raw)).not.toHaveProperty("ownsUpdateStrategy");
  });

  it("keeps how many pods its rollout replaces at once", () => {
    const rollingUpdate = { maxUnavailable: "10%", maxSurge: 0 };
    const spec = { ...raw.spec, updateStrategy: { type: "RollingUpdate", rollingUpdate } };
    expect(daemonSetView({ ...raw, spec })).toMatchObject({ maxUnavailable: "10%", maxSurge: 0 });
    expect(daemonSetView(raw)).not.toHaveProperty("maxUnavailable");
    const odd = { ...raw.spec, updateStrategy: { rollingUpdate: { maxUnavailable: {} } } };
    expect(daemonSetView({ ...raw, spec: odd })).not.toHaveProperty("maxUnavailable");
  });

  it("keeps the controller that owns it, and no other owner", () => {
    const installation = { apiVersion: "operator.tigera.io/v1", kind: "Installation", name: "default", uid: "i" };
    const viewWith = (controller: boolean) =>
      daemonSetView({ ...raw, metadata: { ...raw.metadata, ownerReferences: [{ ...installation, controller }] } });
    expect(viewWith(true)?.owner).toEqual({ kind: "Installation", name: "default", uid: "i" });
    expect(viewWith(false)).not.toHaveProperty("owner");
  });
});
