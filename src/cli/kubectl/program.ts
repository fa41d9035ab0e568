import { Command, CommanderError } from "commander";
import cfg from "../../../package.json";
import { defineClassify } from "../classify/command";
import { defineReplay } from "../replay/command";
import { terminalText } from "../streams";
import { registerAudit } from "./audit/command";
import { addClusterCommand, CALL, describeFailure, type Shell } from "./command";
import { registerExplain } from "./explain/command";
import { registerPlan } from "./plan/command";
import type { Session } from "./session";
import { Exit, type Io } from "./terminal";

const HELP = `
Examples:
  # Find problems of this cluster. Nothing has to be installed.
  ${CALL} audit
  # What does this log say about the API server?
  ${CALL} classify web.log

Exit codes:
  0   nothing found, or done
  1   an error, which standard error names; or nothing found, but not everything could be read
  2   audit found something, or the operator would act on what plan was given
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
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    const failure = describeFailure(error, { version: cfg.version, ...(session && { server: session.server }) });
    io.stderr.write(`${terminalText(failure)}\n`);
    return Exit.error;
  }
}

/** Every command; --help lists them in this order. */
const COMMANDS: readonly ((program: Command, shell: Shell) => void)[] = [
  // On a cluster.
  registerAudit,
  registerExplain,
  registerPlan,
  registerVersion,
  // On log files.
  program => void defineClassify(program.command("classify"), { call: `${CALL} classify` }),
  program => void defineReplay(program.command("replay"), { call: `${CALL} replay` }),
];

/** `version`: of this program, and whether the cluster serves the API that it knows. */
function registerVersion(program: Command, shell: Shell): void {
  addClusterCommand(program, shell, {
    usage: "version",
    summary: "show the versions of this plugin and of the operator's API",
    description:
      "Show the version of this plugin, also without a cluster, and the versions of the operator's API that the cluster serves.",
    examples: [["version -o json", "for a script"]],
    formats: ["json", "yaml"],
    async run(session) {
      const served = await session.servedVersions();
      const text = `served: ${served.join(", ") || "none, not installed"}\n`;
      await session.output.result({ client: cfg.version, served }, () => text);
      return Exit.ok;
    },
  });
  program.commands.at(-1)?.hook("preAction", command => {
    if (command.opts()["output"] === undefined) shell.io.stdout.write(`client: ${cfg.version}\n`);
  });
}
