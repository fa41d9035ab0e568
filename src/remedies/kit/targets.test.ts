import { describe, expect, it } from "vitest";
import { describeTarget } from "./targets";

describe("a target in a message", () => {
  it("is its kind and name, or the path of its selector", () => {
    expect(describeTarget({ kind: "Deployment", name: "web" }, 0)).toBe("Deployment/web");
    const selector = { matchLabels: { app: "web" } };
    expect(describeTarget({ kind: "Deployment", selector }, 1)).toBe("Deployment matching spec.targets[1].selector");
  });
});
