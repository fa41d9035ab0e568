// `replay`: reports when tokenRestart would have acted on a log, without a cluster.
import { createReadStream } from "node:fs";
import type { Command } from "commander";
import { createDetector, type Detector } from "./detector";
import { LogText } from "./log-text";
import { answer, parseQuestion } from "./questions";
import { loadSpec, SpecError } from "./spec-file";
import { describeReplay } from "./report";
import { linesOf, write } from "../streams";

interface Options {
  readonly json?: boolean;
  readonly spec?: string;
}

async function fail(message: string): Promise<void> {
  await write(process.stderr, `${message}\n`);
  process.exitCode = 1;
}

async function replayLog(input: NodeJS.ReadableStream, detector: Detector): Promise<void> {
  const log = new LogText(detector);
  for await (const chunk of input) log.push(chunk as Buffer);
  log.end();
  if (log.lines > 0 && log.spanMs === undefined) {
    await fail("no line starts with a timestamp; expected the output of kubectl logs --timestamps");
    return;
  }
  for (const line of log.unstamped) {
    await fail(`line ${line}: ignored a 401 without a timestamp; expected the output of kubectl logs --timestamps`);
  }
  await write(process.stdout, describeReplay(log, detector.rule));
}

async function replayJson(input: NodeJS.ReadableStream, detector: Detector): Promise<void> {
  let number = 0;
  for await (const text of linesOf(input)) {
    number++;
    if (text.trim() === "") continue;
    const question = parseQuestion(text);
    if (typeof question === "string") {
      await fail(`line ${number}: ${question}; expected {"id": ..., "records": [{"t_ms": ..., "line": ...}]}`);
    } else {
      await write(process.stdout, `${JSON.stringify(answer(question, detector))}\n`);
    }
  }
}

async function run(file: string | undefined, { json, spec }: Options): Promise<void> {
  try {
    const detector = createDetector(loadSpec(spec));
    const input = file === undefined ? process.stdin : createReadStream(file);
    await (json === true ? replayJson(input, detector) : replayLog(input, detector));
  } catch (error) {
    if (error instanceof SpecError) await fail(error.message);
    else if (file !== undefined && isReadError(error)) await fail(`failed to read ${file}: ${error.message}`);
    else throw error;
  }
}

function isReadError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
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
