/** One sample of the Prometheus text format. */
export interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  /** May be NaN or infinite. */
  readonly value: number;
}

// https://prometheus.io/docs/instrumenting/exposition_formats/#text-format-details. Sticky: each continues where the previous one ended.
const NAME = /[ \t]*([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*/y;
const LABEL = /[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"([^"\\]*(?:\\[\\"n][^"\\]*)*)"[ \t]*/y;
const CLOSING = /[ \t]*\}/y;
const COMMA = /,/y;
const VALUE = /[ \t]*([^ \t]+)(?:[ \t]+-?[0-9]+)?[ \t]*$/y;

const NUMBER = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const INFINITE = /^([+-]?)inf(?:inity)?$/i;

/** Parses a line without its line break; null for a comment or an invalid sample. */
export function parseSample(line: string): Sample | null {
  const name = match(NAME, line, 0);
  if (name?.[1] === undefined) return null;
  const labels = new Map<string, string>();
  let at = NAME.lastIndex;
  if (line[at] === "{") at = readLabels(line, at + 1, labels);
  else if (!/[ \t]/.test(line[at - 1] ?? "")) return null;
  const value = at < 0 ? null : match(VALUE, line, at);
  const number = numberIn(value?.[1] ?? "");
  return number === null ? null : { name: name[1], labels, value: number };
}

/** Reads up to the closing brace; returns the index after it, or -1 for invalid labels. */
function readLabels(line: string, from: number, into: Map<string, string>): number {
  let at = from;
  for (;;) {
    if (match(CLOSING, line, at) !== null) return CLOSING.lastIndex;
    const label = match(LABEL, line, at);
    if (label === null) return -1;
    const [, name = "", value = ""] = label;
    into.set(name, unescape(value));
    at = LABEL.lastIndex;
    if (match(COMMA, line, at) !== null) at = COMMA.lastIndex;
    else if (line[at] !== "}") return -1;
  }
}

function match(pattern: RegExp, line: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(line);
}

function unescape(value: string): string {
  return value.includes("\\")
    ? value.replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped))
    : value;
}

/** Parses a number as Go prints it; null if it is invalid. */
function numberIn(text: string): number | null {
  if (NUMBER.test(text)) return Number(text);
  if (/^nan$/i.test(text)) return NaN;
  const infinite = INFINITE.exec(text);
  return infinite === null ? null : infinite[1] === "-" ? -Infinity : Infinity;
}
