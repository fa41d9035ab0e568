// `npm run weigh` prints how much there is of everything that a reader has to hold in the head, beside its budget. test/release/weight.test.ts keeps
// the budgets. Who exceeds one raises it in the same commit, and says why there.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { ClusterReason, EngineReason } from "../src/api/conditions";
import { formatTable } from "../src/cli/kubectl/terminal";
import { createRemedies } from "../src/remedies/registry";
import { CLUSTER_CRD_FILE, CRD_FILE } from "./api-types";

const root = join(__dirname, "..");

/** One measure, and how much of it there may be. */
export interface Weight {
  readonly name: string;
  readonly found: number;
  readonly budget: number;
}

/** Weighs the files that Git tracks. Lines are all lines of a file, comments and blank ones too. */
export function weigh(): Weight[] {
  const typescript = tracked("*.ts");
  const tests = typescript.filter(path => isTest(path));
  const source = typescript.filter(path => path.startsWith("src/") && !isTest(path) && !path.includes("/generated/"));
  const own = fields(specOf(CRD_FILE));
  const inherited = new Set(own.map(path => `template.${path}`));
  return [
    { name: "source: lines", found: lines(source), budget: 36_305 },
    { name: "source: files", found: source.length, budget: 224 },
    { name: "tests: lines", found: lines(tests.filter(path => !isSimulation(path))), budget: 56_254 },
    { name: "simulation: lines", found: lines(tests.filter(isSimulation)), budget: 18_548 },
    { name: "docs: words", found: words(tracked("docs/*.md")), budget: 26_000 },
    { name: "fields of a ControllerResilience's spec", found: own.length, budget: 52 },
    {
      name: "fields that a ClusterControllerResilience adds",
      found: fields(specOf(CLUSTER_CRD_FILE)).filter(path => !inherited.has(path)).length,
      budget: 10,
    },
    { name: "reasons of conditions", found: reasons().size, budget: 59 },
    { name: "flags of the operator", found: text("src/cli/start.ts").split("new Option(").length - 1, budget: 10 },
    { name: "values of the chart", found: leaves(parse(text("deploy/chart/values.yaml"))), budget: 44 },
  ];
}

function tracked(pattern: string): string[] {
  return execFileSync("git", ["ls-files", "--", pattern], { cwd: root, encoding: "utf8" }).split("\n").filter(Boolean);
}

function isTest(path: string): boolean {
  return path.startsWith("test/") || path.endsWith(".test.ts") || path.includes("/testing/");
}

function isSimulation(path: string): boolean {
  return path.startsWith("test/simulation/");
}

function text(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

function lines(paths: readonly string[]): number {
  return paths.reduce((sum, path) => sum + text(path).split("\n").length - 1, 0);
}

function words(paths: readonly string[]): number {
  return paths.reduce((sum, path) => sum + text(path).split(/\s+/).filter(Boolean).length, 0);
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

function specOf(file: string): Schema {
  const definition = parse(text(file)) as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: Schema } } } }[] };
  };
  return definition.spec.versions[0]!.schema.openAPIV3Schema.properties.spec;
}

/** The paths of all fields. A label selector counts as one. */
function fields(schema: Schema, above = ""): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${above}${name}`;
    return /selector$/i.test(name)
      ? [path]
      : [path, ...fields(field.properties ? field : (field.items ?? {}), `${path}.`)];
  });
}

function reasons(): Set<string> {
  const ofRemedies = createRemedies().flatMap(remedy => Object.keys(remedy.reasons));
  return new Set([...ofRemedies, ...Object.keys(EngineReason), ...Object.keys(ClusterReason)]);
}

/** Counts the values that a user sets: a list or an empty map is one. */
function leaves(value: unknown): number {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return 1;
  const inner = Object.values(value);
  return inner.length === 0 ? 1 : inner.reduce<number>((sum, each) => sum + leaves(each), 0);
}

function main(): void {
  const weights = weigh();
  const rows = weights.map(({ name, found, budget }) => [name, String(found), String(budget)]);
  process.stdout.write(formatTable([["WHAT", "FOUND", "BUDGET"], ...rows]));
  for (const { name, found, budget } of weights)
    if (found > budget) {
      console.error(`${name}: found ${found}, expected at most ${budget}`);
      process.exitCode = 1;
    }
}

if (process.argv[1] === __filename) main();
