import { Command, CommanderError } from "commander";
import cfg from "../../../package.json";
import { CALL } from "./command";
import { write } from "../streams";
import { terminalText } from "../terminal-text";
import { COMMANDS } from "./commands";
import { complete, formatCompletion } from "./completion/complete";
import { COMPLETE } from "./completion/scripts";
import { describeFailure } from "./failure";
import { Exit, type Io } from "./io";
import type { Session } from "./session";

const HELP = `
Examples:
  # Find problems of this cluster. Nothing has to be installed.
  ${CALL} audit
  # What does this log say about the API server?
  ${CALL} classify web.log

Exit codes of all commands:
  0   nothing found, or done
  1   an error, which standard error names
  2   something was found
`;

/** Runs a command line, without the names of Node and the script, and returns the exit code. Never throws. */
export async function main(args: readonly string[], io: Io): Promise<number> {
  let code: number = Exit.ok;
  let session: Session | undefined;
  const program = new Command(CALL)
    .description("Finds controllers that fail silently, and explains what the operator does about them.")
    .version(cfg.version)
    .addHelpText("after", HELP)
    .configureOutput({
      writeOut: text => io.stdout.write(text),
      writeErr: text => io.stderr.write(text),
    })
    .exitOverride()
    .showHelpAfterError(`Try \`${CALL} --help\`.`);
  const shell = {
    io,
    onSession: (opened: Session) => (session = opened),
    onExit: (given: number) => (code = given),
  };
  for (const register of COMMANDS) register(program, shell);
  try {
    // Its words may be options of any command.
    if (args[0] === COMPLETE) {
      await write(io.stdout, formatCompletion(complete(program, args.slice(1))));
      return Exit.ok;
    }
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    session?.progress.end();
    const failure = describeFailure(error, { version: cfg.version, ...(session && { server: session.server }) });
    io.stderr.write(`${terminalText(failure)}\n`);
    return Exit.error;
  }
}
