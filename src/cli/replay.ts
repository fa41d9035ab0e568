// `npm run -s replay`: when, if ever, tokenRestart would have acted on a log, without a cluster.
import { Command } from "commander";
import { createDetector, type Detector } from "./replay/detector";
import { LogText } from "./replay/log-text";
import { answer, parseQuestion } from "./replay/questions";
import { loadSpec, SpecError } from "./replay/spec-file";
import { describeReplay } from "./replay/verdict-text";
import { endQuietlyOnClosedPipe, linesOf, write } from "./streams";

interface Options {
  readonly json?: boolean;
  readonly spec?: string;
}

async function complain(message: string): Promise<void> {
  await write(process.stderr, `${message}\n`);
  process.exitCode = 1;
}

async function replayLog(detector: Detector): Promise<void> {
  const log = new LogText(detector);
  for await (const chunk of process.stdin) log.push(chunk as Buffer);
  log.end();
  if (log.lines > 0 && log.spanMs === undefined) {
    await complain("line 1: found no time stamp on any line; expected the output of kubectl logs --timestamps");
    return;
  }
  for (const line of log.unstamped) {
    await complain(
      `line ${line}: a 401 without a time stamp before it, so it is not counted; expected the output of kubectl logs --timestamps`,
    );
  }
  await write(process.stdout, describeReplay(log, detector.rule));
}

async function replayJson(detector: Detector): Promise<void> {
  let number = 0;
  for await (const text of linesOf(process.stdin)) {
    number++;
    if (text.trim() === "") continue;
    const question = parseQuestion(text);
    if (typeof question === "string") {
      await complain(`line ${number}: ${question}; expected {"id": ..., "records": [{"t_ms": ..., "line": ...}]}`);
    } else {
      await write(process.stdout, `${JSON.stringify(answer(question, detector))}\n`);
    }
  }
}

async function run({ json, spec }: Options): Promise<void> {
  try {
    const detector = createDetector(loadSpec(spec));
    await (json === true ? replayJson(detector) : replayLog(detector));
  } catch (error) {
    if (!(error instanceof SpecError)) throw error;
    await complain(error.message);
  }
}

endQuietlyOnClosedPipe();
void new Command("npm run -s replay --")
  .description(
    "Read a container's log with time stamps (kubectl logs --timestamps) on standard input and print when, if ever, " +
      "the remedy tokenRestart would have acted on it, and the occasions that it counts.\n\n" +
      "It is judged at each record. The operator itself reads a suspicious log every 5 s, so it acts up to that much later.",
  )
  .option(
    "--spec <file>",
    "YAML or JSON: a ControllerResilience, or its tokenRestart block (default: the API's defaults)",
  )
  .option(
    "--json",
    'read lines {"id","records":[{"t_ms","line","life"?}]} and print {"id","persistent","at_ms"} for each of them;\n' +
      "life counts container restarts from 1, at_ms is the t_ms of the record it would have acted on, or null",
  )
  .action(run)
  .parseAsync();
