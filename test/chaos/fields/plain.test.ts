import { describe, expect, it } from "vitest";
import { content, plain } from "./plain";

describe("what is compared of an object", () => {
  it("is without the namespace's name, hashes and times", () => {
    const sentence =
      "FlowSchema controller-resilience-team-a-web-0123456789abcdef of team-a until 2026-11-21T20:00:00Z.";
    expect(plain([{ message: sentence }], "team-a")).toEqual([
      { message: "FlowSchema controller-resilience-NAMESPACE-web-HASH of NAMESPACE until TIME." },
    ]);
  });

  it("is without uids and what is counted for each generation, and keeps everything else", () => {
    const status = { uid: "1", changes: 1, generation: 7, outcome: "Bounded", flows: [{ state: "Normal" }] };
    expect(plain(status, "team")).toEqual({ outcome: "Bounded", flows: [{ state: "Normal" }] });
  });

  it("is what somebody may have changed: labels, annotations, finalizers and what it is meant to be", () => {
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
