import { isObject } from "../../core/json";
import { createDetector, type Detector, loadSpec, LogText, Replay } from "./log-text";
import { count } from "../../core/text";
import { formatDuration } from "../../core/time";
import type { Command } from "commander";
import { answerLines, CliError, parseLine, readLog, write } from "../streams";

/** One log record of a question. */
interface LogRecord {
  readonly tMs: number;
  readonly line: string;
  readonly life: number;
}

/** One input line of `--json`: the log of one container. */
interface Question {
  readonly id: unknown;
  readonly records: readonly LogRecord[];
}

/** One output line of `--json`. */
export interface Answer {
  readonly id: unknown;
  readonly persistent: boolean;
  readonly at_ms: number | null;
}

/** Parses a line of JSON; returns what is wrong with it as text. */
export function parseQuestion(text: string): Question | string {
  const value = parseLine(text);
  if (typeof value === "string") return value;
  const items = value["records"];
  if (!Array.isArray(items)) return 'has no "records" that is a list';
  const records: LogRecord[] = [];
  for (const [index, item] of items.entries()) {
    const record = parseRecord(item);
    if (typeof record === "string") return `records[${index}] ${record}`;
    records.push(record);
  }
  return { id: value.id, records };
}

function parseRecord(value: unknown): LogRecord | string {
  if (!isObject(value)) return "is not an object";
  const { t_ms: tMs, line, life = 1 } = value;
  if (typeof tMs !== "number" || !Number.isFinite(tMs)) return 'has no "t_ms" that is a number';
  if (typeof line !== "string") return 'has no "line" that is a string';
  if (typeof life !== "number" || !Number.isInteger(life) || life < 1)
    return 'has a "life" that is not a whole number of 1 or more';
  return { tMs, line, life };
}

/** Replays the records in their order, and returns when the remedy would have acted. */
export function answer({ id, records }: Question, { finder, rule }: Detector): Answer {
  const replay = new Replay(rule);
  for (const { tMs, line, life } of records) {
    if (finder.isUnauthorized(line)) replay.unauthorized(tMs, life);
    else replay.line(tMs, life);
  }
  const { action } = replay;
  return { id, persistent: action !== undefined, at_ms: action?.atMs ?? null };
}

/** Occasions that the report lists. */
const LISTED = 12;

/** Describes for people whether tokenRestart would have acted on a log, and why. */
export function describeReplay(log: LogText): string[] {
  const { rule, replay } = log;
  const { action } = replay;
  const required = `${count(rule.occasions, "occasion")} within ${formatDuration(rule.windowMs)}, spread over ${formatDuration(rule.minDurationMs)} or more`;
  if (action === undefined)
    return ["tokenRestart would not have acted.", describeFound(log), `Required: ${required}, still going on.`];
  const { occasions, firstMs = 0 } = action.persistence;
  return [
    `tokenRestart would have acted at ${time(action.atMs)}.`,
    `Found ${count(occasions, "occasion")} of 401 over ${formatDuration(action.atMs - firstMs)}. Required: ${required}.`,
  ];
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

function listOccasions({ replay }: LogText): string[] {
  const occasionsMs = replay.action?.occasionsMs ?? replay.occasionsMs;
  if (occasionsMs.length === 0) return [];
  const shown = occasionsMs.slice(0, LISTED).map(ms => `  ${time(ms)}`);
  const rest = occasionsMs.length - LISTED;
  return ["Occasions (401s less than 2 s apart are one):", ...shown, ...(rest > 0 ? [`  and ${rest} more`] : [])];
}

/** Formats a time as RFC 3339. */
export function time(ms: number): string {
  return new Date(ms).toISOString();
}

// `replay`: reports when tokenRestart would have acted on a log, without a cluster.

async function replayLog(input: AsyncIterable<Buffer>, detector: Detector): Promise<void> {
  const log = new LogText(detector);
  for await (const chunk of input) log.push(chunk);
  log.end();
  if (log.lines > 0 && log.spanMs === undefined)
    throw new CliError("no line starts with a timestamp; expected the output of kubectl logs --timestamps");
  if (log.unstamped > 0) {
    const ignored = `ignored ${count(log.unstamped, "401")} without a timestamp`;
    await write(process.stderr, `${ignored}; expected the output of kubectl logs --timestamps\n`);
    process.exitCode = 1;
  }
  await write(process.stdout, `${[...describeReplay(log), ...listOccasions(log)].join("\n")}\n`);
}

async function run(file: string | undefined, { json, spec }: { json?: boolean; spec?: string }): Promise<void> {
  const detector = createDetector(loadSpec(spec));
  if (json !== true) return replayLog(readLog(file), detector);
  const expected = '{"id": ..., "records": [{"t_ms": ..., "line": ...}]}';
  return answerLines(readLog(file), { parse: parseQuestion, answer: one => answer(one, detector), expected });
}

/** Returns the help text; `call` is how a user calls the command, such as `npm run -s replay --`. */
function help(call: string): string {
  return `
Examples:
  kubectl logs --timestamps web-1 | ${call.replace(/ --$/, "")}
  ${call} --spec web.yaml web.log

Exit codes:
  0   the log was read, whether tokenRestart would have acted or not
  1   the input can't be read, it or the spec is not valid, or an option is unknown
`;
}

/** Gives a command the arguments, help and action of replay. */
export function defineReplay(command: Command, { call }: { call: string }): Command {
  return command
    .description(
      "Read a container's log with timestamps (kubectl logs --timestamps) from a file or standard input. " +
        "Print when tokenRestart would have acted on it, if at all, and the occasions that it counted.\n\n" +
        "Replay checks after each record. The operator reads a suspicious log every 5 s, so it acts up to 5 s later.",
    )
    .summary("say when tokenRestart would have acted on a log")
    .argument("[file]", "log file (default: standard input)")
    .option(
      "--spec <file>",
      "YAML or JSON: a ControllerResilience, or its tokenRestart block (default: the defaults of the API)",
    )
    .option(
      "--json",
      'read lines {"id","records":[{"t_ms","line","life"?}]} and print {"id","persistent","at_ms"} for each of them;\n' +
        "life counts container restarts from 1; at_ms is the t_ms of the record on which it would have acted, or null",
    )
    .addHelpText("after", help(call))
    .action(run);
}
