// `npm test` runs every check and test of this project: types, lint, formatting and generated files; unit tests; the Pepr build; integration tests
// against a real control plane; end-to-end tests on a real node. A test that cannot run is a failure; none is skipped.
//
// The end-to-end tests mostly wait, and the checks mostly compute. So two tracks run side by side: the end-to-end tests, and all other steps one by
// one. The build runs before both, since the end-to-end tests use an image of it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, setPriority, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { Command } from "commander";
import { E2E_WORKERS, INTEGRATION_WORKERS } from "./cluster/workers";
import { NODE_VERSION, nodeRelease } from "./lab/images";

const root = join(__dirname, "..");
const colors = process.stdout.isTTY ? "1" : "0";
const reports = mkdtempSync(join(tmpdir(), "controller-resilience-reports-"));

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** The part of Vitest's JSON report that is read here. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    /** Why the file failed outside its tests, such as in beforeAll. */
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** One step. It returns the counts of the tests that it ran, and throws if it fails. */
interface Step {
  readonly name: string;
  readonly run: (write: Write) => Promise<Counts>;
}

/** Takes the output of a step. */
type Write = (chunk: Buffer) => void;

const none: Counts = { passed: 0, failed: 0, skipped: 0 };

/** Checks and unit tests yield the processor to clusters: these have timeouts and measure rates. */
const NICENESS = 10;

/** Runs a program. Resolves with its exit code, or with the signal that ended it. */
async function execute(name: string, args: readonly string[], write: Write, yields: boolean): Promise<number | string> {
  const child = spawn(name, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: { FORCE_COLOR: colors, ...process.env },
  });
  if (yields && child.pid !== undefined) setPriority(child.pid, NICENESS);
  for (const stream of [child.stdout, child.stderr]) stream.on("data", write);
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return code ?? signal ?? "no exit code";
}

async function command(write: Write, name: string, ...args: string[]): Promise<Counts> {
  const status = await execute(name, args, write, true);
  if (status !== 0) throw new Error(`${[name, ...args].join(" ")} ended with ${status}`);
  return none;
}

interface SuiteOptions {
  /** Path of another Node.js. */
  readonly node?: string;
  /** Test files that run at the same time. */
  readonly workers?: number;
}

async function suite(write: Write, project: string, options: SuiteOptions = {}): Promise<Counts> {
  const { node = process.execPath, workers = availableParallelism() } = options;
  const report = join(reports, `${project}.json`);
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile=${report}`];
  const args = ["run", "--project", project, `--maxWorkers=${workers}`, ...reporters];
  const status = await execute(node, [vitest, ...args], write, project === "unit");
  const counts = readReport(report);
  if (counts.skipped > 0)
    throw new Error(`${counts.skipped} tests of "${project}" were skipped; a test that cannot run must fail`);
  if (counts.passed + counts.failed === 0) throw new Error(`no test of "${project}" ran`);
  if (status !== 0 && counts.failed === 0) throw new Error(`the suite "${project}" ended with ${status}`);
  return counts;
}

/** Counts the tests of a report, and adds those that failed to `failures`. */
function readReport(file: string): Counts {
  const report = JSON.parse(readFileSync(file, "utf8")) as Report;
  for (const { name, status: ofFile, message, assertionResults } of report.testResults) {
    const file = relative(root, name);
    const failed = assertionResults.filter(({ status }) => status === "failed");
    for (const { fullName, failureMessages } of failed)
      failures.push(`${file}: ${fullName}: ${failureMessages[0]?.split("\n")[0] ?? "no message"}`);
    if (ofFile === "failed" && failed.length === 0) failures.push(`${file}: ${message.split("\n")[0] ?? "no message"}`);
  }
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

const npmRun = (script: string) => (write: Write) => command(write, "npm", "run", "--silent", script);
const vitestOf = (project: string, workers?: number) => (write: Write) =>
  suite(write, project, workers === undefined ? {} : { workers });

async function onImageNode(write: Write): Promise<Counts> {
  const node = await nodeRelease(line => write(Buffer.from(`${line}\n`)));
  return suite(write, "unit", { node });
}

const steps: Record<string, Step[]> = {
  build: [{ name: "pepr build", run: npmRun("build") }],
  static: [
    { name: "Types", run: npmRun("check:types") },
    { name: "Lint", run: npmRun("check:lint") },
    { name: "Formatting", run: npmRun("check:format") },
    { name: "Documentation", run: npmRun("check:docs") },
    { name: "Generated files", run: npmRun("check:generated") },
  ],
  unit: [
    { name: "Unit tests", run: vitestOf("unit") },
    { name: `Unit tests on Node.js ${NODE_VERSION}, the version in the image`, run: onImageNode },
  ],
  integration: [{ name: "Integration tests: a real API server", run: vitestOf("integration", INTEGRATION_WORKERS) }],
  e2e: [{ name: "End-to-end tests: a real node", run: vitestOf("e2e", E2E_WORKERS) }],
};

/** The groups of each track. All tracks of a stage run side by side; a stage begins after the previous one has ended. */
const STAGES: readonly (readonly string[])[][] = [[["build"]], [["static", "unit", "integration"], ["e2e"]]];

const total = { ...none };
const problems: string[] = [];
const failures: string[] = [];

/** Runs one step and records its result. A failure does not keep the next step from running. */
async function runStep({ name, run }: Step, write: Write): Promise<void> {
  const started = performance.now();
  write(Buffer.from(`\n=== ${name}\n`));
  const end = (how: string): void => write(Buffer.from(`=== ${name}: ${how}, ${seconds(started)} s\n`));
  try {
    const counts = await run(write);
    total.passed += counts.passed;
    total.failed += counts.failed;
    end(counts.failed === 0 ? "ok" : "FAILED");
  } catch (error) {
    problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    end("FAILED");
  }
}

async function runTrack(track: readonly Step[], write: Write): Promise<void> {
  for (const step of track) await runStep(step, write);
}

/** Runs tracks side by side. The first one is shown as it goes; the output of the others is kept until the first has ended, then shown as it goes. */
async function runStage([first = [], ...others]: readonly (readonly Step[])[]): Promise<void> {
  const beside = others.map(track => {
    const output = new DelayedOutput();
    return { output, done: runTrack(track, output.write) };
  });
  await runTrack(first, show);
  for (const { output, done } of beside) {
    output.release();
    await done;
  }
}

/** Keeps what is written until it is released; from then on it is shown immediately. */
class DelayedOutput {
  private kept: Buffer[] | undefined = [];

  readonly write = (chunk: Buffer): void => {
    if (this.kept === undefined) show(chunk);
    else this.kept.push(chunk);
  };

  release(): void {
    this.kept?.forEach(show);
    this.kept = undefined;
  }
}

function show(chunk: Buffer): void {
  process.stdout.write(chunk);
}

async function main(only: readonly string[]): Promise<number> {
  const started = performance.now();
  const isChosen = (group: string): boolean => only.length === 0 || only.includes(group);
  for (const stage of STAGES) {
    const tracks = stage.map(groups => groups.filter(isChosen).flatMap(group => steps[group] ?? []));
    await runStage(tracks.filter(({ length }) => length > 0));
  }
  console.log(`\nTotal time: ${seconds(started)} s.`);
  [...problems, ...failures].forEach(problem => console.log(`FAILED ${problem}`));
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
