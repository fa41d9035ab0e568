// `npm test` runs every check and test of this project: types, lint, formatting and generated files; unit tests; the Pepr build; integration tests
// against a real control plane; end-to-end tests on a real node. A test that cannot run is a failure; none is skipped.
//
// Tests of clusters mostly wait, and all else computes. So three tracks run side by side: end-to-end tests, integration tests, and all other steps one
// by one, which yield the processor to clusters. The build runs before them, since the end-to-end tests use an image of it.
import { Command } from "commander";
import { E2E_WORKERS, INTEGRATION_WORKERS } from "./cluster/workers";
import { NODE_VERSION, nodeRelease } from "./lab/images";
import { simulatedWorlds } from "./simulation/gate";
import { execute, type Results, suite, type SuiteOptions, type Write } from "./suite";

/** One step. It returns the results of the tests that it ran, and throws if it fails. */
interface Step {
  readonly name: string;
  readonly run: (write: Write) => Promise<Results>;
}

const none: Results = { passed: 0, failed: 0, failures: [] };

async function command(write: Write, name: string, ...args: string[]): Promise<Results> {
  const status = await execute(name, args, { write, yields: true });
  if (status !== 0) throw new Error(`${[name, ...args].join(" ")} ended with ${status}`);
  return none;
}

const npmRun = (script: string) => (write: Write) => command(write, "npm", "run", "--silent", script);
const vitestOf =
  (project: string, options: Omit<SuiteOptions, "write">) =>
  (write: Write): Promise<Results> =>
    suite(project, { write, ...options });

/**
 * End-to-end tests that run in a lab of their own, as soon as the integration tests leave it the processor: those that wait for minutes, and as many
 * others as let this track end with that of the other end-to-end tests.
 */
const LONG = ["chart", "key-rotation", "own-identity"].map(name => `test/e2e/${name}.test.ts`);
const ITS_LAB = { E2E_LAB: "e2e-long" };

// Each unit test runs once. The simulated worlds compare the versions of Node.js.

/** What runs in the image: the operator, alone and in simulated clusters. */
async function operatorTests(write: Write): Promise<Results> {
  const node = await nodeRelease(line => write(Buffer.from(`${line}\n`)));
  const files = ["src/", "capabilities/", "test/simulation/"];
  return suite("unit", { write, node, files, without: ["src/cli/**"], yields: true });
}

/** All others: what a developer or a user of the plugin runs. */
function otherTests(write: Write): Promise<Results> {
  const without = ["src/!(cli)/**", "src/*.test.ts", "capabilities/**", "test/simulation/**"];
  return suite("unit", { write, without, yields: true });
}

const steps: Record<string, Step[]> = {
  build: [{ name: "pepr build, twice: equal files", run: npmRun("check:reproducible") }],
  static: [
    { name: "Types", run: npmRun("check:types") },
    { name: "Lint", run: npmRun("check:lint") },
    { name: "Formatting", run: npmRun("check:format") },
    { name: "Documentation", run: npmRun("check:docs") },
    { name: "Generated files", run: npmRun("check:generated") },
  ],
  unit: [
    { name: `Unit tests of the operator, on Node.js ${NODE_VERSION} as in the image`, run: operatorTests },
    { name: "Unit tests of the plugin, the scripts and the tests", run: otherTests },
  ],
  simulation: [{ name: "Simulated worlds", run: simulatedWorlds }],
  integration: [
    { name: "Integration tests: a real API server", run: vitestOf("integration", { workers: INTEGRATION_WORKERS }) },
  ],
  long: [
    {
      name: "End-to-end tests after those of integration",
      run: vitestOf("e2e", { workers: 1, files: LONG, env: ITS_LAB }),
    },
  ],
  e2e: [{ name: "End-to-end tests: a real node", run: vitestOf("e2e", { workers: E2E_WORKERS, without: LONG }) }],
};

/** The groups of each track. All tracks of a stage run side by side; a stage begins after the previous one has ended. */
const STAGES: readonly (readonly string[])[][] = [
  [["build"]],
  [["static", "unit", "simulation"], ["integration", "long"], ["e2e"]],
];

const total = { passed: 0, failed: 0 };
const problems: string[] = [];
const failures: string[] = [];

/** Runs one step and records its result. A failure does not keep the next step from running. */
async function runStep({ name, run }: Step, write: Write): Promise<void> {
  const started = performance.now();
  write(Buffer.from(`\n=== ${name}\n`));
  const end = (how: string): void => write(Buffer.from(`=== ${name}: ${how}, ${seconds(started)} s\n`));
  try {
    const results = await run(write);
    total.passed += results.passed;
    total.failed += results.failed;
    failures.push(...results.failures);
    end(results.failed === 0 ? "ok" : "FAILED");
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
    process.exitCode = await main(only);
  });

void program.parseAsync();
