import Table from "cli-table3";
import type { Violation } from "./checker/sight";
import type { Covered } from "./coverage";
import type { Outcome } from "./simulate";
import { type Size, SIZES } from "./world/plan";

// What many worlds came to, as a table.

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
  const covered = { happenings: [], faults: {}, programs: [], reasons: [], pairs: [] };
  const nothing = { hash: "", requests: 0, right: 0, wrong: 0, heals: [], covered, violations: [], cpuMs: 0 };
  return { seed, lastsMs, ...nothing, error };
}

/** Renders the results of all worlds. */
export function render(results: readonly Result[]): string {
  const sum = (value: (result: Result) => number): number => results.reduce((all, one) => all + value(one), 0);
  const hours = sum(({ lastsMs }) => lastsMs) / 3_600_000;
  const broken = results.filter(({ violations, error }) => violations.length > 0 || error !== undefined);
  const totals = table(
    ["what", "how much"],
    [
      ["worlds", String(results.length)],
      ["simulated hours", hours.toFixed(0)],
      ["requests of the operator", String(sum(({ requests }) => requests))],
      ["evictions of pods that a restart heals", String(sum(({ right }) => right))],
      ["others: of a trial, or without proof", String(sum(({ wrong }) => wrong))],
      ["worlds with a broken promise", String(broken.length)],
      ["CPU seconds per simulated hour", (sum(({ cpuMs }) => cpuMs) / 1_000 / Math.max(1, hours)).toFixed(2)],
    ],
  );
  return [totals, healing(results), broke(results)].filter(text => text !== "").join("\n\n");
}

function healing(results: readonly Result[]): string {
  const rows = healed(results);
  return rows.length === 0 ? "" : table(["dead because", "healed", "median", "99 of 100"], rows);
}

/** How long pods were dead that a restart heals, by cause. */
function healed(results: readonly Result[]): string[][] {
  const byCause = new Map<string, number[]>();
  for (const { cause, ms } of results.flatMap(({ heals }) => heals))
    byCause.set(cause, [...(byCause.get(cause) ?? []), ms]);
  return [...byCause].sort().map(([cause, times]) => {
    const sorted = times.sort((a, b) => a - b);
    const at = (share: number): string => `${Math.round(sorted[Math.floor(share * (sorted.length - 1))]! / 1_000)} s`;
    return [cause, String(sorted.length), at(0.5), at(0.99)];
  });
}

/** A world, as a file keeps it. */
export type Recorded = Result & { readonly world: Size };

/** Of faults that hit fewer requests the docs have the sum alone. */
const RARE = 1_000;

/** What worlds of all sizes came to, in Markdown, as docs/reliability.md has it. */
export function markdown(results: readonly Recorded[]): string {
  const sum = (value: (result: Result) => number): string =>
    Math.round(results.reduce((all, one) => all + value(one), 0)).toLocaleString("en");
  const sizes = SIZES.map(size => [size, results.filter(({ world }) => world === size).length] as const);
  const faults = new Map<string, number>();
  for (const { covered } of results)
    for (const [kind, hits] of Object.entries(covered.faults)) {
      const name = kind.replace(/( until a date|, (not )?served)$/, "");
      faults.set(name, (faults.get(name) ?? 0) + hits);
    }
  const often = [...faults].filter(([, hits]) => hits >= RARE).sort(([, a], [, b]) => b - a);
  const rare = [...faults.values()].filter(hits => hits < RARE).reduce((all, hits) => all + hits, 0);
  const items = [
    `Worlds: ${sizes.map(([size, count]) => `${count} ${size}`).join(", ")}; hours: ${sum(({ lastsMs }) => lastsMs / 3_600_000)}`,
    `Requests: ${sum(({ requests }) => requests)}`,
    `Evictions of pods that a restart heals: ${sum(({ right }) => right)}; of others, for a trial or without proof: ${sum(({ wrong }) => wrong)}`,
    `Worlds that broke a promise: ${sum(one => Number(one.violations.length > 0 || one.error !== undefined))}`,
    `Healed (median, 99 of 100): ${healed(results)
      .map(([cause = "", count = "", median = "", most = ""]) => `${cause} ${count} (${median}, ${most})`)
      .join("; ")}`,
    `Faults: ${[...often, ["others", rare] as const].map(([kind, hits]) => `${kind} ${hits.toLocaleString("en")}`).join("; ")}`,
  ];
  return items.map(item => `- ${item}`).join("\n");
}

function broke(results: readonly Result[]): string {
  const byPromise = new Map<string, { seeds: Set<number>; sentence: string }>();
  for (const { seed, violations, error } of results) {
    const all = [...violations.map(({ promise, sentence }) => [String(promise), sentence] as const)];
    if (error !== undefined) all.push(["error", error]);
    for (const [promise, sentence] of all) {
      const known = byPromise.get(promise) ?? { seeds: new Set<number>(), sentence };
      byPromise.set(promise, known);
      known.seeds.add(seed);
    }
  }
  const rows = [...byPromise].sort().map(([promise, { seeds, sentence }]) => {
    const some = [...seeds].slice(0, 6).join(", ");
    return [promise, String(seeds.size), some, sentence];
  });
  return rows.length === 0 ? "" : table(["promise", "worlds", "seeds, such as", "for example"], rows);
}

function table(head: string[], rows: string[][]): string {
  const lines = new Table({ head, style: { head: [], border: [] }, wordWrap: true, colWidths: head.map(() => null) });
  lines.push(...rows);
  return lines.toString();
}
