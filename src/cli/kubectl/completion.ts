import { Argument, type Command, type Option } from "commander";
import { write } from "../streams";
import { helpOf, type Shell } from "./command";

/** Something that a shell offers. */
interface Candidate {
  readonly word: string;
  readonly description: string;
}

/** Candidates for the last word, and whether names of files fit as well. */
interface Completion {
  readonly candidates: readonly Candidate[];
  readonly files: boolean;
}

/** Options whose value is a file. */
const FILE_OPTIONS: ReadonlySet<string> = new Set(["--filename", "--kubeconfig", "--spec"]);

/** Commands whose arguments are files. */
const FILE_COMMANDS: ReadonlySet<string> = new Set(["classify", "replay"]);

/** Completes a command line. Pure. @param words without the program's name; the last one is incomplete */
export function complete(program: Command, words: readonly string[]): Completion {
  const last = words.at(-1) ?? "";
  const { command, open } = walk(program, words.slice(0, -1));
  if (open !== undefined)
    return { candidates: matching(choicesOf(open), last), files: FILE_OPTIONS.has(open.long ?? "") };
  if (last.startsWith("-")) return { candidates: matching(optionsOf(command), last), files: false };
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  const all = [...commandsOf(command), ...choices.map(word => ({ word, description: "" }))];
  return { candidates: matching(all, last), files: FILE_COMMANDS.has(command.name()) };
}

/** Formats candidates as cobra's programs do, which kubectl calls for its plugins: the last line says whether files fit. */
export function formatCompletion({ candidates, files }: Completion): string {
  const lines = candidates.map(({ word, description }) => (description === "" ? word : `${word}\t${description}`));
  return [...lines, files ? ":0" : ":4", ""].join("\n");
}

/** Follows the words to the command that they name, and to the option that still needs its value. */
function walk(program: Command, words: readonly string[]): { command: Command; open: Option | undefined } {
  let command = program;
  let open: Option | undefined;
  for (const word of words) {
    if (open !== undefined) open = undefined;
    else if (word.startsWith("-")) open = valueOption(command, word);
    else command = command.commands.find(one => one.name() === word || one.aliases().includes(word)) ?? command;
  }
  return { command, open };
}

/** Returns the option if its value is the next word. */
function valueOption(command: Command, word: string): Option | undefined {
  const option = command.options.find(({ long, short }) => long === word || short === word);
  return option?.required === true ? option : undefined;
}

function choicesOf({ argChoices }: Option): Candidate[] {
  return (argChoices ?? []).map(word => ({ word, description: "" }));
}

function optionsOf(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map(({ long, short, description }) => ({ word: long ?? short ?? "", description }));
}

function commandsOf(command: Command): Candidate[] {
  if (command.commands.length === 0) return [];
  return command
    .createHelp()
    .visibleCommands(command)
    .map(one => ({ word: one.name(), description: one.summary() || one.description() }));
}

function matching(candidates: readonly Candidate[], start: string): Candidate[] {
  return candidates.filter(({ word }) => word.startsWith(start));
}

/** The program that the shells complete; kubectl itself completes `kubectl resilience` by kubectl_complete-resilience. */
const PROGRAM = "kubectl-resilience";

/** Name of the hidden command that answers. */
export const COMPLETE = "__complete";

const BASH = `_kubectl_resilience() {
  local found line word="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  found=$(${PROGRAM} ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return
  while IFS= read -r line; do
    case "$line" in
      :*) ;;
      "$word"*) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done <<< "$found"
}
complete -o default -F _kubectl_resilience ${PROGRAM}
`;

const ZSH = `#compdef ${PROGRAM}
_kubectl_resilience() {
  local tab=$'\\t'
  local -a found
  found=(\${(f)"$(${PROGRAM} ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null | sed -e '/^:/d' -e 's/:/\\\\:/g' -e "s/$tab/:/")"})
  if (( $#found )); then _describe '${PROGRAM}' found; else _files; fi
}
compdef _kubectl_resilience ${PROGRAM}
`;

const FISH = `function __kubectl_resilience
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    test -n "$last"; or set last ''
    ${PROGRAM} ${COMPLETE} $words[2..-1] $last 2>/dev/null | string match -v -r '^:'
end
complete -c ${PROGRAM} -a '(__kubectl_resilience)'
`;

/** Completion scripts by shell. */
const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const;

/** `completion`: scripts for shells. */
export function registerCompletion(program: Command, { io }: Shell): void {
  program
    .command("completion")
    .summary("print a completion script for a shell")
    .description(
      "Print a completion script for kubectl-resilience. kubectl completes `kubectl resilience` itself, by the program kubectl_complete-resilience of the package, if that is in the PATH.",
    )
    .addArgument(new Argument("<shell>", "shell").choices(Object.keys(SCRIPTS)))
    .addHelpText(
      "after",
      helpOf({
        examples: [
          ["completion bash > /etc/bash_completion.d/kubectl-resilience", "bash"],
          ['completion zsh > "${fpath[1]}/_kubectl-resilience"', "zsh"],
          ["completion fish > ~/.config/fish/completions/kubectl-resilience.fish", "fish"],
        ],
      }),
    )
    .action((shell: keyof typeof SCRIPTS) => write(io.stdout, SCRIPTS[shell]));
}
