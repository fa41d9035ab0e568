import Table from "cli-table3";

/** Least width of the last column, which wraps. */
const LEAST_LAST = 24;

const NO_BORDERS = Object.fromEntries(
  ["top", "bottom", "left", "right", "mid"]
    .flatMap(side => [side, `${side}-mid`, `${side}-left`, `${side}-right`])
    .concat("middle")
    .map(part => [part, ""]),
);

/**
 * Formats rows as kubectl does: columns without borders, two spaces apart. The last column wraps, so that a line has at most
 * `width` columns if that leaves room for it.
 */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[], width = Infinity): string {
  const others = head.slice(0, -1).map((title, i) => widest([title, ...rows.map(row => row[i] ?? "")]) + 2);
  const taken = others.reduce((sum, one) => sum + one, 0);
  const last = Math.max(LEAST_LAST, width - taken);
  const table = new Table({
    chars: NO_BORDERS,
    style: { "padding-left": 0, "padding-right": 2, head: [], border: [], compact: true },
    ...(Number.isFinite(width) ? { colWidths: [...others, last + 2], wordWrap: true } : {}),
  });
  table.push([...head], ...rows.map(row => [...row]));
  return `${table
    .toString()
    .split("\n")
    .map(line => line.trimEnd())
    .join("\n")}\n`;
}

const STYLES = /\x1b\[\d+m/g;

function widest(texts: readonly string[]): number {
  return Math.max(...texts.map(text => text.replaceAll(STYLES, "").length));
}
