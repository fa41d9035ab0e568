import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { daemonSetView } from "./daemon-set-view";

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
    const spec = { ...raw.spec, minReadySeconds: 5, updateStrategy: { type: "RollingUpdate", rollingUpdate } };
    expect(daemonSetView({ ...raw, spec })).toMatchObject({ minReadySeconds: 5, maxUnavailable: "10%", maxSurge: 0 });
    expect(daemonSetView(raw)).toMatchObject({ minReadySeconds: 0 });
    expect(daemonSetView(raw)).not.toHaveProperty("maxUnavailable");
    const odd = { ...raw.spec, minReadySeconds: "5", updateStrategy: { rollingUpdate: { maxUnavailable: {} } } };
    expect(daemonSetView({ ...raw, spec: odd })).toMatchObject({ minReadySeconds: 0 });
  });

  it("keeps the controller that owns it, and no other owner", () => {
    const installation = { apiVersion: "operator.tigera.io/v1", kind: "Installation", name: "default", uid: "i" };
    const viewWith = (controller: boolean) =>
      daemonSetView({ ...raw, metadata: { ...raw.metadata, ownerReferences: [{ ...installation, controller }] } });
    expect(viewWith(true)?.owner).toEqual({ kind: "Installation", name: "default", uid: "i" });
    expect(viewWith(false)).not.toHaveProperty("owner");
  });

  it("never throws, whatever it is given", () => {
    fc.assert(fc.property(fc.anything(), value => void daemonSetView(value)));
    fc.assert(
      fc.property(fc.anything(), managedFields => {
        daemonSetView({ ...raw, metadata: { ...raw.metadata, managedFields } });
      }),
    );
  });
});
