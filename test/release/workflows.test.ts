import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import cfg from "../../package.json";
import { MINORS } from "../lab/kubernetes";

const folder = join(__dirname, "../../.github/workflows");

interface Workflow {
  readonly permissions: unknown;
  readonly defaults: unknown;
  readonly jobs: Readonly<
    Record<
      string,
      {
        "timeout-minutes"?: number;
        needs?: string | readonly string[];
        permissions?: Readonly<Record<string, string>>;
        strategy?: { matrix: { script?: readonly string[]; kubernetes?: readonly string[] } };
        steps: { name?: string; uses?: string; run?: string; with?: Readonly<Record<string, unknown>> }[];
      }
    >
  >;
}

const workflows = readdirSync(folder).map(name => [name, readFileSync(join(folder, name), "utf8")] as const);

describe.each(workflows)("the workflow %s", (_, text) => {
  const { permissions, defaults, jobs } = parse(text) as Workflow;
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
    const chosen = Object.values(jobs).flatMap(({ strategy }) => strategy?.matrix.script ?? []);
    const names = [...called.map(([, name = ""]) => name), ...chosen];
    expect(names.filter(name => !(name in cfg.scripts))).toEqual([]);
    expect(Object.values(jobs).filter(job => job["timeout-minutes"] === undefined)).toEqual([]);
  });

  it("runs no program of npm's authors in a job that may write or sign", () => {
    const writing = Object.values(jobs).filter(one => Object.values(one.permissions ?? {}).includes("write"));
    expect(writing.flatMap(job => job.steps).filter(({ run = "" }) => /\b(npm|npx|node)\b/.test(run))).toEqual([]);
  });

  it("fails a step if a part of a pipe fails", () => {
    const hasShell = steps.some(({ run }) => run !== undefined);
    expect(defaults).toEqual(hasShell ? { run: { shell: "bash" } } : undefined);
  });

  it("passes what others choose, such as the name of a branch, as variables, never as text of a script", () => {
    expect(steps.filter(({ run = "" }) => run.includes("${{"))).toEqual([]);
  });
});

describe("a release", () => {
  const { jobs } = parse(readFileSync(join(folder, "release.yaml"), "utf8")) as Workflow;
  const stepsOf = (name: string) => jobs[name]?.steps ?? [];

  it("writes nothing before the tag was checked", () => {
    const writing = Object.values(jobs).filter(({ permissions = {} }) => Object.values(permissions).includes("write"));
    expect(writing.map(({ needs = [] }) => [needs].flat().includes("check"))).toEqual([true, true]);
    expect(jobs["check"]?.needs).toBeUndefined();
  });

  it.each([
    ["there is no release", "exit 0", 0],
    ["others exist", String.raw`printf 'v1.2.3-rc.1\nv1.2.30\nv1x2.3\n'`, 0],
    ["it exists", String.raw`printf 'v1.2.4\nv1.2.3\nv1.2.2\n'`, 1],
    ["the releases cannot be listed", "echo 'HTTP 502' >&2; exit 1", 1],
    ["not all pages can be listed", "echo v1.2.4; exit 1", 1],
  ])("is refused if it exists or that is not known: %s", (_, gh, code) => {
    const { run = "" } = stepsOf("check").find(({ name }) => name === "The release does not exist") ?? {};
    const programs = mkdtempSync(join(tmpdir(), "gh-"));
    try {
      writeFileSync(join(programs, "gh"), `#!/bin/sh\n${gh}\n`, { mode: 0o755 });
      const env = {
        PATH: `${programs}:${process.env["PATH"] ?? ""}`,
        GITHUB_REF_NAME: "v1.2.3",
        GITHUB_REPOSITORY: "o/r",
      };
      // As GitHub runs a step with "shell: bash".
      expect(spawnSync("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", run], { env }).status).toBe(code);
    } finally {
      rmSync(programs, { recursive: true });
    }
  });

  it("gives the image the tag that the chart names", () => {
    const build = stepsOf("image").find(({ uses = "" }) => uses.startsWith("docker/build-push-action@"));
    expect(build?.with?.["tags"]).toBe("${{ steps.name.outputs.image }}:${{ needs.check.outputs.version }}");
  });

  it("has its notes and files before it publishes anything, and installs without scripts", () => {
    const runs = (name: string): string =>
      stepsOf(name)
        .flatMap(({ run = "" }) => run)
        .join("\n");
    expect(runs("assets")).toMatch(/npm ci --ignore-scripts\n[^]*release:assets[^]*release:notes > dist\/notes.md/);
    expect([jobs["assets"]?.permissions, jobs["publish"]?.needs]).toEqual([undefined, ["check", "assets"]]);
    expect(runs("publish")).toMatch(/helm push[^]*gh release create .* --notes-file dist\/notes.md/);
  });
});

it("changes are tested with the commands of the README", () => {
  const { jobs } = parse(readFileSync(join(folder, "ci.yaml"), "utf8")) as Workflow;
  const onOneLine = (text: string): string => text.replaceAll(/[\s\\]+/g, " ");
  const run = Object.values(jobs)
    .flatMap(({ steps }) => steps.map(step => onOneLine(step.run ?? "")))
    .join("\n");
  const readme = readFileSync(join(folder, "../../README.md"), "utf8").replaceAll(/\\\n\s*/g, "");
  const told = ["docker build", "helm install"].flatMap(start =>
    readme.split("\n").filter(line => line.startsWith(start) && line.includes("REGISTRY")),
  );
  expect(told).toHaveLength(2);
  const image = "REGISTRY/controller-resilience";
  for (const line of told)
    expect(run).toContain(
      line.replace(`${image}:${cfg.version}`, '"$IMAGE:$VERSION"').replace(image, '"$IMAGE"').trim(),
    );
  expect(readFileSync(join(folder, "../../.ci/run"), "utf8")).toMatch(/^npm test$/m);
});

it("each week tests every version of Kubernetes that a lab can run", () => {
  const { jobs } = parse(readFileSync(join(folder, "weekly.yaml"), "utf8")) as Workflow;
  expect(jobs["versions"]?.strategy?.matrix.kubernetes).toEqual(MINORS);
});
