import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Dice } from "../time";

// Records of real programs and their labels (test/fixtures), as lines of simulated programs.

interface Labelled {
  readonly label: string;
  readonly line: string;
}

const FILES = ["log-records.jsonl", "held-out-records.jsonl"];

/** Labels of records that say nothing about the requests of the program itself. */
const INNOCENT = ["other-401", "noise", "none"];

/** What container runtimes and the kubelet put before each line; the log store puts its own there. */
const RUNTIME_PREFIX = /^\d{4}-\d{2}-\d{2}T[\d:]{8}\.\d{9}Z (?:(?:stdout|stderr) [FP] )?/gm;

/** Other lines may continue the record before them. */
const BEGINS = /^(?!Reason: )[\w[{<"]/;

let known: ReadonlyMap<string, readonly string[]> | undefined;

function byLabel(): ReadonlyMap<string, readonly string[]> {
  if (known !== undefined) return known;
  const found = new Map<string, string[]>();
  for (const file of FILES) {
    const text = readFileSync(join(__dirname, "../../fixtures", file), "utf8");
    for (const json of text.split("\n")) {
      if (json === "") continue;
      const { label, line } = JSON.parse(json) as Labelled;
      const key = INNOCENT.includes(label) ? "innocent" : label;
      if (!BEGINS.test(line)) continue;
      const lines = found.get(key) ?? [];
      found.set(key, lines);
      lines.push(line.replace(RUNTIME_PREFIX, ""));
    }
  }
  return (known = found);
}

/** Records of one label, in the order of their files; `innocent` are all that say nothing about the program's own requests. */
export function records(label: string): readonly string[] {
  return byLabel().get(label) ?? [];
}

/** Some records of a label, as one program repeats them. */
export function someRecords(label: string, count: number, dice: Dice): readonly string[] {
  const all = records(label);
  return Array.from({ length: count }, () => dice.pick(all));
}
