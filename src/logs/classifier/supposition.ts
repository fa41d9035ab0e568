import { includesAny, isDigitCode, isWordCode, phrases } from "./text";

// A help text, a comment or a hint speaks of denials that may happen; it reports none.

/** Whether a sentence explains something to its reader: a comment, a flag of a command, a hint. */
export function isExplanation(lower: string): boolean {
  if (lower.startsWith("--")) return isWordCode(lower.charCodeAt(2));
  if (lower.startsWith("#")) return isComment(lower);
  if (COMMENTS.some(mark => lower.startsWith(mark))) return true;
  // A probe or a test that wanted it so.
  if (lower.includes(" as expected")) return true;
  return LABELS.some(label => lower.startsWith(label));
}

/** Comments of other languages, and what test runners print before a test that passed. */
const COMMENTS = ["; ", "// ", "✓", "✔", "√"];

const LABELS = [
  ...phrases("hint:, note:, tip:, help:, usage:, troubleshooting:, example:, faq:, q:, todo:, see also, known issue:"),
  ...phrases("if you , if the , when you see , what to do if"),
];

/** `# text` and `## text`, not fluentd's `#0 text`. */
function isComment(lower: string): boolean {
  let i = 0;
  while (lower.charAt(i) === "#") i++;
  return lower.charAt(i) === " " && !isDigitCode(lower.charCodeAt(i + 1));
}

/**
 * From where on a sentence only supposes a denial, or says that there was none: "exit if the API server returns 401".
 * Infinity if it doesn't; what failed before it supposes is told ("failed to check if ...").
 */
export function supposedFrom(lower: string): number {
  if (!includesAny(lower, SUPPOSING)) return Infinity;
  const supposed = Math.min(...SUPPOSING.map(marker => offsetOf(lower, marker)));
  return REPORTING.some(word => offsetOf(lower, word) < supposed) ? Infinity : supposed;
}

function offsetOf(lower: string, marker: string): number {
  const at = lower.indexOf(marker);
  return at < 0 ? Infinity : at;
}

const SUPPOSING = [
  ...phrases(
    " if , unless , whenever , when the , such as , e.g. , for example, would , might , expected 401, expecting 401, wants 401",
  ),
  ...phrases(
    " on 401, no 401, without 401, not 401, never 401, ignore 401, treat 401, treats 401, without a token, simulated , simulating ",
  ),
];

const REPORTING = phrases("error, fail, unable, could not, couldn't, cannot, can't, refused, fatal, panic, exception");
