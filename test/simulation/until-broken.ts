// Runs small worlds until one breaks a promise, and prints that; nothing if none does. For test/simulation/mutate.ts.
import { runWorlds } from "./pool";

async function main(count: number, jobs: number, hours: number): Promise<void> {
  let found: string | undefined;
  const seeds = Array.from({ length: count }, (_, at) => at + 1);
  await runWorlds({ seeds, world: "small", hours, jobs }, ({ seed, violations: [first], error }) => {
    // A world that cannot be run proves nothing.
    if (error !== undefined) throw new Error(`seed ${seed}: ${error}`);
    if (first !== undefined) found ??= `seed ${seed}, promise ${first.promise}: ${first.sentence}`;
    return found === undefined;
  });
  if (found !== undefined) console.log(found);
}

const [count = 0, jobs = 0, hours = 0] = process.argv.slice(2).map(Number);
void main(count, jobs, hours);
