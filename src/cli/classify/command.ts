// `classify`: classifies the records of a log, without a cluster.
import type { Command } from "commander";
import { count, oneLine } from "../../core/text";
import { classify, type LogClass } from "../../logs/classifier/classify";
import { scanRecords, WholeRecords } from "../../logs/classifier/scan-log";
import { stripColors } from "../../logs/classifier/unwrap";
import { describeReplay, time } from "../replay/command";
import { ClassCounts, createDetector, LOG_CLASSES, LogText, loadSpec } from "../replay/log-text";
import { formatTable } from "../kubectl/terminal";
import { answerLines, parseLine, readLog, write, terminalText } from "../streams";

const COLUMN = "unauthorized".length + 2;

/** Formats `unauthorized  <record>`, with further lines of the record indented below the first. */
function formatRecord(cls: LogClass, record: string): string {
  const text = terminalText(stripColors(record.endsWith("\n") ? record.slice(0, -1) : record));
  const gap = " ".repeat(COLUMN - cls.length);
  return `${cls}${gap}${text.split("\n").join(`\n${" ".repeat(COLUMN)}`)}\n`;
}

/** Prints each classified record of standard input as it arrives. */
async function printRecords(): Promise<void> {
  const counts = new ClassCounts();
  const records = new WholeRecords();
  const print = async (text: Buffer): Promise<void> => {
    const found: string[] = [];
    scanRecords(text, (cls, start, end) => {
      counts.add(cls, text.subarray(start, end));
      found.push(formatRecord(cls, text.toString("utf8", start, end)));
    });
    if (found.length > 0) await write(process.stdout, found.join(""));
  };
  for await (const chunk of readLog(undefined)) await print(records.push(chunk));
  await print(records.end());
  await write(process.stderr, `Classified: ${counts.describe()}.\n`);
}

/** Prints a summary of a log file. */
async function printSummary(file: string): Promise<void> {
  const log = new LogText(createDetector(loadSpec(undefined)));
  for await (const chunk of readLog(file)) log.push(chunk);
  log.end();
  await write(process.stdout, terminalText(summarize(file, log)));
}

type Found = Exclude<LogClass, "none">;

/** What a class means, and the next step for a person. */
const EXPLANATIONS: Readonly<Record<Found, { readonly meaning: string; readonly next: string }>> = {
  unauthorized: {
    meaning: "The API server answered a request of this process with 401: it does not accept its token.",
    next: "Compare the ages of pod and ServiceAccount (kubectl get pod,serviceaccount). If the ServiceAccount is younger, restart the pod.",
  },
  forbidden: {
    meaning: "The API server answered a request of this process with 403: it lacks a permission.",
    next: "Grant its ServiceAccount the permission that the record names. A restart does not help.",
  },
  "lease-lost": {
    meaning: "The process lost its leader election Lease, or could not renew it in time.",
    next: "Check the latency of the API server, and the CPU limit of the container.",
  },
  throttled: {
    meaning: "Requests of this process waited or were rejected because of their rate.",
    next: "Find out why it sends so many requests. flowIsolation keeps them away from other clients.",
  },
};

/** Describes a whole log: what was found, how often, since when, what it means and what to do next. */
function summarize(name: string, log: LogText): string {
  const { counts } = log;
  const found = LOG_CLASSES.filter(cls => counts.of(cls) !== undefined);
  if (log.lines === 0) return lines(`${name}: 0 lines`, "", "RESULT  The file is empty.");
  const header = `${name}: ${count(log.lines, "line")}${describeSpan(log)}`;
  if (found.length === 0) {
    return lines(
      header,
      "",
      "RESULT  Found no problem between this process and the API server.",
      "NEXT    If the process is stuck, it may not log its errors: docs/remedies/token-restart.md#what-it-cannot-see",
    );
  }
  return lines(
    header,
    "",
    ...describeResult(log),
    "",
    table(found, counts),
    ...found.flatMap(cls => ["", ...describeClass(cls, counts)]),
  );
}

function describeResult(log: LogText): string[] {
  const { records } = log.counts.of("unauthorized") ?? { records: 0 };
  if (records === 0) return ["RESULT  Found no 401. tokenRestart would not act on this log."];
  if (log.replay.occasionsMs.length === 0) {
    return [
      `RESULT  Found ${count(records, "record")} with a 401. Without the timestamps of kubectl it is unknown whether 401s are persistent.`,
      "NEXT    Classify the output of `kubectl logs --timestamps`.",
    ];
  }
  const [first = "", ...others] = describeReplay(log);
  const next =
    log.replay.action === undefined
      ? "No action required if they have ended."
      : "Restart the pod, or let tokenRestart do it: docs/remedies/token-restart.md";
  return [`RESULT  ${first}`, ...others.map(line => `        ${line}`), `NEXT    ${next}`];
}

function table(found: readonly Found[], counts: ClassCounts): string {
  const rows = found.map(cls => {
    const { records = 0, firstMs, lastMs } = counts.of(cls) ?? {};
    return [cls, String(records), ...[firstMs, lastMs].map(ms => (ms === undefined ? "-" : time(ms)))];
  });
  return formatTable([["CLASS", "RECORDS", "FIRST", "LAST"], ...rows]).trimEnd();
}

/** Longest line of a quoted record. */
const EXAMPLE_LENGTH = 160;

function describeClass(cls: Found, counts: ClassCounts): string[] {
  const { meaning, next } = EXPLANATIONS[cls];
  const line = oneLine(stripColors(tellingLine(cls, counts.of(cls)?.example ?? "")));
  const example = line.length > EXAMPLE_LENGTH ? `${line.slice(0, EXAMPLE_LENGTH)}...` : line;
  return [cls, `  meaning  ${meaning}`, `  next     ${next}`, `  first    ${example}`];
}

/** Returns the line that shows the class: the first line of a record may be an unrelated one before a traceback. */
function tellingLine(cls: Found, record: string): string {
  const all = record.split("\n");
  return all.find(line => classify(line) === cls) ?? all[0] ?? "";
}

function describeSpan({ spanMs }: LogText): string {
  return spanMs === undefined ? ", without timestamps of kubectl" : `, ${time(spanMs.first)} to ${time(spanMs.last)}`;
}

function lines(...all: readonly string[]): string {
  return `${all.join("\n")}\n`;
}

interface Question {
  readonly id: unknown;
  readonly line: string;
}

function parseQuestion(text: string): Question | string {
  const value = parseLine(text);
  if (typeof value === "string") return value;
  const { id, line } = value;
  return typeof line === "string" ? { id, line } : 'has no "line" that is a string';
}

/** Answers each line of JSON. */
function answerJson(file: string | undefined): Promise<void> {
  const answer = ({ id, line }: Question): object => ({ id, class: classify(line) });
  return answerLines(readLog(file), { parse: parseQuestion, answer, expected: '{"id": ..., "line": "..."}' });
}

function run(file: string | undefined, { json }: { json?: boolean }): Promise<void> {
  if (json === true) return answerJson(file);
  return file === undefined ? printRecords() : printSummary(file);
}

/** Returns the help text; `call` is how a user calls the command, such as `npm run -s classify --`. */
function help(call: string): string {
  const rows: readonly (readonly [string, string])[] = [
    [`${call} web.log`, "summary of a file"],
    [`kubectl logs --timestamps web-1 | ${call.replace(/ --$/, "")}`, "each classified record"],
    [`${call} --json < questions.jsonl`, "one answer per line"],
  ];
  const width = Math.max(...rows.map(([command]) => command.length)) + 5;
  return `
Classes:
${LOG_CLASSES.map(cls => `  ${cls.padEnd(COLUMN)} ${EXPLANATIONS[cls].meaning}\n`).join("")}
Examples:
${rows.map(([command, what]) => `  ${command.padEnd(width)}${what}\n`).join("")}
Exit codes:
  0   the log was read, whatever was found
  1   the file or a line of JSON can't be read, or an option is unknown
`;
}

/** Gives a command the arguments, help and action of classify. */
export function defineClassify(command: Command, { call }: { call: string }): Command {
  return command
    .description(
      "Find 401s and related problems between a process and the Kubernetes API server in its log.\n" +
        "With a file, print a summary: what was found, how often, since when, what it means and what to do next.\n" +
        "Without a file, read standard input and print each classified record as it arrives.",
    )
    .summary("find 401s and related problems in a log")
    .argument("[file]", "log file; times need the output of kubectl logs --timestamps")
    .option("--json", 'read lines {"id","line"} and print {"id","class"} for each of them, in order')
    .addHelpText("after", help(call))
    .action(run);
}
