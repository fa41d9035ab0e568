import type { Marked } from "./report";

/** The figures of one scene and size. */
export interface Row {
  readonly label: string;
  readonly figures: readonly Marked[];
}

const WIDTH = 760;
const LABEL = 150;
const BAR = 420;
const LINE = 24;
const HEAD = 34;

/** Draws one panel for each of these figures, with a bar for each row that has it: measured, the goal, and before. As SVG. */
export function renderChart(rows: readonly Row[], names: readonly string[], title: string): string {
  const parts: string[] = [];
  let top = HEAD + 20;
  for (const name of names) {
    const bars = rows.flatMap(({ label, figures }) =>
      figures
        .filter(figure => figure.name === name && Number.isFinite(figure.value))
        .map(figure => ({ label, figure })),
    );
    if (bars.length === 0) continue;
    parts.push(text(10, top + 16, name, "bold"));
    const most = Math.max(
      ...bars.map(({ figure }) => Math.max(figure.value, figure.goal ?? 0, beforeOf(figure))),
      1e-9,
    );
    bars.forEach(({ label, figure }, i) => parts.push(...bar(top + HEAD + i * LINE, label, figure, most)));
    top += HEAD + bars.length * LINE + 12;
  }
  const legend = "filled: measured; outline: before; line: goal";
  const head = [text(10, 20, title, "bold"), text(10, 38, legend)];
  const style = "font-family: sans-serif; font-size: 12px; background: white";
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${top}" style="${style}">`,
    ...head,
    ...parts,
    "</svg>\n",
  ].join("\n");
}

function bar(top: number, label: string, figure: Marked, most: number): string[] {
  const width = (value: number): string => ((BAR * value) / most).toFixed(1);
  const color = figure.isMet === false ? "#c0504d" : "#4f81bd";
  const before = beforeOf(figure);
  const goalX = (LABEL + (BAR * (figure.goal ?? 0)) / most).toFixed(1);
  return [
    text(10, top + 13, label),
    `<rect x="${LABEL}" y="${top + 3}" width="${width(figure.value)}" height="12" fill="${color}"/>`,
    ...(before > 0
      ? [`<rect x="${LABEL}" y="${top}" width="${width(before)}" height="18" fill="none" stroke="#888"/>`]
      : []),
    ...(figure.goal === undefined
      ? []
      : [`<line x1="${goalX}" x2="${goalX}" y1="${top - 2}" y2="${top + 20}" stroke="black" stroke-width="2"/>`]),
    text(LABEL + BAR + 12, top + 13, wordsOf(figure, before)),
  ];
}

function wordsOf({ value, goal }: Marked, before: number): string {
  const round = (number: number): string => String(Number(number.toPrecision(3)));
  return [
    round(value),
    ...(goal === undefined ? [] : [`goal ${goal}`]),
    ...(before > 0 ? [`before ${round(before)}`] : []),
  ].join(", ");
}

function beforeOf({ before }: Marked): number {
  return before === undefined ? 0 : typeof before === "number" ? before : before[1];
}

function text(x: number, y: number, words: string, weight = "normal"): string {
  const escaped = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x}" y="${y}" font-weight="${weight}">${escaped}</text>`;
}
