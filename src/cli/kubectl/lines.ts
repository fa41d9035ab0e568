import { formatDuration } from "../../core/duration";
import { timeOf } from "../../core/json";
import { oneLine } from "../../core/one-line";

/** Wraps text at spaces; further lines are indented to the end of the prefix. A word longer than a line stays whole. */
export function wrapText(text: string, prefix: string, columns: number): string[] {
  const lines: string[] = [];
  let line = prefix;
  let isEmpty = true;
  for (const word of oneLine(text)
    .split(/\s+/)
    .filter(one => one !== "")) {
    if (!isEmpty && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = " ".repeat(prefix.length);
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line.trimEnd()];
}

/** Formats a time as `5m ago (2026-01-31 12:00:00Z)` or `in 5m (...)`. */
export function when(time: string | undefined, nowMs: number): string {
  const ms = timeOf(time);
  return ms === undefined ? "at an unreadable time" : `${relative(ms, nowMs)} (${absolute(ms)})`;
}

/** Formats a time as `5m ago`, `in 5m` or `now`. */
export function relative(ms: number, nowMs: number): string {
  const distance = formatDuration(Math.abs(ms - nowMs));
  if (distance === "0s") return "now";
  return ms < nowMs ? `${distance} ago` : `in ${distance}`;
}

/** Formats a time in UTC, in whole seconds. */
export function absolute(ms: number): string {
  return new Date(ms)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, "Z");
}

/** Most characters of a text that another person may have written. */
const LONGEST = 300;

/** Returns a text on one line, without characters that a terminal may obey, cut to a length that one can read. */
export function safeText(text: string, longest = LONGEST): string {
  return oneLine(text).slice(0, longest);
}
