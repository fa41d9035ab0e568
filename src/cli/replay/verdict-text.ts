import { formatDuration } from "../../core/duration";
import type { LogText } from "./log-text";
import type { PersistenceRule } from "../../logs/persistence";

/** Occasions that are listed. */
const LISTED = 12;

/** What to tell people of a log that was replayed. */
export function describeReplay(log: LogText, rule: PersistenceRule): string {
  const { action, occasionsMs } = log.replay;
  const asked = `${rule.occasions} occasions within ${formatDuration(rule.windowMs)}, spread over ${formatDuration(rule.minDurationMs)} or more`;
  const verdict =
    action === undefined
      ? [`tokenRestart would not have acted.`, describeLack(log), `It asks for ${asked}, and that it still goes on.`]
      : [
          `tokenRestart would have acted at ${time(action.atMs)} (line ${log.actedOnLine ?? "?"}).`,
          `Found ${action.verdict.occasions} occasions of 401 over ${formatDuration(action.atMs - (action.verdict.firstMs ?? 0))}; asked for ${asked}.`,
        ];
  return [...verdict, ...listOccasions(action?.occasionsMs ?? occasionsMs)].join("\n") + "\n";
}

function describeLack(log: LogText): string {
  const { occasionsMs } = log.replay;
  const span = log.spanMs;
  const read = `${log.lines} lines${span === undefined ? "" : ` from ${time(span.first)} to ${time(span.last)}`}`;
  if (occasionsMs.length === 0) return `Its own requests were never answered 401 in ${read}.`;
  const first = occasionsMs[0] ?? 0;
  const spread = formatDuration((occasionsMs.at(-1) ?? first) - first);
  return `Found ${occasionsMs.length} occasion(s) of 401 over ${spread} in ${read}.`;
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
