import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import cfg from "../../package.json";

const folder = join(__dirname, "../../.github/workflows");

interface Workflow {
  readonly permissions: unknown;
  readonly jobs: Readonly<
    Record<
      string,
      { "timeout-minutes"?: number; steps: { uses?: string; run?: string; with?: Readonly<Record<string, unknown>> }[] }
    >
  >;
}

const workflows = readdirSync(folder).map(name => [name, readFileSync(join(folder, name), "utf8")] as const);

describe.each(workflows)("the workflow %s", (_, text) => {
  const { permissions, jobs } = parse(text) as Workflow;
  const steps = Object.values(jobs).flatMap(job => job.steps);

  it("has no rights but to read, unless a job asks for more", () => expect(permissions).toEqual({ contents: "read" }));

  it("pins each action by its commit, and names the version", () => {
    const uses = text.split("\n").filter(line => /\buses:/.test(line));
    expect(uses.length).toBeGreaterThan(0);
    expect(uses.filter(line => !/uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });

  it("leaves no token behind in the checkout", () => {
    const checkouts = steps.filter(({ uses = "" }) => uses.startsWith("actions/checkout@"));
    expect(checkouts.map(step => step.with?.["persist-credentials"])).toEqual(checkouts.map(() => false));
  });

  it("calls only scripts that exist, and ends at some time", () => {
    const called = steps.flatMap(({ run = "" }) => [...run.matchAll(/npm run (?:--silent )?([\w:]+)/g)]);
    const names = called.map(([, name = ""]) => name);
    expect(names.filter(name => !(name in cfg.scripts))).toEqual([]);
    expect(Object.values(jobs).filter(job => job["timeout-minutes"] === undefined)).toEqual([]);
  });

  it("passes what others choose, such as the name of a branch, as variables, never as text of a script", () => {
    expect(steps.filter(({ run = "" }) => run.includes("${{"))).toEqual([]);
  });
});
