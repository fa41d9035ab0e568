// `npm run chaos`: faults in the middle of what the operator does, on a real API server, and what comes of them.
import { Command, InvalidArgumentError, Option } from "commander";
import { Lab } from "../lab";
import { printer } from "../lab/progress";
import { crashEverywhere, type CrashReport, everywhere, isAsPromised } from "./crash";
import { render } from "./report";
import { Rig } from "./rig";
import { scenarios } from "./scenarios";

/** Left alone for this long, in milliseconds: shorter than a full pass of the operator, and three of them. */
const [QUIET_MS, FULL_QUIET_MS] = [30_000, 180_000];

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

interface CrashFlags {
  readonly scenario?: readonly string[];
  readonly seed: number;
  readonly atMost?: number;
  readonly full?: boolean;
}

async function crash({ scenario: names, seed, atMost, full = false }: CrashFlags): Promise<void> {
  const name = process.env["CHAOS_LAB"] ?? "chaos";
  const isOurs = Lab.find(name) === undefined;
  const lab = await Lab.up({ name, controlPlaneOnly: true, onProgress: printer(process.stderr) });
  const chosen = scenarios.filter(scenario => names?.includes(scenario.name) ?? true);
  const reports: CrashReport[] = [];
  const end = async (): Promise<void> => {
    if (isOurs) await lab.down();
  };
  try {
    const options = {
      pointsOf: everywhere(seed, atMost),
      quietMs: full ? FULL_QUIET_MS : QUIET_MS,
      print: console.log,
    };
    const play = async (rig: Rig): Promise<void> => {
      for (const scenario of chosen) reports.push(await crashEverywhere(rig, scenario, options));
    };
    await withRig(lab, play, end);
  } finally {
    if (reports.length > 0) console.log(render(reports));
    await end();
  }
  process.exitCode = reports.every(isAsPromised) ? 0 : 1;
}

/** Nothing of it outlives this, neither after a failure nor after an interrupt. */
async function withRig(lab: Lab, work: (rig: Rig) => Promise<void>, end: () => Promise<void>): Promise<void> {
  const rig = await Rig.up(lab);
  const onSignal = (): void =>
    void rig
      .down()
      .then(end)
      .finally(() => process.exit(130));
  for (const signal of SIGNALS) process.once(signal, onSignal);
  try {
    await work(rig);
  } catch (error) {
    rig.operator.complaints().forEach(line => console.error(`operator: ${line}`));
    throw error;
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
    await rig.down();
  }
}

function count(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 0) return number;
  throw new InvalidArgumentError("expected a whole number");
}

const list = scenarios.map(({ name, about }) => `  ${name.padEnd(20)}${about}`);

const program = new Command("npm run chaos --").description(
  "Put the operator to the test by faults. Exit code 1 if anything came of it that was not promised.",
);

program
  .command("crash", { isDefault: true })
  .description("end the operator before and after each single write of each scenario")
  .addOption(new Option("--scenario <names...>", "only these").choices(scenarios.map(({ name }) => name)))
  .option("--seed <number>", "decides the order of the crashes", count, 1)
  .option("--at-most <count>", "crashes of each scenario, chosen by the seed (default: all)", count)
  .option("--full", "leave the cluster alone for three minutes after each scenario, instead of half a minute")
  .addHelpText("after", `\nScenarios:\n${list.join("\n")}`)
  .action(crash);

program.parseAsync().catch((error: unknown) => {
  console.error(`chaos: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});
