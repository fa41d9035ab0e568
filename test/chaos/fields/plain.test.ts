import { describe, expect, it } from "vitest";
import { content, plain } from "./plain";

describe("the comparable part of an object", () => {
  it("has no namespace name, hashes and times", () => {
    const sentence =
      "FlowSchema controller-resilience-team-a-web-0123456789abcdef of team-a until 2026-11-21T20:00:00Z.";
    expect(plain([{ message: sentence }], "team-a")).toEqual([
      { message: "FlowSchema controller-resilience-NAMESPACE-web-HASH of NAMESPACE until TIME." },
    ]);
  });

  it("has no uids and counts per generation, and keeps all other fields", () => {
    const status = { uid: "1", changes: 1, generation: 7, outcome: "Bounded", flows: [{ state: "Normal" }] };
    expect(plain(status, "team")).toEqual({ outcome: "Bounded", flows: [{ state: "Normal" }] });
  });

  it("includes labels, annotations, finalizers and spec of other objects", () => {
    const raw = {
      metadata: {
        name: "it",
        labels: { a: "b", "controller-resilience.io/owner-uid": "0-1-2" },
        annotations: { mine: "team/web", "deployment.kubernetes.io/revision": "3" },
        finalizers: ["keep"],
      },
      spec: { replicas: 0 },
      status: { replicas: 1 },
    };
    expect(content(raw, "team")).toEqual({
      labels: { a: "b", "controller-resilience.io/owner-uid": "UID" },
      annotations: { mine: "NAMESPACE/web" },
      finalizers: ["keep"],
      spec: { replicas: 0 },
    });
  });
});
