// `npm test` runs every check and test of this project: types, lint, formatting and generated files; unit tests; the Pepr build; integration tests
// against a real control plane; end-to-end tests on a real node. A test that cannot run is a failure; none is skipped.
//
// Tests of clusters mostly wait, and all else computes. So three tracks run side by side: end-to-end tests, integration tests, and all other steps one
// by one, which yield the processor to clusters. The build runs before them, since the end-to-end tests use an image of it.
//
// `npm run check` runs the checks beside the unit tests that simulate no world.
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

const npmRun =
  (script: string, { args = [] as readonly string[], yields = true } = {}) =>
  async (write: Write): Promise<Results> => {
    const status = await execute("npm", ["run", "--silent", script, "--", ...args], { write, yields });
    if (status !== 0) throw new Error(`npm run ${script} ended with ${status}`);
    return none;
  };
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

const checks = (run: (script: string) => Step["run"]): Step[] => [
  { name: "Types", run: run("check:types") },
  { name: "Lint", run: run("check:lint") },
  { name: "Formatting", run: run("check:format") },
  { name: "Documentation", run: run("check:docs") },
  { name: "Generated files", run: run("check:generated") },
];

/** How the linters remember files that have not changed. */
const CACHED: Readonly<Record<string, readonly string[]>> = {
  "check:lint": ["--cache", "--cache-strategy", "content", "--cache-location", "node_modules/.cache/eslint"],
  "check:format": ["--cache"],
};

const WORLDS = ["test/simulation/**", "test/attack/hostile.test.ts"];

/** The tracks of `npm run check`. The tests use what the checks, which run one by one, leave of the processor. */
const QUICK: readonly Step[][] = [
  checks(script => npmRun(script, { args: CACHED[script], yields: false })),
  [{ name: "Unit tests", run: vitestOf("unit", { without: WORLDS, yields: true, shared: true }) }],
];

const steps: Record<string, Step[]> = {
  build: [{ name: "pepr build, twice: equal files", run: npmRun("check:reproducible") }],
  static: checks(script => npmRun(script)),
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

/** The tracks of each stage of `npm test`, or of these groups alone. */
function stagesOf(only: readonly string[]): Step[][][] {
  const isChosen = (group: string): boolean => only.length === 0 || only.includes(group);
  return STAGES.map(stage => {
    const tracks = stage.map(groups => groups.filter(isChosen).flatMap(group => steps[group] ?? []));
    return tracks.filter(({ length }) => length > 0);
  });
}

async function main(stages: readonly (readonly Step[][])[]): Promise<number> {
  const started = performance.now();
  for (const stage of stages) await runStage(stage);
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
  .option("--quick", "only checks, and unit tests without simulated worlds (npm run check)")
  .action(async (options: { only: string; quick?: true }) => {
    const only = options.only.split(",").filter(Boolean);
    const unknown = only.filter(group => !(group in steps));
    if (unknown.length > 0)
      program.error(`found --only ${unknown.join(",")}, expected some of: ${Object.keys(steps).join(", ")}`);
    process.exitCode = await main(options.quick === true ? [QUICK] : stagesOf(only));
  });

void program.parseAsync();
