import { describe, expect, it } from "vitest";
import { rolloutView } from "./rollout-view";

const metadata = { generation: 3 };
const observedGeneration = 3;

describe("rolloutView", () => {
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

  it.each<[string, "Deployment" | "StatefulSet" | "DaemonSet", object, boolean]>([
    ["updated pods", "Deployment", { observedGeneration, replicas: 3, updatedReplicas: 3 }, true],
    ["an older pod", "Deployment", { observedGeneration, replicas: 3, updatedReplicas: 2 }, false],
    ["an unseen spec", "Deployment", { observedGeneration: 2, replicas: 3, updatedReplicas: 3 }, false],
    ["one revision", "StatefulSet", { observedGeneration, currentRevision: "a", updateRevision: "a" }, true],
    ["two revisions", "StatefulSet", { observedGeneration, currentRevision: "a", updateRevision: "b" }, false],
    ["no revision", "StatefulSet", { observedGeneration }, false],
    ["updated", "DaemonSet", { observedGeneration, currentNumberScheduled: 2, updatedNumberScheduled: 2 }, true],
    ["an older pod", "DaemonSet", { observedGeneration, currentNumberScheduled: 2, updatedNumberScheduled: 1 }, false],
  ])("with %s of a %s", (_, kind, status, isComplete) => {
    expect(rolloutView(kind, { metadata, status })?.isComplete).toBe(isComplete);
  });

  it("knows the label of the pods of the present template", () => {
    const status = { observedGeneration, currentRevision: "a", updateRevision: "b" };
    expect(rolloutView("StatefulSet", { metadata, status })?.currentLabel).toEqual({
      key: "controller-revision-hash",
      value: "b",
    });
    const unseen = { ...status, observedGeneration: 2 };
    expect(rolloutView("StatefulSet", { metadata, status: unseen })).not.toHaveProperty("currentLabel");
    const annotations = { "deprecated.daemonset.template.generation": "4" };
    expect(rolloutView("DaemonSet", { metadata: { ...metadata, annotations } })?.currentLabel).toEqual({
      key: "pod-template-generation",
      value: "4",
    });
  });
});
