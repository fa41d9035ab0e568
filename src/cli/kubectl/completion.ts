import type { Command, Option } from "commander";

/** Name of the hidden command that answers `kubectl_complete-resilience`, which kubectl calls. */
export const COMPLETE = "__complete";

/** Options whose value is a file. */
const FILE_OPTIONS: ReadonlySet<string | undefined> = new Set(["--filename", "--kubeconfig", "--spec"]);

/** Commands whose arguments are files. */
const FILE_COMMANDS: ReadonlySet<string> = new Set(["classify", "replay"]);

/**
 * Completes a command line as cobra's programs do, for kubectl: one candidate per line with its description after a tab; the last line says
 * whether names of files fit as well. Pure.
 *
 * @param words without the program's name; the last one is incomplete
 */
export function complete(program: Command, words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  const { command, open } = walk(program, words.slice(0, -1));
  const isOption = open === undefined && last.startsWith("-");
  const files = open === undefined ? !isOption && FILE_COMMANDS.has(command.name()) : FILE_OPTIONS.has(open.long);
  const candidates = open?.argChoices ?? (open ? [] : isOption ? optionsOf(command) : commandsOf(command));
  return [...candidates.filter(word => word.startsWith(last)), files ? ":0" : ":4", ""].join("\n");
}

/** Follows the words to the command that they name, and to the option that still needs its value. */
function walk(program: Command, words: readonly string[]): { command: Command; open: Option | undefined } {
  let command = program;
  let open: Option | undefined;
  for (const word of words) {
    if (open !== undefined) open = undefined;
    else if (word.startsWith("-")) open = valueOption(command, word);
    else command = command.commands.find(one => one.name() === word) ?? command;
  }
  return { command, open };
}

/** Returns the option if its value is the next word. */
function valueOption(command: Command, word: string): Option | undefined {
  const option = command.options.find(({ long, short }) => long === word || short === word);
  return option?.required === true ? option : undefined;
}

function optionsOf(command: Command): string[] {
  const options = command.createHelp().visibleOptions(command);
  return options.map(({ long, short, description }) => `${long ?? short ?? ""}\t${description}`);
}

function commandsOf(command: Command): string[] {
  if (command.commands.length === 0) return [];
  const commands = command.createHelp().visibleCommands(command);
  return commands.map(one => `${one.name()}\t${one.summary() || one.description()}`);
}
