import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { changesIn, released, sectionOf } from "../../scripts/release/changelog";

const text = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- b\n\n## [0.1.0] - 2026-01-01\n\n- a [0.1.0]\n";

it("gives the lines below [Unreleased] to a version", () => {
  const next = released(text, "0.2.0", "2026-02-03");
  expect(next).toContain("## [Unreleased]\n\n## [0.2.0] - 2026-02-03\n\n### Added\n\n- b\n\n## [0.1.0]");
  expect(sectionOf(next, "0.2.0")).toBe("### Added\n\n- b");
  expect(sectionOf(next, "0.1.0")).toBe("- a [0.1.0]");
});

it("refuses a version that has lines already, and one without any", () => {
  expect(() => released(text, "0.1.0", "2026-02-03")).toThrow("CHANGELOG.md has version 0.1.0 already");
  const once = released(text, "0.2.0", "2026-02-03");
  expect(() => released(once, "0.3.0", "2026-02-04")).toThrow(
    'expected lines below a heading "## [Unreleased] - DATE" in CHANGELOG.md, found none',
  );
  expect(() => sectionOf(text, "0.9.0")).toThrow('"## [0.9.0] - DATE"');
});

it("lists changes without links, each with its kind and part", () => {
  const section = "### Added\n\n- a\n  b [c](d.md) ([x](y.md)).\n- e\n\n#### [Part](f.md)\n\n- g\n\n### Fixed\n\n- h\n";
  expect(changesIn(section).map(({ kind, description }) => `${kind} ${description}`)).toEqual([
    "added a b c.",
    "added e",
    "added Part: g",
    "fixed h",
  ]);
});

it("works with the changelog of this project", () => {
  const own = readFileSync(join(__dirname, "../../CHANGELOG.md"), "utf8");
  expect(sectionOf(released(own, "999.0.0", "2026-02-03"), "999.0.0")).toContain("### Added");
  const kinds = changesIn(sectionOf(released(own, "999.0.0", "2026-02-03"), "999.0.0")).map(({ kind }) => kind);
  const known = ["added", "changed", "deprecated", "removed", "fixed", "security"];
  expect(kinds.filter(kind => !known.includes(kind))).toEqual([]);
});
