// `npm run chaos`: injects faults into a running operator on a real API server, and reports the results.
import { Argument, Command } from "commander";
import { Lab } from "../lab";
import { printer } from "../lab/progress";
import { bounds } from "./bounds";
import { renderFindings } from "./findings";
import { processes } from "./process";
import type { Finding, Suite } from "./suite";

/** In the order in which they run. */
const SUITES: readonly Suite[] = [processes, bounds];

/** Runs each suite on its own control plane, since a fault may damage it. An error in one does not stop the others. */
async function inject(chosen: readonly Suite[]): Promise<void> {
  const findings: Finding[] = [];
  const errors: string[] = [];
  for (const suite of chosen) {
    const startedMs = performance.now();
    try {
      findings.push(...(await onStage(suite)));
    } catch (error) {
      errors.push(`${suite.name} could not run: ${error instanceof Error ? error.message : String(error)}`);
    }
    console.log(`${suite.name} took ${((performance.now() - startedMs) / 1000).toFixed(0)} s`);
  }
  console.log(renderFindings(findings));
  errors.forEach(line => console.error(`FAILED ${line}`));
  const isAsPromised = errors.length === 0 && findings.every(({ failures }) => failures.length === 0);
  console.log(isAsPromised ? "all promises kept" : "NOT all promises kept");
  process.exitCode = isAsPromised ? 0 : 1;
}

/** Runs one suite on its own lab, and cleans up after it, also after a failure. */
async function onStage(suite: Suite): Promise<readonly Finding[]> {
  const name = process.env["CHAOS_LAB"] ?? "chaos";
  const ends: (() => Promise<void>)[] = [];
  const print = (line: string): void => console.log(line.replace(/^/gm, `${suite.name}: `));
  const lab = await Lab.up({ name, controlPlaneOnly: true, onProgress: printer(process.stderr) });
  if (!lab.stays) ends.push(() => lab.down());
  try {
    return await suite.run({ lab, print, defer: last => void ends.push(last) });
  } finally {
    // A failed cleanup does not prevent the others.
    for (const end of ends.toReversed()) {
      await end().catch((error: unknown) => console.error(`${suite.name}: ${String(error)}`));
    }
  }
}

const about = SUITES.map(suite => `${suite.name} (${suite.about})`).join(", ");
const names = SUITES.map(({ name }) => name);

new Command("npm run chaos --")
  .description("Inject faults into the operator and check its promises. Exit code 1 if one is broken.")
  .addArgument(new Argument("[suites...]", `which: ${about}; default: all`).choices(names).default(names, "all"))
  .action((chosen: readonly string[]) => inject(SUITES.filter(({ name }) => chosen.includes(name))))
  .parseAsync()
  .catch((error: unknown) => {
    console.error(`chaos: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  });
