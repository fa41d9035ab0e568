// `classify`: classifies the records of a log, without a cluster.
import { createReadStream } from "node:fs";
import type { Command } from "commander";
import { classify, RecordStream, stripColors, type LogClass } from "../../logs/classifier/index";
import { ClassCounts, summarize } from "./summary";
import { createDetector, LogText, loadSpec } from "../replay/log-text";
import { answerLines, parseLine, write } from "../streams";
import { terminalText } from "../terminal-text";

const COLUMN = "unauthorized".length + 2;

const COLORS: Readonly<Record<LogClass, string>> = {
  unauthorized: "\x1b[31m",
  forbidden: "\x1b[35m",
  "lease-lost": "\x1b[33m",
  "watch-ended": "\x1b[36m",
  throttled: "\x1b[34m",
  none: "",
};

/** Formats `unauthorized  <record>`, with further lines of the record indented below the first. */
function formatRecord(cls: LogClass, record: string): string {
  const label = process.stdout.isTTY ? `${COLORS[cls]}${cls}\x1b[0m` : cls;
  const text = terminalText(stripColors(record.endsWith("\n") ? record.slice(0, -1) : record));
  const gap = " ".repeat(COLUMN - cls.length);
  return `${label}${gap}${text.split("\n").join(`\n${" ".repeat(COLUMN)}`)}\n`;
}

/** Prints each classified record of standard input as it arrives. */
async function printRecords(): Promise<void> {
  const counts = new ClassCounts();
  let found: string[] = [];
  const stream = new RecordStream((cls, record) => {
    counts.add(cls, record);
    found.push(formatRecord(cls, Buffer.from(record).toString("utf8")));
  });
  const flush = async (): Promise<void> => {
    const text = found.join("");
    found = [];
    if (text !== "") await write(process.stdout, text);
  };
  for await (const chunk of process.stdin) {
    stream.push(chunk as Buffer);
    await flush();
  }
  stream.end();
  await flush();
  await write(process.stderr, `Classified: ${counts.describe()}.\n`);
}

/** Prints a summary of a log file. */
async function printSummary(file: string, replay: string): Promise<void> {
  const counts = new ClassCounts();
  const records = new RecordStream((cls, record) => counts.add(cls, record));
  const log = new LogText(createDetector(loadSpec(undefined)));
  try {
    for await (const chunk of createReadStream(file)) {
      records.push(chunk as Buffer);
      log.push(chunk as Buffer);
    }
  } catch (error) {
    await write(process.stderr, `failed to read ${file}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
    return;
  }
  records.end();
  log.end();
  await write(process.stdout, summarize(file, counts, log, replay));
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
function answerJson(): Promise<void> {
  const answer = ({ id, line }: Question): object => ({ id, class: classify(line) });
  return answerLines(process.stdin, { parse: parseQuestion, answer, expected: '{"id": ..., "line": "..."}' });
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
  unauthorized   the API server answered a request of the process with 401
  forbidden      the API server answered a request of the process with 403
  lease-lost     the process lost its Lease, or could not renew it in time
  watch-ended    a watch ended or expired
  throttled      requests waited or were rejected because of their rate

Examples:
${rows.map(([command, what]) => `  ${command.padEnd(width)}${what}\n`).join("")}
Exit codes:
  0   the log was read, whatever was found
  1   the file or a line of JSON can't be read, or an option is unknown
`;
}

/** Gives a command the arguments, help and action of classify. */
export function defineClassify(command: Command, { call, replay }: { call: string; replay: string }): Command {
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
    .action(async (file: string | undefined, { json }: { json?: boolean }) => {
      if (json === true) await answerJson();
      else await (file === undefined ? printRecords() : printSummary(file, replay));
    });
}
