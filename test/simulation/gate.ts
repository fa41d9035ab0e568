import { commitNumber } from "../commit";
import type { Results, Write } from "../suite";
import { runWorlds } from "./pool";
import type { Result } from "./results";
import type { Size } from "./world/plan";

// The simulated worlds of `npm test`: some are the same each time, and some are others for each commit: what these break
// is told, and fails nothing, until a run of thousands of them has kept all promises.

interface Share {
  readonly world: Size;
  /** Worlds that are the same each time. */
  readonly fixed: number;
  /** Worlds that are others for each commit. */
  readonly fresh: number;
  /** As many of those as fit into this time after the fixed ones are begun, in milliseconds. */
  readonly withinMs: number;
}

const SHARES: readonly Share[] = [
  { world: "small", fixed: 7, fresh: 103, withinMs: 75_000 },
  { world: "medium", fixed: 1, fresh: 13, withinMs: 50_000 },
];

/** Worlds that must be the same, byte for byte, on the oldest Node.js that the source runs on. */
const COMPARED = [1, 2, 3];

const COMMON = { hours: 2, jobs: 2 };

/** Runs the worlds, two at a time. */
export async function simulatedWorlds(write: Write): Promise<Results> {
  const say = (line: string): void => write(Buffer.from(`${line}\n`));
  // Above the seeds that are always the same.
  const first = 1_000_000 + commitNumber();
  const outcomes: [Size, Result][] = [];
  for (const { world, fixed, fresh, withinMs } of SHARES) {
    const seeds = [...from(1, fixed), ...from(first, fresh)];
    let freshMs = Infinity;
    let ran = 0;
    await runWorlds({ ...COMMON, world, seeds }, result => {
      outcomes.push([world, result]);
      ran++;
      if (ran === fixed) freshMs = performance.now();
      return ran < fixed || performance.now() - freshMs < withinMs;
    });
    say(`${ran} ${world} worlds of ${COMMON.hours} hours: the first ${fixed}, then those from seed ${first} on`);
  }
  const failures = outcomes.flatMap(([world, result]) => judged(world, result, first, say));
  const different = await differences(outcomes);
  different.forEach(say);
  failures.push(...different);
  return {
    passed: Math.max(0, outcomes.length + COMPARED.length - failures.length),
    failed: failures.length,
    failures,
  };
}

/** What is wrong about a world, as one line. */
function judged(world: Size, result: Result, first: number, say: (line: string) => void): string[] {
  const { seed, violations, error } = result;
  const again = `npm run simulate -- --world ${world} --seed ${seed}`;
  const [worst] = violations;
  const wrong = error?.split("\n")[0] ?? (worst && `promise ${worst.promise}: ${worst.sentence}`);
  if (wrong === undefined) return [];
  const isOpen = seed >= first;
  say(`${isOpen ? "open: " : ""}${again}: ${wrong}`);
  return isOpen ? [] : [`${again}: ${wrong}`];
}

/** The worlds whose requests or answers differ between the two versions of Node.js. */
async function differences(outcomes: readonly (readonly [Size, Result])[]): Promise<string[]> {
  const found: string[] = [];
  await runWorlds({ ...COMMON, world: "small", seeds: COMPARED, node: process.execPath }, ({ seed, hash }) => {
    const [, other] = outcomes.find(([world, result]) => world === "small" && result.seed === seed) ?? [];
    if (other?.hash !== hash)
      found.push(
        `small world ${seed}: hash ${hash} on Node.js ${process.version}, ${other?.hash} on that of the image`,
      );
    return true;
  });
  return found;
}

function from(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => first + at);
}
