import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { askedMinor, controlPlane, kubernetesVersion, MINORS, parseMinor } from "./kubernetes";

describe("a version of Kubernetes", () => {
  it.each(MINORS)("%s is that of its Go modules", minor => {
    const { sources, modules = sources, ldflags } = controlPlane(minor);
    const version = kubernetesVersion(minor);
    expect(readFileSync(join(modules, "go.mod"), "utf8")).toContain(`\tk8s.io/kubernetes ${version}\n`);
    expect(ldflags).toContain(`gitVersion=${version}`);
  });

  it("comes from the environment, or is left open", () => {
    expect(askedMinor({ LAB_KUBERNETES: "1.31" })).toBe("1.31");
    expect(askedMinor({})).toBeUndefined();
    expect(askedMinor({ LAB_KUBERNETES: "" })).toBeUndefined();
  });

  it("must be one that a lab can run", () => {
    expect(() => parseMinor("1.30")).toThrow(
      'expected a version of Kubernetes out of 1.31, 1.33, 1.35, 1.36, got "1.30"',
    );
  });
});
