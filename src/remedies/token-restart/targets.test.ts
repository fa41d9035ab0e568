import { describe, expect, it } from "vitest";
import { isPodOf, matchesSelector } from "./targets";
import { pod } from "./testing/fake-log";
import { workload } from "./testing/scene";

describe("a label selector", () => {
  const labels = { app: "web", tier: "front" };
  it.each([
    [{ matchLabels: { app: "web" } }, true],
    [{ matchLabels: { app: "web", tier: "back" } }, false],
    [{ matchExpressions: [{ key: "app", operator: "In", values: ["web", "db"] }] }, true],
    [{ matchExpressions: [{ key: "none", operator: "In", values: ["web"] }] }, false],
    [{ matchExpressions: [{ key: "none", operator: "NotIn", values: ["web"] }] }, true],
    [{ matchExpressions: [{ key: "app", operator: "NotIn", values: ["web"] }] }, false],
    [{ matchExpressions: [{ key: "app", operator: "Exists" }] }, true],
    [{ matchLabels: { app: "web" }, matchExpressions: [{ key: "app", operator: "DoesNotExist" }] }, false],
  ] as const)("%j matches: %s", (selector, matches) => {
    expect(matchesSelector(labels, structuredClone(selector) as never)).toBe(matches);
  });
});

describe("the pods of a workload", () => {
  const owned = (kind: string, name: string, uid: string): ReturnType<typeof pod> =>
    pod({ owner: { kind, name, uid } });
  it.each([
    ["a Deployment's, by ReplicaSet and template hash", workload(), pod(), true],
    [
      "not those of web-5d, whose ReplicaSet has the same beginning",
      workload(),
      owned("ReplicaSet", "web-5d-5d", "x"),
      false,
    ],
    ["not those of a ReplicaSet of its own", workload(), owned("ReplicaSet", "web", "x"), false],
    ["not those of another namespace", workload({ namespace: "other" }), pod(), false],
    ["a StatefulSet's, by uid", workload({ kind: "StatefulSet" }), owned("StatefulSet", "web", "w"), true],
    [
      "not those of a predecessor of the same name",
      workload({ kind: "StatefulSet" }),
      owned("StatefulSet", "web", "old"),
      false,
    ],
    ["not those of another kind", workload({ kind: "DaemonSet" }), owned("StatefulSet", "web", "w"), false],
  ])("%s", (_, of, candidate, isIts) => expect(isPodOf(candidate, of)).toBe(isIts));
});
