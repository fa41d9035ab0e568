import { describe, expect, it } from "vitest";
import { matchesSelector } from "./views";

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
    [{ matchExpressions: [{ key: "constructor", operator: "Exists" }] }, false],
    [{ matchExpressions: [{ key: "valueOf", operator: "DoesNotExist" }] }, true],
    [{ matchLabels: { app: "web" }, matchExpressions: [{ key: "app", operator: "DoesNotExist" }] }, false],
  ] as const)("%j matches: %s", (selector, matches) => {
    expect(matchesSelector(labels, structuredClone(selector) as never)).toBe(matches);
  });
});
