// `npm run -s classify`: what the detector of token-restart makes of a log, record by record, without a cluster.
import { Command } from "commander";
import { classify, RecordStream, type LogClass } from "../logs/classifier/index";
import { endQuietlyOnClosedPipe, linesOf, write } from "./streams";

const COLUMN = "unauthorized".length + 2;

const COLOURS: Readonly<Record<LogClass, string>> = {
  unauthorized: "\x1b[31m",
  forbidden: "\x1b[35m",
  "lease-lost": "\x1b[33m",
  "watch-ended": "\x1b[36m",
  throttled: "\x1b[34m",
  none: "",
};

/** `unauthorized  <record>`; the further lines of a record stand under its first. */
function layOut(cls: LogClass, record: string): string {
  const label = process.stdout.isTTY ? `${COLOURS[cls]}${cls}\x1b[0m` : cls;
  const text = record.endsWith("\n") ? record.slice(0, -1) : record;
  const gap = " ".repeat(COLUMN - cls.length);
  return `${label}${gap}${text.split("\n").join(`\n${" ".repeat(COLUMN)}`)}\n`;
}

async function classifyLog(): Promise<void> {
  let found: string[] = [];
  const stream = new RecordStream((cls, record) => found.push(layOut(cls, Buffer.from(record).toString("utf8"))));
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
}

interface Question {
  readonly id: unknown;
  readonly line: string;
}

function parseQuestion(text: string): Question | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `not JSON (${error instanceof Error ? error.message : String(error)})`;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "not an object";
  const { id, line } = value as Record<string, unknown>;
  if (id === undefined) return 'has no "id"';
  return typeof line === "string" ? { id, line } : 'has no "line" that is a string';
}

async function classifyJson(): Promise<void> {
  let number = 0;
  for await (const text of linesOf(process.stdin)) {
    number++;
    if (text.trim() === "") continue;
    const question = parseQuestion(text);
    if (typeof question === "string") {
      await write(process.stderr, `line ${number}: ${question}; expected {"id": ..., "line": "..."}\n`);
      process.exitCode = 1;
    } else {
      await write(process.stdout, `${JSON.stringify({ id: question.id, class: classify(question.line) })}\n`);
    }
  }
}

endQuietlyOnClosedPipe();
void new Command("npm run -s classify --")
  .description(
    "Read a log on standard input and print the class before each record that has one:\n" +
      "unauthorized, forbidden, lease-lost, watch-ended or throttled.",
  )
  .option("--json", 'read lines {"id","line"} and print {"id","class"} for each of them, in order')
  .action(async ({ json }: { json?: boolean }) => (json === true ? classifyJson() : classifyLog()))
  .parseAsync();
