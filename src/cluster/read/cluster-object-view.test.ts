import { describe, expect, it } from "vitest";
import { clusterObjectView } from "./cluster-object-view";

const RAW = {
  metadata: {
    name: "controller-resilience-a",
    uid: "u",
    resourceVersion: "7",
    creationTimestamp: "2025-01-01T00:00:00Z",
    labels: { a: "b" },
    managedFields: [
      { manager: "controller-resilience", operation: "Update", time: "2025-01-01T00:00:00Z" },
      { manager: "controller-resilience", operation: "Apply", time: "2025-01-01T12:00:00Z" },
      { manager: "kubectl-edit", operation: "Update", time: "2025-01-02T00:00:00Z" },
      { manager: "api-priority-and-fairness-config-consumer-v1", subresource: "status", time: "2025-01-03T00:00:00Z" },
    ],
  },
  spec: { matchingPrecedence: 1000 },
  status: { conditions: [{ type: "Dangling", status: "False", reason: "Found", message: "" }, "odd"] },
};

describe("an object outside of namespaces", () => {
  it("is read with its spec as it is, its conditions, and who wrote it last", () => {
    expect(clusterObjectView("FlowSchema", RAW)).toEqual({
      apiVersion: "flowcontrol.apiserver.k8s.io/v1",
      kind: "FlowSchema",
      name: "controller-resilience-a",
      uid: "u",
      resourceVersion: "7",
      createdAtMs: Date.parse("2025-01-01T00:00:00Z"),
      labels: { a: "b" },
      annotations: {},
      spec: { matchingPrecedence: 1000 },
      conditions: [
        { type: "Dangling", status: "False", reason: "Found", message: "" },
        { type: "", status: "Unknown", reason: "", message: "" },
      ],
      writtenAtMs: Date.parse("2025-01-01T12:00:00Z"),
      lastManager: "kubectl-edit",
    });
  });

  it.each([null, {}, { metadata: { name: "a" } }, "text"])("is none without identity and age: %j", raw => {
    expect(clusterObjectView("FlowSchema", raw)).toBeNull();
  });
});
