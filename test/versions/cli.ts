// `npm run test:versions`: what works on which version of Kubernetes. Builds each version once, which takes minutes.
import { Argument, Command } from "commander";
import { INTEGRATION_WORKERS } from "../cluster/workers";
import { kubernetesVersion, MINOR_VARIABLE, type Minor, MINORS } from "../lab/kubernetes";
import { execute, suite } from "../suite";

/** Integration tests of what differs between versions: the schemas and their rules, admission policies, the chart, APIs of the remedies. */
const FILES = [
  "schema",
  "admission-policy",
  "admission-policy-cluster",
  "chart",
  "operator-start",
  "binding-renewal",
  "flow-isolation",
  "request-rates",
  "token-lifetime-template",
  "cluster-wide",
].map(name => `test/integration/${name}.test.ts`);

/** What ran on one version of Kubernetes, and how it ended. */
interface Row {
  readonly version: string;
  readonly remedies: string;
  readonly integration: string;
  readonly demo: string;
  /** One line for each failure. */
  readonly failures: readonly string[];
}

/** A table in Markdown, and below it one line for each failure. */
function renderTable(rows: readonly Row[]): string {
  return [
    "| Kubernetes | remedies | integration tests | demo |",
    "| --- | --- | --- | --- |",
    ...rows.map(
      ({ version, remedies, integration, demo }) => `| ${[version, remedies, integration, demo].join(" | ")} |`,
    ),
    ...rows.flatMap(({ version, failures }) => failures.map(failure => `FAILED on ${version}: ${failure}`)),
  ].join("\n");
}

const write = (chunk: Buffer): void => void process.stdout.write(chunk);

/** What ran on one version; nothing of it keeps the rest from running. */
async function tryVersion(minor: Minor, hasDemo: boolean): Promise<Row> {
  const env = { [MINOR_VARIABLE]: minor, INTEGRATION_LAB: `on-${minor.replace(".", "-")}` };
  const failures: string[] = [];
  const counted = async (project: string, files: readonly string[], workers: number): Promise<string> => {
    try {
      const results = await suite(project, { write, env, files, workers });
      failures.push(...results.failures);
      return results.failed === 0 ? `${results.passed} passed` : `${results.passed} passed, ${results.failed} FAILED`;
    } catch (error) {
      failures.push(`${project}: ${error instanceof Error ? error.message : String(error)}`);
      return "FAILED";
    }
  };
  const demo = async (): Promise<string> => {
    const status = await execute("npm", ["run", "--silent", "demo"], { write, env });
    if (status !== 0) failures.push(`npm run demo ended with ${status}`);
    return status === 0 ? "passed" : "FAILED";
  };
  return {
    version: kubernetesVersion(minor),
    remedies: await counted("versions", [], 1),
    integration: await counted("integration", FILES, INTEGRATION_WORKERS),
    demo: hasDemo ? await demo() : "not run",
    failures,
  };
}

const program = new Command("npm run test:versions --")
  .description(
    "Run each remedy, the tests of schemas, admission policies and chart, and the demo on several versions of Kubernetes.",
  )
  .addArgument(new Argument("[minors...]", "the versions to run").choices(MINORS))
  .option("--no-demo", "without the demo, which needs Linux and root")
  .action(async (chosen: readonly Minor[], options: { demo: boolean }) => {
    const rows: Row[] = [];
    for (const minor of chosen.length === 0 ? MINORS : chosen) {
      console.log(`\n=== Kubernetes ${kubernetesVersion(minor)}`);
      rows.push(await tryVersion(minor, options.demo));
    }
    console.log(`\n${renderTable(rows)}`);
    process.exitCode = rows.some(({ failures }) => failures.length > 0) ? 1 : 0;
  });

void program.parseAsync();
