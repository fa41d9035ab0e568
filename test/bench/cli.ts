// `npm run bench`: prints the figures in the documentation. Times depend on the machine, so compare ratios within one run. No test depends
// on these results.
import { Command } from "commander";
import { benchClusterWide } from "./cluster-wide";
import { benchFlow } from "./flow";
import { scaleCommand } from "./scale/command";
import { silentDeathsCommand } from "./silent-deaths/command";
import { benchHour, benchZoo } from "./zoo/zoo";

interface Benchmark {
  readonly run: (print: (line: string) => void) => Promise<void>;
  readonly about: string;
  /** Runs only if named, since it takes long. */
  readonly onlyNamed?: true;
}

const benchmarks: Readonly<Record<string, Benchmark>> = {
  flow: { run: benchFlow, about: "effect of a flood on other clients: not isolated, isolated, throttled, in the lab" },
  "cluster-wide": {
    run: benchClusterWide,
    about: "cost of one ClusterControllerResilience over 250 and 1,000 namespaces, in the lab",
    onlyNamed: true,
  },
  zoo: {
    run: benchZoo,
    about: "what stallDetection finds of real programs that stall, and after how long, in the lab",
    onlyNamed: true,
  },
  "zoo-hour": {
    run: benchHour,
    about: "whether stallDetection accuses real programs that work, in an hour, in the lab",
    onlyNamed: true,
  },
};

const program = new Command("npm run bench --")
  .description("Run benchmarks and print the results.")
  .argument(
    "[names...]",
    `which: ${Object.entries(benchmarks)
      .map(([name, { about }]) => `${name} (${about})`)
      .join(", ")}; default: flow`,
  )
  .addCommand(scaleCommand())
  .addCommand(silentDeathsCommand())
  .action(async (names: string[]) => {
    const unknown = names.filter(name => !(name in benchmarks));
    if (unknown.length > 0)
      program.error(`found ${unknown.join(" ")}, expected some of: ${Object.keys(benchmarks).join(", ")}`);
    for (const [name, { run, about, onlyNamed = false }] of Object.entries(benchmarks)) {
      if (names.length === 0 ? onlyNamed : !names.includes(name)) continue;
      console.log(`\n${name}: ${about}`);
      await run(line => console.log(`  ${line}`));
    }
  });

void program.parseAsync();
