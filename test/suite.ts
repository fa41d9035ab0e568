import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, setPriority, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { startBound } from "./lab/commands";

const root = join(__dirname, "..");
const colors = process.stdout.isTTY ? "1" : "0";

/** Checks and unit tests yield the processor to clusters: these have timeouts and measure rates. */
const NICENESS = 10;

/** Takes the output of a program. */
export type Write = (chunk: Buffer) => void;

/** How to run a program in the root of this project. */
interface ExecuteOptions {
  readonly write: Write;
  /** True for less priority than clusters have. */
  readonly yields?: boolean | undefined;
  /** Further variables of the environment. */
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/** Runs a program, which ends with this process. Resolves with its exit code, or with the signal that ended it. */
export async function execute(
  name: string,
  args: readonly string[],
  { write, yields = false, env = {} }: ExecuteOptions,
): Promise<number | string> {
  const child = startBound([name, ...args], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: { FORCE_COLOR: colors, ...process.env, ...env },
  });
  if (yields && child.pid !== undefined) setPriority(child.pid, NICENESS);
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", write);
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return code ?? signal ?? "no exit code";
}

/** What tests came to. */
export interface Results {
  readonly passed: number;
  readonly failed: number;
  /** One line for each failed test, for each file that failed outside its tests, and for tests that were skipped. */
  readonly failures: readonly string[];
}

/** Which tests to run, and how. */
export interface SuiteOptions extends ExecuteOptions {
  /** Only files whose path contains one of these; all without. */
  readonly files?: readonly string[];
  /** Globs of files to leave out. */
  readonly without?: readonly string[];
  /** Path of another Node.js. */
  readonly node?: string;
  /** Files that run in one worker share its modules: to load them for each file takes a third of the processor time of the unit tests. */
  readonly shared?: boolean;
  /** Test files that run at the same time. */
  readonly workers?: number | undefined;
}

/** Runs a project of vitest.config.mts. A failed test is a result; throws if the tests can't run, or if one was skipped. */
export async function suite(project: string, options: SuiteOptions): Promise<Results> {
  const { node = process.execPath, workers = availableParallelism(), files = [], without = [] } = options;
  const folder = mkdtempSync(join(tmpdir(), "controller-resilience-report-"));
  try {
    const report = join(folder, `${project}.json`);
    const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile=${report}`];
    const chosen = [...files, ...without.flatMap(glob => ["--exclude", glob])];
    const shared = options.shared === true ? ["--no-isolate"] : [];
    const args = ["run", "--project", project, `--maxWorkers=${workers}`, ...shared, ...reporters, ...chosen];
    const status = await execute(node, [vitest, ...args], options);
    const results = readReport(JSON.parse(readFileSync(report, "utf8")) as Report);
    if (results.passed + results.failed === 0) throw new Error(`no test of "${project}" ran`);
    if (status !== 0 && results.failed === 0) throw new Error(`the suite "${project}" ended with ${status}`);
    return results;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The part of Vitest's JSON report that is read here. */
interface Report {
  readonly numPassedTests: number;
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

/** A skipped test counts as a failed one. */
function readReport(report: Report): Results {
  const skipped = report.numPendingTests + report.numTodoTests;
  const failures = report.testResults.flatMap(({ name, status: ofFile, message, assertionResults }) => {
    const file = relative(root, name);
    const failed = assertionResults.filter(({ status }) => status === "failed");
    const lines = failed.map(({ fullName, failureMessages }) => `${fullName}: ${firstLine(failureMessages[0])}`);
    if (ofFile === "failed" && lines.length === 0) lines.push(firstLine(message));
    return lines.map(line => `${file}: ${line}`);
  });
  if (skipped > 0) failures.push(`${skipped} tests were skipped; a test that cannot run must fail`);
  return { passed: report.numPassedTests, failed: failures.length, failures };
}

function firstLine(text = "no message"): string {
  return text.split("\n")[0] ?? "";
}
