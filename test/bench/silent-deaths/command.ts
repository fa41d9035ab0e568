import { Argument, Command } from "commander";
import { PEERS } from "./peers";
import { runSilentDeaths } from "./run";
import { toolByCommand } from "./tool";

interface Options {
  readonly command?: string;
  readonly apply?: string;
}

/** `npm run bench -- silent-deaths`, and by its other name `peers`. */
export function silentDeathsCommand(): Command {
  return new Command("silent-deaths")
    .alias("peers")
    .description("Let real programs die silently beside innocent ones, and measure what each tool does about it.")
    .addArgument(new Argument("[tools...]", "which").choices(Object.keys(PEERS)))
    .option("--command <command>", "measure this tool, a command of the shell, as `yours`; KUBECONFIG is set")
    .option("--apply <file>", "manifests that it needs")
    .addHelpText(
      "after",
      `\nTools:\n${Object.entries(PEERS)
        .map(([name, { how }]) => `  ${name.padEnd(15)}${how}\n`)
        .join("")}`,
    )
    .action(async (names: string[], { command, apply }: Options) => {
      const named = Object.entries(PEERS).filter(([name]) => names.includes(name));
      const yours = command === undefined ? {} : { yours: toolByCommand(command, apply) };
      const chosen = { ...Object.fromEntries(named), ...yours };
      await runSilentDeaths(Object.keys(chosen).length === 0 ? PEERS : chosen, line => console.log(line));
    });
}
