import Table from "cli-table3";
import { goalsOf } from "./goals";

/** One measured value. */
export interface Figure {
  readonly name: string;
  /** NaN if it could not be measured. */
  readonly value: number;
}

/** What a scene has measured. */
export interface Report {
  readonly scene: string;
  /** Such as "500/25": pods and objects. */
  readonly size: string;
  readonly title: string;
  readonly figures: readonly Figure[];
  /** More lines for a person. */
  readonly notes: readonly string[];
}

/** A figure beside its goal. */
interface Marked extends Figure {
  readonly goal?: number;
  /** Undefined without a goal. */
  readonly isMet?: boolean;
}

/** The figures of a report with the goals of its scene and size. A goal is a largest value. */
function marked({ scene, size, figures }: Report): Marked[] {
  const goals = goalsOf(scene, size);
  return figures.map(figure => {
    const goal = goals[figure.name];
    return goal === undefined ? figure : { ...figure, goal, isMet: figure.value <= goal };
  });
}

/** The figures of a report as a table. */
export function renderReport(report: Report): string {
  const table = new Table({
    head: [report.title, "measured", "goal", ""],
    colAligns: ["left", "right", "right", "left"],
    style: { head: [], border: [], compact: true },
  });
  for (const { name, value, goal, isMet } of marked(report)) {
    const verdict = isMet === undefined ? "" : isMet ? "ok" : "MISSED";
    table.push([name, number(value), goal === undefined ? "" : `<= ${goal}`, verdict]);
  }
  return [table.toString(), ...report.notes.map(note => `  ${note}`)].join("\n");
}

/** The end of a run: how many goals were met, and the missed ones. */
export function renderVerdict(reports: readonly Report[]): string {
  const all = reports.flatMap(report => marked(report).map(figure => ({ ...figure, title: report.title })));
  const judged = all.filter(({ isMet }) => isMet !== undefined);
  const missed = judged.filter(({ isMet }) => isMet === false);
  const lines = missed.map(
    ({ title, name, value, goal }) => `  ${title}: ${name} ${number(value)}, goal ${goal ?? ""}`,
  );
  return [
    `${judged.length - missed.length} of ${judged.length} goals met${missed.length > 0 ? "; missed:" : ""}`,
    ...lines,
  ].join("\n");
}

/** With as many digits as a person compares. */
export function number(value: number): string {
  if (Number.isNaN(value)) return "unknown";
  return Math.abs(value) >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(value < 1 ? 2 : 1);
}
