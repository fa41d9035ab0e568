import type { Violation } from "./checker/sight";
import type { Covered } from "./coverage";
import type { Outcome } from "./simulate";
import { type Size, SIZES } from "./world/plan";

// What many worlds came to.

/** One world in the results: small enough to send between processes. */
export interface Result {
  readonly seed: number;
  readonly lastsMs: number;
  /** Of all requests and answers; empty if the world could not be run to its end. */
  readonly hash: string;
  readonly requests: number;
  readonly right: number;
  readonly wrong: number;
  readonly heals: readonly { readonly cause: string; readonly ms: number }[];
  readonly covered: Covered;
  readonly violations: readonly Violation[];
  /** Why the world could not be run to its end. */
  readonly error?: string;
  readonly cpuMs: number;
}

/** Returns the result of an outcome. */
export function resultOf(
  { plan, hash, requests, evictions, heals, covered, violations }: Outcome,
  cpuMs: number,
): Result {
  return { seed: plan.seed, lastsMs: plan.lastsMs, hash, requests, heals, covered, violations, cpuMs, ...evictions };
}

/** The result of a world that could not be run to its end. */
export function failed(seed: number, lastsMs: number, error: string): Result {
  const covered = { happenings: [], faults: {}, programs: [], reasons: [] };
  const nothing = { hash: "", requests: 0, right: 0, wrong: 0, heals: [], covered, violations: [], cpuMs: 0 };
  return { seed, lastsMs, ...nothing, error };
}

/** How long pods were dead that a restart heals, by cause. */
function healed(results: readonly Result[]): [string, number, string, string][] {
  const byCause = new Map<string, number[]>();
  for (const { cause, ms } of results.flatMap(({ heals }) => heals))
    byCause.set(cause, [...(byCause.get(cause) ?? []), ms]);
  return [...byCause].sort().map(([cause, times]) => {
    const sorted = times.sort((a, b) => a - b);
    const at = (share: number): string => `${Math.round(sorted[Math.floor(share * (sorted.length - 1))]! / 1_000)} s`;
    return [cause, sorted.length, at(0.5), at(0.99)];
  });
}

/** A world, as a file keeps it. */
export type Recorded = Result & { readonly world: Size };

/** What worlds of all sizes came to, in Markdown, as docs/reliability.md has it. */
export function markdown(results: readonly Recorded[]): string {
  const sum = (value: (result: Result) => number): string =>
    Math.round(results.reduce((all, one) => all + value(one), 0)).toLocaleString("en");
  const sizes = SIZES.map(size => `${results.filter(({ world }) => world === size).length} ${size}`);
  const heals = healed(results).map(([cause, count, median, most]) => `${cause} ${count} (${median}, ${most})`);
  return [
    `- Worlds: ${sizes.join(", ")}; hours: ${sum(({ lastsMs }) => lastsMs / 3_600_000)}`,
    `- Requests: ${sum(({ requests }) => requests)}`,
    `- Evictions of pods that a restart heals: ${sum(({ right }) => right)}; of others, for a trial or without proof: ${sum(({ wrong }) => wrong)}`,
    `- Worlds that broke a promise: ${sum(one => Number(one.violations.length > 0 || one.error !== undefined))}`,
    `- Healed, by an eviction or otherwise (median, 99 of 100): ${heals.join("; ")}`,
  ].join("\n");
}

/** The same, what the worlds took, and the promises that they broke. */
export function render(results: readonly Recorded[]): string {
  const sum = (value: (result: Result) => number): number => results.reduce((all, one) => all + value(one), 0);
  const perHour =
    (3_600 * sum(({ cpuMs }) => cpuMs)) /
    Math.max(
      1,
      sum(({ lastsMs }) => lastsMs),
    );
  const cpu = `- CPU seconds per simulated hour: ${perHour.toFixed(2)}`;
  return [`${markdown(results)}\n${cpu}`, broke(results)].filter(text => text !== "").join("\n\n");
}

function broke(results: readonly Result[]): string {
  const byPromise = new Map<string, { seeds: Set<number>; sentence: string }>();
  for (const { seed, violations, error } of results) {
    const all = violations.map(({ promise, sentence }) => [`promise ${promise}`, sentence] as const);
    for (const [what, sentence] of error === undefined ? all : [...all, ["error", error] as const]) {
      const known = byPromise.get(what) ?? { seeds: new Set<number>(), sentence };
      byPromise.set(what, known);
      known.seeds.add(seed);
    }
  }
  const lines = [...byPromise].sort().map(([what, { seeds, sentence }]) => {
    const some = [...seeds].slice(0, 6).join(", ");
    return `${what}, in ${seeds.size} worlds, such as ${some}: ${sentence}`;
  });
  return lines.join("\n");
}
