import { ClusterReason, EngineReason } from "../../src/api/conditions";
import { createRemedies } from "../../src/remedies/registry";
import { PROGRAMS } from "./programs/library";
import type { Result } from "./results";
import { FAULT_KINDS } from "./world/faults";
import { HAPPENINGS } from "./world/happenings";

// What many worlds have seen, of all that they could see. What never occurs is not tested, so a long run fails then.

/** Reasons that no generated world reaches, and why. */
const UNREACHABLE: Readonly<Record<string, string>> = {
  DecideFailed: "a bug",
  TooMany: "needs more than 400 bindings, or more than 32 ServiceAccounts, of one object",
};

/** How one world adds to the coverage. */
export interface Covered {
  readonly happenings: readonly string[];
  /** How often each fault hit a request. */
  readonly faults: Readonly<Record<string, number>>;
  readonly programs: readonly string[];
  readonly reasons: readonly string[];
}

/** All that can occur, by what it is. */
function possible(): Readonly<Record<keyof Covered, readonly string[]>> {
  const reasons = createRemedies().flatMap(remedy => Object.keys(remedy.reasons));
  return {
    happenings: Object.keys(HAPPENINGS),
    faults: FAULT_KINDS,
    programs: PROGRAMS.filter(name => name !== "exits-seldom"),
    reasons: [...new Set([...reasons, ...Object.keys(EngineReason), ...Object.keys(ClusterReason)])],
  };
}

const TITLES: Readonly<Record<keyof Covered, string>> = {
  happenings: "Happenings",
  faults: "Faults that hit a request",
  programs: "Programs",
  reasons: "Reasons of conditions",
};

/** What a run has seen. */
export interface Coverage {
  /** One line for each part; with `isFull` the counts, too. */
  readonly text: string;
  /** What should have occurred and never did: `happening node-joins`. */
  readonly missing: readonly string[];
}

/** Adds up what worlds have seen. */
export function coverageOf(results: readonly Result[], isFull: boolean): Coverage {
  const all = possible();
  const lines: string[] = [];
  const missing: string[] = [];
  for (const part of Object.keys(TITLES) as (keyof Covered)[]) {
    const counts = countsOf(results, part);
    const seen = all[part].filter(name => counts.has(name));
    const never = all[part].filter(name => !counts.has(name) && UNREACHABLE[name] === undefined);
    missing.push(...never.map(name => `${part.replace(/s$/, "")} ${name}`));
    lines.push(`${TITLES[part]}: ${seen.length} of ${all[part].length}`);
    if (isFull) lines.push(...wrapped([...counts].map(([name, count]) => `${name} ${count}`)));
  }
  return { text: lines.join("\n"), missing };
}

function countsOf(results: readonly Result[], part: keyof Covered): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const add = (name: string, count: number): void => void counts.set(name, (counts.get(name) ?? 0) + count);
  for (const { covered } of results)
    if (part === "faults") for (const [name, count] of Object.entries(covered.faults)) add(name, count);
    else for (const name of covered[part]) add(name, 1);
  return new Map([...counts].sort(([, a], [, b]) => b - a));
}

/** Lines of at most 100 characters. */
function wrapped(items: readonly string[]): string[] {
  const lines: string[] = [];
  for (const item of items) {
    const last = lines.at(-1);
    if (last === undefined || last.length + item.length > 96) lines.push(`  ${item}`);
    else lines[lines.length - 1] = `${last}, ${item}`;
  }
  return lines;
}
