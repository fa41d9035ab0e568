// `npm test`: the whole of it, in one go. Types, lint, formatting and generated files; unit tests; the Pepr build; integration tests
// against a real control plane; end-to-end tests on a real node. A test that can't run is a failure, never silently left out.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";

const root = join(__dirname, "..");
const reports = mkdtempSync(join(tmpdir(), "controller-resilience-reports-"));

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** A step fails by throwing; what it returns are the tests that it ran. */
interface Step {
  readonly name: string;
  readonly run: () => Promise<Counts> | Counts;
}

const none: Counts = { passed: 0, failed: 0, skipped: 0 };

function command(name: string, ...args: string[]): Counts {
  const { status, signal } = spawnSync(name, args, { cwd: root, stdio: "inherit" });
  if (status !== 0) throw new Error(`${[name, ...args].join(" ")} ended with ${status ?? signal}`);
  return none;
}

function suite(project: string): Counts {
  const report = join(reports, `${project}.json`);
  const vitest = join(root, "node_modules", ".bin", "vitest");
  const args = ["run", "--project", project, "--reporter=default", "--reporter=json", `--outputFile=${report}`];
  const { status, signal } = spawnSync(vitest, args, { cwd: root, stdio: "inherit" });
  const counts = readCounts(report);
  if (counts.skipped > 0)
    throw new Error(`${counts.skipped} tests of "${project}" were skipped; a test that can't run has to fail`);
  if (counts.passed + counts.failed === 0) throw new Error(`no test of "${project}" ran`);
  if (status !== 0 && counts.failed === 0) throw new Error(`the suite "${project}" ended with ${status ?? signal}`);
  return counts;
}

function readCounts(report: string): Counts {
  const json = JSON.parse(readFileSync(report, "utf8")) as Record<string, number>;
  return {
    passed: json["numPassedTests"] ?? 0,
    failed: json["numFailedTests"] ?? 0,
    skipped: (json["numPendingTests"] ?? 0) + (json["numTodoTests"] ?? 0),
  };
}

const steps: Record<string, Step[]> = {
  static: [
    { name: "Types", run: () => command("npm", "run", "--silent", "check:types") },
    { name: "Lint", run: () => command("npm", "run", "--silent", "check:lint") },
    { name: "Formatting", run: () => command("npm", "run", "--silent", "check:format") },
    { name: "Generated files", run: () => command("npm", "run", "--silent", "check:generated") },
  ],
  unit: [{ name: "Unit tests", run: () => suite("unit") }],
  build: [{ name: "pepr build", run: () => command("npm", "run", "--silent", "build") }],
  integration: [{ name: "Integration tests: a real API server", run: () => suite("integration") }],
  e2e: [{ name: "End-to-end tests: a real node", run: () => suite("e2e") }],
};

async function main(only: readonly string[]): Promise<number> {
  const started = performance.now();
  const total = { ...none };
  const problems: string[] = [];
  const chosen = Object.entries(steps).filter(([group]) => only.length === 0 || only.includes(group));
  for (const step of chosen.flatMap(([, group]) => group)) {
    const stepStarted = performance.now();
    console.log(`\n=== ${step.name}`);
    try {
      const counts = await step.run();
      total.passed += counts.passed;
      total.failed += counts.failed;
      console.log(`=== ${step.name}: ${counts.failed === 0 ? "ok" : "FAILED"}, ${seconds(stepStarted)} s`);
    } catch (error) {
      problems.push(`${step.name}: ${error instanceof Error ? error.message : String(error)}`);
      console.log(`=== ${step.name}: FAILED, ${seconds(stepStarted)} s`);
    }
  }
  console.log(`\nAll of it took ${seconds(started)} s.`);
  problems.forEach(problem => console.log(`FAILED ${problem}`));
  console.log(`${total.passed} passed, ${total.failed + problems.length} failed`);
  return total.failed + problems.length === 0 ? 0 : 1;
}

function seconds(since: number): string {
  return ((performance.now() - since) / 1000).toFixed(0);
}

const program = new Command("npm test --")
  .description("Run every check and test of this project.")
  .option("--only <groups>", `comma-separated: ${Object.keys(steps).join(", ")}`, "")
  .action(async (options: { only: string }) => {
    const only = options.only.split(",").filter(Boolean);
    const unknown = only.filter(group => !(group in steps));
    if (unknown.length > 0)
      program.error(`found --only ${unknown.join(",")}, expected some of: ${Object.keys(steps).join(", ")}`);
    try {
      process.exitCode = await main(only);
    } finally {
      rmSync(reports, { recursive: true, force: true });
    }
  });

void program.parseAsync();
