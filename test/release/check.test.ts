import { expect, it } from "vitest";
import { checkRelease } from "../../scripts/release/check";

const changelog = "# Changelog\n\n## [Unreleased]\n\n- b\n\n## [0.2.0] - 2026-01-01\n\n- a\n";

it("accepts the tag of a release, and of a candidate, whose lines are not released yet", () => {
  expect(checkRelease("v0.2.0", "0.2.0", changelog)).toBe("version=0.2.0\nprerelease=false");
  expect(checkRelease("v0.3.0-rc.1", "0.3.0-rc.1", changelog)).toBe("version=0.3.0-rc.1\nprerelease=true");
});

it.each([
  ["v0.2.1", "0.2.0", changelog, 'expected the tag v0.2.0, as in package.json, got "v0.2.1"'],
  ["0.2.0", "0.2.0", changelog, "expected the tag v0.2.0"],
  ["vnext", "next", changelog, 'expected a version such as 0.2.0, got "next"'],
  ["v0.3.0", "0.3.0", changelog.replace("- b\n", ""), 'expected lines below a heading "## [Unreleased]'],
])("refuses the tag %s of version %s", (tag, version, text, message) => {
  expect(() => checkRelease(tag, version, text)).toThrow(message);
});
