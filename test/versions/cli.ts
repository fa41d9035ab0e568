// `npm run test:versions`: what works on which version of Kubernetes. Builds each version once, which takes minutes.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Argument, Command } from "commander";
import { INTEGRATION_WORKERS } from "../cluster/workers";
import { controlPlane, kubernetesVersion, MINOR_VARIABLE, type Minor, MINORS } from "../lab/kubernetes";
import { built } from "../lab/go-build";
import { printer } from "../lab/progress";
import { execute, suite } from "../suite";
import {
  type Outcome,
  RESULTS_FILE,
  type VersionResult,
  type VersionResults,
  versionsTable,
  withResults,
} from "./results";

/** Integration tests of what differs between versions: the schemas and their rules, admission policies, the chart, APIs of the remedies. */
const FILES = [
  "schema",
  "admission-policy",
  "admission-policy-cluster",
  "chart",
  "operator-start",
  "request-rates",
  "token-lifetime-template",
].map(name => `test/integration/${name}.test.ts`);

const RESULTS = join(__dirname, "..", "..", RESULTS_FILE);

/** What ran on one version of Kubernetes, and one line for each failure. */
interface Tried {
  readonly result: VersionResult;
  readonly failures: readonly string[];
}

const write = (chunk: Buffer): void => void process.stdout.write(chunk);

/** What ran on one version; nothing of it keeps the rest from running. */
async function tryVersion(minor: Minor, hasDemo: boolean): Promise<Tried> {
  const env = { [MINOR_VARIABLE]: minor, INTEGRATION_LAB: `on-${minor.replace(".", "-")}` };
  const failures: string[] = [];
  const outcomeOf = async (project: string, files: readonly string[], workers: number): Promise<Outcome> => {
    try {
      const results = await suite(project, { write, env, files, workers });
      failures.push(...results.failures);
      return results.failed === 0 ? "passed" : "failed";
    } catch (error) {
      failures.push(`${project}: ${error instanceof Error ? error.message : String(error)}`);
      return "failed";
    }
  };
  const demo = async (): Promise<Outcome> => {
    const status = await execute("npm", ["run", "--silent", "demo"], { write, env });
    if (status !== 0) failures.push(`npm run demo ended with ${status}`);
    return status === 0 ? "passed" : "failed";
  };
  // Before the tests, whose limits are shorter than a build.
  await built(controlPlane(minor), "test-versions", printer(process.stdout));
  const remedies = await outcomeOf("versions", [], 1);
  const integration = await outcomeOf("integration", FILES, INTEGRATION_WORKERS);
  return { result: { remedies, integration, demo: hasDemo ? await demo() : "not run" }, failures };
}

/** The result if its programs cannot be had. */
function notTried(error: unknown): Tried {
  const result: VersionResult = { remedies: "failed", integration: "failed", demo: "not run" };
  return { result, failures: [error instanceof Error ? error.message : String(error)] };
}

/** Keeps the results for docs/install.md: `npm run generate` puts them there. A demo that was not run keeps its last result. */
function keep(found: VersionResults): VersionResults {
  const kept = JSON.parse(readFileSync(RESULTS, "utf8")) as VersionResults;
  const complete = Object.entries(found).map(([version, result]) => {
    const demo = result.demo === "not run" ? (kept[version]?.demo ?? result.demo) : result.demo;
    return [version, { ...result, demo }] as const;
  });
  const results = withResults(kept, Object.fromEntries(complete));
  writeFileSync(RESULTS, `${JSON.stringify(results, undefined, 2)}\n`);
  return results;
}

const program = new Command("npm run test:versions --")
  .description(
    "Run each remedy, the tests of schemas, admission policies and chart, and the demo on several versions of Kubernetes.",
  )
  .addArgument(new Argument("[minors...]", "the versions to run").choices(MINORS))
  .option("--no-demo", "without the demo, which needs Linux and root")
  .action(async (chosen: readonly Minor[], options: { demo: boolean }) => {
    const failures: string[] = [];
    for (const minor of chosen.length === 0 ? MINORS : chosen) {
      const version = kubernetesVersion(minor);
      console.log(`\n=== Kubernetes ${version}`);
      const { result, failures: found } = await tryVersion(minor, options.demo).catch(notTried);
      failures.push(...found.map(failure => `FAILED on ${version}: ${failure}`));
      console.log(`\n${await versionsTable(keep({ [version]: result }))}`);
    }
    failures.forEach(failure => console.log(failure));
    process.exitCode = failures.length > 0 ? 1 : 0;
  });

void program.parseAsync();
