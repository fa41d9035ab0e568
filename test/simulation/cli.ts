// `npm run simulate`: runs the real operator in simulated clusters, and checks what it promises.
import { Command, InvalidArgumentError, Option } from "commander";
import { mutate } from "./mutate";
import { runWorlds } from "./pool";
import { render, type Result } from "./results";
import { simulate } from "./simulate";
import { shrink } from "./shrink";
import { generate } from "./world/generate";
import { type Plan, type Size, SIZES } from "./world/plan";

interface Flags {
  readonly seeds: number;
  readonly from: number;
  readonly world: Size;
  readonly jobs: number;
  readonly hours: number;
  readonly seed?: number;
  readonly trace?: true;
  readonly shrink: boolean;
  readonly mutate?: string | true;
}

/** Progress is told so often, in milliseconds. */
const TOLD_EVERY_MS = 2_000;

const whole =
  (least: number) =>
  (text: string): number => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`expected a whole number of at least ${least}, got "${text}".`);
  };

function positive(text: string): number {
  const value = Number(text);
  if (value > 0 && value <= 48) return value;
  throw new InvalidArgumentError(`expected a number of hours up to 48, got "${text}".`);
}

async function main({ seed, ...flags }: Flags): Promise<number> {
  if (flags.mutate !== undefined) return mutate(flags.mutate === true ? undefined : flags.mutate, flags);
  if (seed !== undefined) return one(generate(seed, flags.world, flags.hours), flags);
  const results = await many(flags);
  console.log(render(results));
  const worst = results.find(({ violations }) => violations.length > 0);
  if (worst !== undefined && flags.shrink) await explain(generate(worst.seed, flags.world, flags.hours));
  return results.some(({ violations, error }) => violations.length > 0 || error !== undefined) ? 1 : 0;
}

/** Runs one world, and tells its story if that is asked for or something is wrong. */
async function one(plan: Plan, { trace, shrink: shrinks }: Flags): Promise<number> {
  const outcome = await simulate(plan);
  if (trace === true) console.log(outcome.story.join("\n"));
  for (const { promise, sentence } of outcome.violations) console.log(`promise ${promise}: ${sentence}`);
  console.log(`seed ${plan.seed}: ${outcome.requests} requests, hash ${outcome.hash}`);
  if (outcome.violations.length > 0 && shrinks && trace !== true) await explain(plan);
  return outcome.violations.length > 0 ? 1 : 0;
}

/** Prints the smallest plan that breaks the same promise, and its story. */
async function explain(plan: Plan): Promise<void> {
  const [first] = (await simulate(plan)).violations;
  if (first === undefined) return;
  process.stderr.write(
    `Looking for the smallest world that breaks promise ${first.promise} like seed ${plan.seed} ...\n`,
  );
  const smallest = await shrink(plan, async smaller =>
    (await simulate(smaller)).violations.some(({ promise }) => promise === first.promise),
  );
  const { story } = await simulate(smallest);
  console.log(`\nThe smallest world that breaks promise ${first.promise}, for test/simulation/regressions/:\n`);
  console.log(JSON.stringify(smallest, undefined, 2));
  console.log(`\n${story.join("\n")}`);
}

/** Runs worlds in several processes. An interrupted run returns what it has. */
async function many({ seeds, from, world, jobs, hours }: Flags): Promise<Result[]> {
  const results: Result[] = [];
  let isInterrupted = false;
  process.once("SIGINT", () => {
    isInterrupted = true;
    process.stderr.write("\nInterrupted: waiting for the worlds that run.\n");
  });
  const told = setInterval(() => {
    const broken = results.filter(({ violations }) => violations.length > 0).length;
    process.stderr.write(`${results.length} of ${seeds} worlds, ${broken} with a broken promise\n`);
  }, TOLD_EVERY_MS);
  const order = { seeds: Array.from({ length: seeds }, (_, at) => from + at), world, hours, jobs };
  await runWorlds(order, result => {
    results.push(result);
    return !isInterrupted;
  });
  clearInterval(told);
  return results.sort((a, b) => a.seed - b.seed);
}

const program = new Command("npm run simulate --")
  .description(
    "Run the real operator in simulated clusters, and check what it promises. Exit code 1 if a promise is broken.",
  )
  .addOption(new Option("--seeds <number>", "worlds to run").default(100).argParser(whole(1)))
  .addOption(new Option("--from <seed>", "first seed").default(1).argParser(whole(0)))
  .addOption(new Option("--world <size>", "size of each world").choices(SIZES).default("small"))
  .addOption(new Option("--hours <number>", "length of each world").default(2).argParser(positive))
  .addOption(new Option("--jobs <number>", "processes").default(2).argParser(whole(1)))
  .addOption(new Option("--seed <seed>", "run this world alone").argParser(whole(0)))
  .addOption(new Option("--trace", "tell the story of the world"))
  .addOption(new Option("--no-shrink", "do not look for the smallest world that fails"))
  .addOption(new Option("--mutate [name]", "break the operator in each listed way, and see that a seed finds it"))
  .allowExcessArguments(false)
  .action(async (flags: Flags) => {
    process.exitCode = await main(flags);
  });

void program.parseAsync();
