import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import cfg from "../../package.json";
import { checkRelease } from "../../scripts/release/check";

const changelog = "# Changelog\n\n## [Unreleased]\n\n- b\n\n## [0.2.0] - 2026-01-01\n\n- a\n";
const WORKFLOW = ".github/workflows/release.yaml";

/** Files of the repository with the version of a release in it. */
function files(version: string, others: Readonly<Record<string, string>> = {}): (path: string) => string {
  return path => {
    const text = { "CHANGELOG.md": changelog, ...others }[path];
    return text ?? readFileSync(join(__dirname, "../..", path), "utf8").replaceAll(cfg.version, version);
  };
}

it("accepts the tag of a release, and of a candidate, whose lines are not released yet", () => {
  expect(checkRelease("v0.2.0", "0.2.0", files("0.2.0"))).toBe("version=0.2.0\nprerelease=false");
  expect(checkRelease("v0.3.0-rc.1", "0.3.0-rc.1", files("0.3.0-rc.1"))).toBe("version=0.3.0-rc.1\nprerelease=true");
});

it.each([
  ["v0.2.1", "0.2.0", {}, 'expected the tag v0.2.0, as in package.json, got "v0.2.1"'],
  ["0.2.0", "0.2.0", {}, "expected the tag v0.2.0"],
  ["vnext", "next", {}, 'expected a version such as 0.2.0, got "next"'],
  ["v0.3.0", "0.3.0", { "CHANGELOG.md": "## [Unreleased]\n" }, 'expected lines below a heading "## [Unreleased]'],
  ["v0.2.0", "0.2.0", { "deploy/chart/Chart.yaml": "\nversion: 0.1.9" }, 'expected "version: 0.2.0" in deploy/chart/'],
  ["v0.2.0", "0.2.0", { [WORKFLOW]: "cosign sign " }, `expected "docker/build-push-action@" in ${WORKFLOW}`],
])("refuses the tag %s of version %s with %j", (tag, version, others, message) => {
  expect(() => checkRelease(tag, version, files(version, others))).toThrow(message);
});
