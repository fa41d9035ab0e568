import { Command, InvalidArgumentError, Option } from "commander";
import { Lab } from "../../lab";
import { type RunOptions, runScenes, SCENES } from "./run";
import { type Size } from "./scene";

/** `npm run bench -- scale`. */
export function scaleCommand(): Command {
  const names = SCENES.map(({ name }) => name);
  const list = SCENES.map(({ name, about, sizes }) => `  ${name.padEnd(8)}${about} (${sizes.map(inWords).join(", ")})`);
  return new Command("scale")
    .description(
      "Measure how many requests, how much processor time and memory the operator needs, in labs with simulated pods. All take an hour.",
    )
    .addOption(new Option("--scene <names...>", "only these scenes").choices(names).default(names, "all"))
    .option(
      "--size <pods/objects...>",
      "instead of each scene's own sizes, such as 500/25; burst has no pods: 0/1000",
      collectSizes,
    )
    .option("--seconds <number>", "length of a measurement", whole, 60)
    .option("--nodes <number>", "simulated nodes", whole, 20)
    .option("--repeats <number>", "bursts for each process", whole, 1)
    .option("--node-options <options>", "more options of the operator's Node.js, such as --cpu-prof", "")
    .option("--lab <name>", "name of the lab; each scene has a new one", "bench-scale")
    .addHelpText("after", `\nScenes, with their sizes (pods/objects):\n${list.join("\n")}`)
    .action(run);
}

async function run(options: RunOptions): Promise<void> {
  if (Lab.find(options.lab) !== undefined) {
    console.error(
      `the lab "${options.lab}" exists: choose another --lab, or remove it: npm run lab -- down --name ${options.lab}`,
    );
    process.exitCode = 1;
    return;
  }
  const failures = await runScenes(options, line => console.log(line));
  process.exitCode = failures === 0 ? 0 : 1;
}

function whole(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError("expected a whole number above 0");
}

function collectSizes(text: string, before: readonly Size[] = []): readonly Size[] {
  const [, pods, objects] = /^(\d+)\/([1-9]\d*)$/.exec(text) ?? [];
  if (pods === undefined || objects === undefined)
    throw new InvalidArgumentError("expected PODS/OBJECTS, such as 500/25");
  return [...before, { pods: Number(pods), objects: Number(objects) }];
}

function inWords({ pods, objects }: Size): string {
  return `${pods}/${objects}`;
}
