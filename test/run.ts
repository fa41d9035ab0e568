// `npm test`: the whole of it, in one go. Types, lint, formatting and generated files; unit tests; the Pepr build; integration tests
// against a real control plane; end-to-end tests on a real node. A test that can't run is a failure, never silently left out.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { NODE_VERSION, nodeRelease } from "./lab/images";

const root = join(__dirname, "..");
const colors = process.stdout.isTTY ? "1" : "0";
const reports = mkdtempSync(join(tmpdir(), "controller-resilience-reports-"));

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** A step fails by throwing; what it returns are the tests that it ran. */
interface Step {
  readonly name: string;
  readonly run: (write: Write) => Promise<Counts>;
}

/** Where a step writes what people read. */
type Write = (chunk: Buffer) => void;

const none: Counts = { passed: 0, failed: 0, skipped: 0 };

/** Resolves with the exit code, or the signal that has ended it. */
async function execute(name: string, args: readonly string[], write: Write): Promise<number | string> {
  const child = spawn(name, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: { FORCE_COLOR: colors, ...process.env },
  });
  for (const stream of [child.stdout, child.stderr]) stream.on("data", write);
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return code ?? signal ?? "no exit code";
}

async function command(write: Write, name: string, ...args: string[]): Promise<Counts> {
  const status = await execute(name, args, write);
  if (status !== 0) throw new Error(`${[name, ...args].join(" ")} ended with ${status}`);
  return none;
}

async function suite(write: Write, project: string, node = process.execPath): Promise<Counts> {
  const report = join(reports, `${project}.json`);
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const args = ["run", "--project", project, "--reporter=default", "--reporter=json", `--outputFile=${report}`];
  const status = await execute(node, [vitest, ...args], write);
  const counts = readCounts(report);
  if (counts.skipped > 0)
    throw new Error(`${counts.skipped} tests of "${project}" were skipped; a test that can't run has to fail`);
  if (counts.passed + counts.failed === 0) throw new Error(`no test of "${project}" ran`);
  if (status !== 0 && counts.failed === 0) throw new Error(`the suite "${project}" ended with ${status}`);
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

const npmRun = (script: string) => (write: Write) => command(write, "npm", "run", "--silent", script);
const vitestOf = (project: string) => (write: Write) => suite(write, project);

async function onImagesNode(write: Write): Promise<Counts> {
  const node = await nodeRelease(line => write(Buffer.from(`${line}\n`)));
  return suite(write, "unit", node);
}

const steps: Record<string, Step[]> = {
  static: [
    { name: "Types", run: npmRun("check:types") },
    { name: "Lint", run: npmRun("check:lint") },
    { name: "Formatting", run: npmRun("check:format") },
    { name: "Generated files", run: npmRun("check:generated") },
  ],
  unit: [
    { name: "Unit tests", run: vitestOf("unit") },
    { name: `Unit tests on Node.js ${NODE_VERSION}, which is in the image`, run: onImagesNode },
  ],
  build: [{ name: "pepr build", run: npmRun("build") }],
  e2e: [{ name: "End-to-end tests: a real node", run: vitestOf("e2e") }],
  integration: [{ name: "Integration tests: a real API server", run: vitestOf("integration") }],
};

/** These mostly wait, each for a cluster of its own, so they do it at the same time. */
const CLUSTERS = ["e2e", "integration"];

const total = { ...none };
const problems: string[] = [];

/** Whatever it comes to, the next step is taken. */
async function take({ name, run }: Step, write: Write): Promise<void> {
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

/** The first writes as it goes; what the others have to say is kept until they have ended, so that each can be read by itself. */
async function takeTogether([first, ...others]: readonly Step[]): Promise<void> {
  const beside = others.map(async step => {
    const kept: Buffer[] = [];
    await take(step, chunk => kept.push(chunk));
    return Buffer.concat(kept);
  });
  if (first !== undefined) await take(first, show);
  for (const told of await Promise.all(beside)) show(told);
}

function show(chunk: Buffer): void {
  process.stdout.write(chunk);
}

async function main(only: readonly string[]): Promise<number> {
  const started = performance.now();
  const isChosen = (group: string): boolean => only.length === 0 || only.includes(group);
  const groups = Object.entries(steps).filter(([group]) => isChosen(group));
  const stepsOf = (isCluster: boolean): Step[] =>
    groups.filter(([group]) => CLUSTERS.includes(group) === isCluster).flatMap(([, group]) => group);
  for (const step of stepsOf(false)) await take(step, show);
  await takeTogether(stepsOf(true));
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
