import { describe, expect, it } from "vitest";
import { describeTarget, matchesSelector } from "./targets";

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

describe("a target in a message", () => {
  it("is its kind and name, or the path of its selector", () => {
    expect(describeTarget({ kind: "Deployment", name: "web" }, 0)).toBe("Deployment/web");
    const selector = { matchLabels: { app: "web" } };
    expect(describeTarget({ kind: "Deployment", selector }, 1)).toBe("Deployment matching spec.targets[1].selector");
  });
});
