import { count } from "../../core/text";
import { formatDuration } from "../../core/time";
import type { PersistenceRule } from "../../logs/persistence";
import type { LogText } from "./log-text";

/** Occasions that the report lists. */
const LISTED = 12;

/** Describes for people whether tokenRestart would have acted on a log, and why. */
export function describeReplay(log: LogText, rule: PersistenceRule): string {
  const { action, occasionsMs } = log.replay;
  const required = `${count(rule.occasions, "occasion")} within ${formatDuration(rule.windowMs)}, spread over ${formatDuration(rule.minDurationMs)} or more`;
  const result =
    action === undefined
      ? [`tokenRestart would not have acted.`, describeFound(log), `Required: ${required}, still going on.`]
      : [
          `tokenRestart would have acted at ${time(action.atMs)} (line ${log.actedOnLine ?? "?"}).`,
          `Found ${count(action.persistence.occasions, "occasion")} of 401 over ${formatDuration(action.atMs - (action.persistence.firstMs ?? 0))}. Required: ${required}.`,
        ];
  return [...result, ...listOccasions(action?.occasionsMs ?? occasionsMs)].join("\n") + "\n";
}

function describeFound(log: LogText): string {
  const { occasionsMs } = log.replay;
  const span = log.spanMs;
  const read = `${count(log.lines, "line")}${span === undefined ? "" : ` from ${time(span.first)} to ${time(span.last)}`}`;
  if (occasionsMs.length === 0) return `Found no 401 for a request of this process in ${read}.`;
  const first = occasionsMs[0] ?? 0;
  const spread = formatDuration((occasionsMs.at(-1) ?? first) - first);
  return `Found ${count(occasionsMs.length, "occasion")} of 401 over ${spread} in ${read}.`;
}

function listOccasions(occasionsMs: readonly number[]): string[] {
  if (occasionsMs.length === 0) return [];
  const shown = occasionsMs.slice(0, LISTED).map(ms => `  ${time(ms)}`);
  const rest = occasionsMs.length - LISTED;
  return ["Occasions (401s less than 2 s apart are one):", ...shown, ...(rest > 0 ? [`  and ${rest} more`] : [])];
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
