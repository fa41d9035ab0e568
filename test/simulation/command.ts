import { appendFileSync, readFileSync } from "node:fs";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { Violation } from "./checker/sight";
import { coverageOf } from "./coverage";
import { mutate } from "./mutate";
import { runWorlds } from "./pool";
import { markdown, type Recorded, render, type Result } from "./results";
import { shrink } from "./shrink";
import { simulate } from "./simulate";
import { generate } from "./world/generate";
import { type Plan, type Size, SIZES } from "./world/plan";
import { readPlan } from "./world/read-plan";

interface Flags {
  readonly seeds: number;
  readonly from: number;
  readonly world: Size;
  readonly jobs: number;
  readonly hours: number;
  readonly seed?: number;
  readonly plan?: Plan;
  readonly trace?: true;
  readonly shrink: boolean;
  readonly coverage?: true;
  readonly mutate?: string | true;
  readonly record?: string;
  readonly tables?: readonly Recorded[];
}

/** Progress is told so often, in milliseconds. */
const TOLD_EVERY_MS = 2_000;

/** So many worlds must see everything that can occur. */
const LONG_RUN = 1_000;

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

function planIn(file: string): Plan {
  try {
    return readPlan(file);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

function recordedIn(file: string): Recorded[] {
  try {
    const lines = readFileSync(file, "utf8").split("\n");
    return lines.filter(line => line !== "").map(line => JSON.parse(line) as Recorded);
  } catch (error) {
    throw new InvalidArgumentError(`expected a file of --record: ${(error as Error).message}`);
  }
}

/** Runs the command. @returns its exit code */
export async function run(args: readonly string[]): Promise<number> {
  let code = 0;
  const program = commandOf(async flags => {
    code = await main(flags);
  });
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode;
  }
  return code;
}

function commandOf(act: (flags: Flags) => Promise<void>): Command {
  return new Command("npm run simulate --")
    .description(
      "Run the real operator in simulated clusters, and check what it promises. Exit code 1 if a promise is broken.",
    )
    .addOption(new Option("--seeds <number>", "worlds to run").default(100).argParser(whole(1)))
    .addOption(new Option("--from <seed>", "first seed").default(1).argParser(whole(0)))
    .addOption(new Option("--world <size>", "size of each world").choices(SIZES).default("small"))
    .addOption(new Option("--hours <number>", "length of each world").default(2).argParser(positive))
    .addOption(new Option("--jobs <number>", "processes").default(2).argParser(whole(1)))
    .addOption(new Option("--seed <seed>", "run this world alone").argParser(whole(0)))
    .addOption(new Option("--plan <file>", "run the world of a file alone, such as a regression").argParser(planIn))
    .addOption(new Option("--trace", "tell the story of the world"))
    .addOption(new Option("--no-shrink", "do not look for the smallest world that fails"))
    .addOption(
      new Option("--coverage", `print what occurred, and fail if something never did; of ${LONG_RUN} worlds always`),
    )
    .addOption(new Option("--record <file>", "append what each world came to"))
    .addOption(new Option("--tables <file>", "print such a file as docs/reliability.md has it").argParser(recordedIn))
    .addOption(new Option("--mutate [name]", "break the operator in each listed way, and see that a seed finds it"))
    .allowExcessArguments(false)
    .exitOverride()
    .action(act);
}

async function main(flags: Flags): Promise<number> {
  const { seed, plan, tables } = flags;
  if (tables !== undefined) {
    console.log(markdown(tables));
    return 0;
  }
  if (flags.mutate !== undefined) return mutate(flags.mutate === true ? undefined : flags.mutate, flags);
  if (plan !== undefined) return one(plan, flags);
  if (seed !== undefined) return one(generate(seed, flags.world, flags.hours), flags);
  return many(flags);
}

/** Runs one world, and tells its story if that is asked for or something is wrong. */
async function one(plan: Plan, { trace, shrink: shrinks }: Flags): Promise<number> {
  const outcome = await simulate(plan);
  if (trace === true) console.log(outcome.story.join("\n"));
  for (const { promise, sentence } of outcome.violations) console.log(`promise ${promise}: ${sentence}`);
  console.log(`seed ${plan.seed}: ${outcome.requests} requests, hash ${outcome.hash}`);
  if (shrinks && trace !== true) await explain(plan, outcome.violations);
  return outcome.violations.length > 0 ? 1 : 0;
}

/** Prints the smallest plan that breaks the same promise, and its story. */
async function explain(plan: Plan, [first]: readonly Violation[]): Promise<void> {
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

/** Runs many worlds, and prints what they came to. */
async function many(flags: Flags): Promise<number> {
  const { results, isInterrupted } = await collect(flags);
  if (isInterrupted) console.log(`Interrupted after ${results.length} of ${flags.seeds} worlds.`);
  console.log(`${render(results)}\n`);
  const isComplete = tellCoverage(results, flags) || isInterrupted;
  const worst = results.find(({ violations }) => violations.length > 0);
  if (worst !== undefined && flags.shrink && !isInterrupted)
    await explain(generate(worst.seed, flags.world, flags.hours), worst.violations);
  return isComplete && results.every(isWhole) ? 0 : 1;
}

/** Prints what the worlds have seen. Returns whether they have seen all that they had to. */
function tellCoverage(results: readonly Result[], { coverage, seeds }: Flags): boolean {
  const isFull = coverage === true || seeds >= LONG_RUN;
  const { text, missing } = coverageOf(results, isFull);
  console.log(text);
  if (!isFull || missing.length === 0) return true;
  console.log(`Never occurred: ${missing.join(", ")}.`);
  return false;
}

function isWhole({ violations, error }: Result): boolean {
  return violations.length === 0 && error === undefined;
}

/** Runs worlds in several processes. An interrupted run returns what it has. */
async function collect({
  seeds,
  from,
  world,
  jobs,
  hours,
  record,
}: Flags): Promise<{ results: Recorded[]; isInterrupted: boolean }> {
  const results: Recorded[] = [];
  let isInterrupted = false;
  const interrupt = (): void => {
    isInterrupted = true;
    process.stderr.write("\nInterrupted: waiting for the worlds that run. Once more to give them up.\n");
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, interrupt);
  const told = setInterval(() => {
    const broken = results.filter(result => !isWhole(result)).length;
    process.stderr.write(`${results.length} of ${seeds} worlds, ${broken} with a broken promise\n`);
  }, TOLD_EVERY_MS);
  const order = { seeds: Array.from({ length: seeds }, (_, at) => from + at), world, hours, jobs };
  try {
    await runWorlds(order, result => {
      results.push({ world, ...result });
      if (record !== undefined) appendFileSync(record, `${JSON.stringify({ world, ...result })}\n`);
      return !isInterrupted;
    });
  } finally {
    clearInterval(told);
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, interrupt);
  }
  return { results: results.sort((a, b) => a.seed - b.seed), isInterrupted };
}
