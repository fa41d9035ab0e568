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

  const rolling = { observedGeneration, replicas: 3, updatedReplicas: 2 };
  const revisions = { observedGeneration, currentRevision: "a", updateRevision: "b", updatedReplicas: 1 };
  const nodes = { observedGeneration, currentNumberScheduled: 2, updatedNumberScheduled: 1 };
  const unseen = { observedGeneration: 2 };
  const onDelete = { updateStrategy: { type: "OnDelete" } };
  it.each<[string, "Deployment" | "StatefulSet" | "DaemonSet", { spec: object; status: object }, boolean]>([
    ["a Deployment with older pods", "Deployment", { spec: {}, status: rolling }, true],
    ["a paused Deployment", "Deployment", { spec: { paused: true }, status: rolling }, false],
    [
      "a Deployment that its controller has not seen",
      "Deployment",
      { spec: {}, status: { ...rolling, ...unseen } },
      true,
    ],
    ["an updated Deployment", "Deployment", { spec: {}, status: { ...rolling, updatedReplicas: 3 } }, false],
    ["a StatefulSet with older pods", "StatefulSet", { spec: { replicas: 2 }, status: revisions }, true],
    ["a StatefulSet updated down to its partition", "StatefulSet", { spec: partition(1), status: revisions }, false],
    ["a StatefulSet that is not", "StatefulSet", { spec: partition(0), status: revisions }, true],
    ["a StatefulSet with OnDelete", "StatefulSet", { spec: onDelete, status: revisions }, false],
    [
      "a StatefulSet whose pod terminates",
      "StatefulSet",
      { spec: {}, status: { ...revisions, currentRevision: "b" } },
      false,
    ],
    ["a DaemonSet with older pods", "DaemonSet", { spec: {}, status: nodes }, true],
    ["a DaemonSet with OnDelete", "DaemonSet", { spec: onDelete, status: nodes }, false],
    ["a DaemonSet that its controller has not seen", "DaemonSet", { spec: {}, status: { ...nodes, ...unseen } }, true],
  ])("knows whether a rollout is in progress: %s", (_, kind, fields, isInProgress) => {
    expect(rolloutView(kind, { metadata, ...fields })?.isInProgress).toBe(isInProgress);
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
