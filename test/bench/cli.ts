// `npm run bench`: the figures that the documentation quotes. Times vary from machine to machine, so what counts are the ratios, and
// those of one run. Nothing here decides a test.
import { Command } from "commander";
import { benchClassifier } from "./classifier";
import { benchHealing } from "./healing";
import { benchQueue } from "./queue";

const benchmarks = {
  classifier: { run: benchClassifier, about: "the 401 classifier over a mixed log, against grep" },
  queue: { run: benchQueue, about: "the work queue" },
  healing: { run: benchHealing, about: "from a recreated ServiceAccount to a healed pod, in the lab" },
} as const;

const program = new Command("npm run bench --")
  .description("Measure, and print what was measured.")
  .argument(
    "[names...]",
    `which: ${Object.entries(benchmarks)
      .map(([name, { about }]) => `${name} (${about})`)
      .join(", ")}; default: all`,
  )
  .action(async (names: string[]) => {
    const unknown = names.filter(name => !(name in benchmarks));
    if (unknown.length > 0)
      program.error(`found ${unknown.join(" ")}, expected some of: ${Object.keys(benchmarks).join(", ")}`);
    for (const [name, { run, about }] of Object.entries(benchmarks)) {
      if (names.length > 0 && !names.includes(name)) continue;
      console.log(`\n${name}: ${about}`);
      await run(line => console.log(`  ${line}`));
    }
  });

void program.parseAsync();
