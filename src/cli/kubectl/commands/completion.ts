import { Argument, type Command } from "commander";
import { write } from "../../streams";
import { helpOf, type Shell } from "../command";
import { SCRIPTS } from "../completion/scripts";

const SHELLS = Object.keys(SCRIPTS) as (keyof typeof SCRIPTS)[];

/** `completion`: scripts for shells. */
export function registerCompletion(program: Command, { io }: Shell): void {
  program
    .command("completion")
    .summary("print a completion script for a shell")
    .description(
      "Print a completion script for kubectl-resilience. kubectl completes `kubectl resilience` itself, by the program kubectl_complete-resilience of the package, if that is in the PATH.",
    )
    .addArgument(new Argument("<shell>", "shell").choices(SHELLS))
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
