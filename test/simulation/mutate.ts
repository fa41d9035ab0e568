import type { Violation } from "./checker/sight";
import { MENDS } from "./mends";
import { MUTATIONS, type Mutation } from "./mutations";
import { runWorlds } from "./pool";
import type { Result } from "./results";
import { generate } from "./world/generate";

// Proof that the simulation bites: the operator is broken in one way at a time, and some seed must find it. A seed that breaks the same promise
// without that proves nothing.

/** Seeds in which a mutation must be found. */
const SEEDS = 200;

interface Options {
  readonly jobs: number;
  readonly hours: number;
}

/** The outcome of a mutation. */
interface Attempt {
  readonly verdict: "found" | "NOT FOUND" | "NO PROOF";
  readonly text: string;
}

/** Breaks the operator in each way. @returns 1 if one is not found, or proves nothing */
export async function mutate(part: string | undefined, options: Options): Promise<number> {
  const all = [...MUTATIONS, ...MENDS];
  const chosen = all.filter(({ name }) => part === undefined || name.includes(part));
  if (chosen.length === 0) {
    const names = all.map(({ name }) => name).join(", ");
    console.error(
      `--mutate: expected a part of a name in test/simulation/mutations.ts, got ${part}. There are: ${names}.`,
    );
    return 1;
  }
  const run = new Run({ jobs: options.jobs, hours: options.hours });
  const counts = { found: 0, "NOT FOUND": 0, "NO PROOF": 0 };
  for (const mutation of chosen) {
    const { verdict, text } = await run.try(mutation);
    counts[verdict]++;
    console.log(`${verdict.padEnd(9)}  ${mutation.name}: ${text}`);
  }
  const { found, "NOT FOUND": missed, "NO PROOF": void_ } = counts;
  console.log(`${found} of ${chosen.length} found within ${SEEDS} seeds, ${missed} not, ${void_} prove nothing.`);
  return found === chosen.length ? 0 : 1;
}

/** One run over mutations. */
class Run {
  /** The promises that a world breaks unmodified, by its seed. */
  readonly #unmodified = new Map<number, readonly number[]>();

  constructor(private readonly options: Options) {}

  /** Looks for a seed that finds it: the known one first. */
  async try(mutation: Mutation): Promise<Attempt> {
    const { name, seed: known = 1, needs } = mutation;
    const seeds = [...new Set([known, ...Array.from({ length: SEEDS }, (_, at) => at + 1)])].filter(
      seed => needs === undefined || needs.test(JSON.stringify(generate(seed, "small", this.options.hours))),
    );
    let [tried, unfit] = [0, 0];
    let attempt: Attempt | undefined;
    const told = (): string =>
      `${tried} of ${seeds.length} worlds, of which ${unfit} break the same promise unmodified`;
    const look = async (result: Result): Promise<boolean> => {
      tried++;
      attempt ??= await this.#judge(result);
      if (attempt === undefined && result.violations.length > 0) unfit++;
      process.stderr.write(`${name}: ${told()}\n`);
      return attempt === undefined;
    };
    try {
      await runWorlds({ seeds, world: "small", ...this.options, isHasty: true }, look, mutation);
    } catch (error) {
      return { verdict: "NO PROOF", text: firstLines(error as Error) };
    }
    const found = attempt ?? { verdict: "NOT FOUND", text: told() };
    const isOld = mutation.seed !== undefined && !found.text.startsWith(`seed ${known},`);
    return isOld ? { ...found, text: `${found.text}; seed ${known} finds it no longer` } : found;
  }

  /** Returns undefined if the result says nothing about the mutation. */
  async #judge({ seed, violations, error, requests }: Result): Promise<Attempt | undefined> {
    if (error !== undefined) return { verdict: "NO PROOF", text: `seed ${seed}: ${error}` };
    if (requests === 0) return { verdict: "NO PROOF", text: `seed ${seed}: the operator sends nothing` };
    if (violations.length === 0) return undefined;
    const usual = this.#unmodified.get(seed) ?? (await this.#runUnmodified(seed));
    const news = violations.find(({ promise }) => !usual.includes(promise));
    return news && { verdict: "found", text: `seed ${seed}, ${textOf(news)}` };
  }

  /** Returns the promises that a world breaks unmodified. */
  async #runUnmodified(seed: number): Promise<readonly number[]> {
    let broken: number[] = [];
    await runWorlds({ seeds: [seed], world: "small", ...this.options }, ({ violations, error }) => {
      if (error !== undefined) throw new Error(`seed ${seed}, unmodified: ${error}`);
      broken = violations.map(({ promise }) => promise);
      return true;
    });
    this.#unmodified.set(seed, broken);
    return broken;
  }
}

function textOf({ promise, atMs, sentence }: Violation): string {
  return `promise ${promise}, after ${Math.round(atMs / 60_000)} min: ${sentence}`;
}

/** esbuild's messages have a line for each place. */
function firstLines({ message }: Error): string {
  return message.split("\n").slice(0, 3).join(" ");
}
