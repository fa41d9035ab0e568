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
      ["restarts that could heal", String(sum(({ right }) => right))],
      ["restarts that could not", String(sum(({ wrong }) => wrong))],
      ["worlds with a broken promise", String(broken.length)],
      ["CPU seconds per simulated hour", (sum(({ cpuMs }) => cpuMs) / 1_000 / Math.max(1, hours)).toFixed(2)],
    ],
  );
  return [totals, healing(results), broke(results)].filter(text => text !== "").join("\n\n");
}

function healing(results: readonly Result[]): string {
  const rows = healed(results);
  return rows.length === 0 ? "" : table(HEALED, rows);
}

const HEALED = ["dead because", "healed", "median", "99 of 100"];

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

/** What worlds of all sizes came to, in Markdown, as docs/reliability.md has it. */
export function markdown(results: readonly Recorded[]): string {
  const sizes = SIZES.filter(size => results.some(({ world }) => world === size));
  const row = (what: string, value: (result: Result) => number): string[] => [
    what,
    ...sizes.map(size => {
      const own = results.filter(({ world }) => world === size);
      return Math.round(own.reduce((sum, one) => sum + value(one), 0)).toLocaleString("en");
    }),
  ];
  const faults = new Map<string, number>();
  for (const { covered } of results)
    for (const [kind, hits] of Object.entries(covered.faults)) faults.set(kind, (faults.get(kind) ?? 0) + hits);
  const totals = [
    row("worlds", () => 1),
    row("hours", ({ lastsMs }) => lastsMs / 3_600_000),
    row("requests", ({ requests }) => requests),
    row("restarts that could heal", ({ right }) => right),
    row("restarts that could not", ({ wrong }) => wrong),
    row("worlds with a broken promise", one => Number(one.violations.length > 0 || one.error !== undefined)),
  ];
  const byHits = [...faults]
    .sort(([, a], [, b]) => b - a)
    .map(([kind, hits]) => `${kind} ${hits.toLocaleString("en")}`);
  return [
    inMarkdown(["", ...sizes], totals),
    inMarkdown(HEALED, healed(results)),
    `Faults: ${byHits.join("; ")}.`,
  ].join("\n\n");
}

function inMarkdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map(cells => `| ${cells.join(" | ")} |`).join("\n");
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
