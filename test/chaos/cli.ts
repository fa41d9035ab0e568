// `npm run chaos`: injects faults into a running operator on a real API server, and reports the results.
import { Command, InvalidArgumentError, Option } from "commander";
import { Lab } from "../lab";
import { printer } from "../lab/progress";
import { crash, type CrashChoice } from "./crash";
import { renderFindings } from "./findings";
import { scenarios } from "./scenarios";
import type { Finding, Suite } from "./suite";
import { everything, suites } from "./suites";

/** Runs if no suite is named. */
const ALL = "all";

interface Flags {
  readonly seed: number;
  readonly jobs?: number;
}

/** Runs each suite on its own control plane, since a fault may damage it; suites that measure run last. An error in one does not stop the others. */
async function inject(chosen: readonly Suite[], { seed, jobs = 1 }: Flags): Promise<void> {
  const findings: Finding[] = [];
  const errors: string[] = [];
  console.log(`seed ${seed}: ${chosen.map(({ name }) => name).join(", ")}`);
  const [alone, together] = [chosen.filter(({ isAlone }) => isAlone), chosen.filter(({ isAlone }) => !isAlone)];
  const work = async (waiting: Suite[], job: number): Promise<void> => {
    for (let suite = waiting.shift(); suite !== undefined; suite = waiting.shift()) {
      const startedMs = performance.now();
      try {
        findings.push(...(await onStage(suite, seed, job)));
      } catch (error) {
        errors.push(`${suite.name} could not run: ${error instanceof Error ? error.message : String(error)}`);
      }
      console.log(`${suite.name} took ${((performance.now() - startedMs) / 1000).toFixed(0)} s`);
    }
  };
  await Promise.all(Array.from({ length: jobs }, (_, job) => work(together, job)));
  await work(alone, 0);
  console.log(renderFindings(findings));
  errors.forEach(line => console.error(`FAILED ${line}`));
  const isAsPromised = errors.length === 0 && findings.every(({ failures }) => failures.length === 0);
  console.log(`seed ${seed}: ${isAsPromised ? "all promises kept" : "NOT all promises kept"}`);
  process.exitCode = isAsPromised ? 0 : 1;
}

/** Runs one suite on its own lab, and cleans up after it, also after a failure. */
async function onStage(suite: Suite, seed: number, job: number): Promise<readonly Finding[]> {
  const name = `${process.env["CHAOS_LAB"] ?? "chaos"}-${job}`;
  const ends: (() => Promise<void>)[] = [];
  const print = (line: string): void => console.log(line.replace(/^/gm, `${suite.name}: `));
  const lab = await Lab.up({ name, controlPlaneOnly: true, onProgress: printer(process.stderr) });
  if (!lab.stays) ends.push(() => lab.down());
  try {
    return await suite.run({ seed, lab, print, defer: last => void ends.push(last) });
  } finally {
    // A failed cleanup does not prevent the others.
    for (const end of ends.toReversed()) {
      await end().catch((error: unknown) => console.error(`${suite.name}: ${String(error)}`));
    }
  }
}

function count(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 0) return number;
  throw new InvalidArgumentError("expected a whole number");
}

function command(into: Command, name: string, about: string): Command {
  return into
    .command(name, { isDefault: name === ALL })
    .description(about)
    .option("--seed <number>", "seed of all random choices", count, 1);
}

const program = new Command("npm run chaos --")
  .description("Inject faults into the operator and check its promises. Exit code 1 if one is broken.")
  .configureHelp({ showGlobalOptions: true });

command(program, ALL, "all suites (default)")
  .option("--jobs <count>", "number of concurrent suites, each with its own control plane", count, 1)
  .action((flags: Flags) => inject(everything, flags));

for (const suite of suites) {
  command(program, suite.name, suite.about).action((flags: Flags) => inject([suite], flags));
}

const list = scenarios.map(({ name, about }) => `  ${name.padEnd(20)}${about}`);
command(program, "crash", crash().about)
  .addOption(new Option("--scenario <names...>", "only these scenarios").choices(scenarios.map(({ name }) => name)))
  .option("--at-most <count>", "crashes of each scenario, chosen by the seed (default: all)", count)
  .addHelpText("after", `\nScenarios:\n${list.join("\n")}`)
  .action(({ scenario, atMost, ...flags }: Flags & CrashChoice) =>
    inject([crash({ ...(scenario && { scenario }), ...(atMost !== undefined && { atMost }) })], flags),
  );

program.parseAsync().catch((error: unknown) => {
  console.error(`chaos: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});
