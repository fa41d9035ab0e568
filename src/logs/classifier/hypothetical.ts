import { isWordCode, phrases } from "./text";

// Help texts, comments and hints mention denials that may happen. They report none.

/** Whether a sentence is an explanation: a comment, a flag of a command, a hint, or a test that expected the denial. */
export function isExplanation(lower: string): boolean {
  if (lower.startsWith("--")) return isWordCode(lower.charCodeAt(2));
  return lower.includes(" as expected") || LABELS.some(label => lower.startsWith(label));
}

/** Comment marks, marks that test runners print before a passed test, and words before an explanation. */
const LABELS = [
  ...["# ", "## ", "; ", "// ", "✓", "✔", "√"],
  ...phrases("hint:, note:, tip:, help:, usage:, troubleshooting:, example:, faq:, q:, todo:, see also, known issue:"),
  ...phrases("if you , if the , when you see , what to do if"),
];

/**
 * Returns the offset from which a sentence is hypothetical or negative: "exit if the API server returns 401". Infinity if it is neither, or
 * if a failure precedes that part ("failed to check if ...").
 */
export function hypotheticalFrom(lower: string): number {
  const start = Math.min(...HYPOTHETICAL.map(marker => offsetOf(lower, marker)));
  return REPORTING.some(word => offsetOf(lower, word) < start) ? Infinity : start;
}

function offsetOf(lower: string, marker: string): number {
  const at = lower.indexOf(marker);
  return at < 0 ? Infinity : at;
}

const HYPOTHETICAL = [
  ...phrases(
    " if , unless , whenever , when the , such as , e.g. , for example, would , might , expected 401, expecting 401, wants 401",
  ),
  ...phrases(
    " on 401, no 401, without 401, not 401, never 401, ignore 401, treat 401, treats 401, without a token, simulated , simulating ",
  ),
];

const REPORTING = phrases("error, fail, unable, could not, couldn't, cannot, can't, refused, fatal, panic, exception");
