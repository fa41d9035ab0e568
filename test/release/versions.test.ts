import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createRemedies } from "../../src/remedies/registry";
import { kubernetesVersion, MINORS } from "../lab/kubernetes";
import {
  minorsIn,
  RESULTS_FILE,
  type VersionResult,
  type VersionResults,
  versionsTable,
  withResults,
} from "../versions/results";

const text = (path: string): string => readFileSync(join(__dirname, "../..", path), "utf8");
const results = JSON.parse(text(RESULTS_FILE)) as VersionResults;

describe("the kept results", () => {
  it("are of the versions that a lab can run", () => {
    expect(Object.keys(results)).toEqual(MINORS.map(minor => kubernetesVersion(minor)));
  });

  it("are what docs/install.md shows, and README.md names", async () => {
    expect(text("docs/install.md")).toContain(await versionsTable(results));
    expect(text("README.md")).toContain(`[Kubernetes ${minorsIn(results)}](docs/install.md#versions-of-kubernetes)`);
  });
});

it("the table names every remedy", async () => {
  const table = await versionsTable(results);
  const blocks = createRemedies().map(({ block }) => block);
  expect(blocks.filter(block => !table.includes(`\`${block}\``))).toEqual([]);
});

describe("results", () => {
  const good: VersionResult = { remedies: "passed", integration: "passed", demo: "passed" };
  const old: VersionResult = { ...good, demo: "not run" };

  it("say what works, what does not, and what was not run", async () => {
    const unknown: VersionResult = { remedies: "failed", integration: "passed", demo: "not run" };
    const table = await versionsTable({ "v1.9.1": old, "v1.10.2": good, "v1.11.0": unknown });
    const rows = table
      .trimEnd()
      .split("\n")
      .map(row =>
        row
          .split("|")
          .slice(2, -1)
          .map(cell => cell.trim()),
      );
    expect(rows[0]).toEqual(["1.9.1", "1.10.2", "1.11.0"]);
    expect(rows.slice(2)).toEqual([
      ["yes", "yes", "FAILED"],
      ["yes", "yes", "yes"],
      ["not run", "yes", "not run"],
    ]);
  });

  it("name only versions on which everything passed", () => {
    const kept = { "v1.9.1": good, "v1.10.2": old, "v1.11.0": good, "v1.12.0": good };
    expect(minorsIn(kept)).toBe("1.9, 1.11 and 1.12");
    expect(minorsIn({ "v1.9.1": good })).toBe("1.9");
  });

  it("replace those of the same version, oldest version first", () => {
    expect(Object.entries(withResults({ "v1.10.2": old }, { "v1.9.1": good, "v1.10.2": good }))).toEqual([
      ["v1.9.1", good],
      ["v1.10.2", good],
    ]);
  });
});
