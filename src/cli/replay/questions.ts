import { isMapping } from "../is-mapping";
import { Replay, type Detector } from "./detector";

/** One log record of a question. */
export interface LogRecord {
  readonly tMs: number;
  readonly line: string;
  readonly life: number;
}

/** One input line of `--json`: the log of one container. */
export interface Question {
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
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `not JSON (${error instanceof Error ? error.message : String(error)})`;
  }
  if (!isMapping(value)) return "not an object";
  if (value["id"] === undefined) return 'has no "id"';
  const items = value["records"];
  if (!Array.isArray(items)) return 'has no "records" that is a list';
  const records: LogRecord[] = [];
  for (const [index, item] of items.entries()) {
    const record = parseRecord(item);
    if (typeof record === "string") return `records[${index}] ${record}`;
    records.push(record);
  }
  return { id: value["id"], records };
}

function parseRecord(value: unknown): LogRecord | string {
  if (!isMapping(value)) return "is not an object";
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
