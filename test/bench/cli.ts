// `npm run bench`: the figures that the documentation quotes. Times vary from machine to machine, so what counts are the ratios, and
// those of one run. Nothing here decides a test.
import { Command } from "commander";
import { benchClassifier } from "./classifier";
import { benchFlow } from "./flow";
import { benchFlowLevels } from "./flow-levels";
import { benchTarPit } from "./flow-tar-pit";
import { benchHealing } from "./healing";
import { benchQueue } from "./queue";

interface Benchmark {
  readonly run: (print: (line: string) => void) => Promise<void>;
  readonly about: string;
  /** Run only when it is named: a search, or a question that is answered once. */
  readonly onlyNamed?: true;
}

const benchmarks: Readonly<Record<string, Benchmark>> = {
  classifier: { run: benchClassifier, about: "the 401 classifier over a mixed log, against grep" },
  queue: { run: benchQueue, about: "the work queue" },
  healing: { run: benchHealing, about: "from a recreated ServiceAccount to a healed pod, in the lab" },
  flow: { run: benchFlow, about: "what a flood does to others, alone, isolated and in the tar pit, in the lab" },
  "flow-levels": { run: benchFlowLevels, about: "settings of the isolation level, compared", onlyNamed: true },
  "flow-tar-pit": { run: benchTarPit, about: "places in the tar pit, and what they cost", onlyNamed: true },
};

const program = new Command("npm run bench --")
  .description("Measure, and print what was measured.")
  .argument(
    "[names...]",
    `which: ${Object.entries(benchmarks)
      .map(([name, { about }]) => `${name} (${about})`)
      .join(", ")}; default: all but flow-levels and flow-tar-pit`,
  )
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
