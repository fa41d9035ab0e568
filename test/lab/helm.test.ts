import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { helmProduct } from "./helm";

it.each(["3", "4"])("Helm %s is that of its Go modules", major => {
  const { sources, version, package: command } = helmProduct({ LAB_HELM: major });
  expect(version).toMatch(new RegExp(`^v${major}\\.`));
  const modules = readFileSync(join(sources, "go.mod"), "utf8");
  expect(modules).toContain(`tool ${command}\n`);
  expect(modules).toContain(`\thelm.sh/helm/v${major} ${version} `);
});

it("is version 4 unless the environment names another that is known", () => {
  expect(helmProduct({})).toBe(helmProduct({ LAB_HELM: "4" }));
  expect(() => helmProduct({ LAB_HELM: "2" })).toThrow('expected LAB_HELM to be 3 or 4, got "2"');
});
