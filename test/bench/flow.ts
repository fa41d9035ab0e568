import { formatTable } from "../../src/cli/kubectl/terminal";
import { flowLab, FlowScene, type Phase, QUARANTINE, SHARED } from "./flow-scene";
import { median } from "./median";

const ROUNDS = 5;
const SECONDS = 8;
/** The maximum wait of a request in the quarantine, so that every connection of the flood is refused once. */
const QUARANTINE_SECONDS = 15;

/** In the order of the phases of a round. */
const PHASES = ["alone", "flooded", "isolated", "quarantine", "alone again"] as const;

type Round = Readonly<Record<(typeof PHASES)[number], Phase>>;

/** Measures the effect of a flood without backoff on other clients: without isolation, on its own level, and in the quarantine. */
export async function benchFlow(print: (line: string) => void): Promise<void> {
  const lab = await flowLab(print);
  try {
    const scene = await FlowScene.start(lab);
    const rounds: Round[] = [];
    try {
      for (let i = 1; i <= ROUNDS; i++) {
        const round = await play(scene);
        rounds.push(round);
        print(`round ${i} of ${ROUNDS}: ${PHASES.map(name => `${name} ${inWords(round[name])}`).join(", ")}`);
      }
    } finally {
      await scene.stop();
    }
    for (const line of tableOf(rounds).trimEnd().split("\n")) print(line);
    print(`medians of ${ROUNDS} rounds; "to alone": to the mean of the two phases without a flood in the same round`);
  } finally {
    await lab.down();
  }
}

async function play(scene: FlowScene): Promise<Round> {
  const alone = await scene.measure(SECONDS);
  await scene.breakOut();
  const flooded = await scene.measure(SECONDS);
  await scene.isolate(SHARED);
  const isolated = await scene.measure(SECONDS);
  // As the remedy does: it moves the flood, and its neighbours stay.
  await scene.isolate(QUARANTINE);
  const quarantine = await scene.measure(QUARANTINE_SECONDS);
  await scene.calm();
  await scene.mix();
  return { alone, flooded, isolated, quarantine, "alone again": await scene.measure(SECONDS) };
}

function inWords({ other, flood }: Phase): string {
  return `p99 ${other.p99Ms.toFixed(1)} ms beside ${flood.perSecond.toFixed(0)}/s`;
}

function tableOf(rounds: readonly Round[]): string {
  const head = [
    ...["", "p50 ms", "p99 ms", "p99 to alone", "requests/s", "requests/s to alone"],
    ...["neighbour's p99 ms", "flood's requests/s"],
  ];
  return formatTable([head, ...PHASES.map(name => [name, ...columnsOf(rounds, name)])]);
}

function columnsOf(rounds: readonly Round[], name: keyof Round): string[] {
  const figure = (of: (phase: Phase) => number): number => median(rounds.map(round => of(round[name])));
  const ratio = (of: (phase: Phase) => number): number =>
    median(rounds.map(round => of(round[name]) / ((of(round.alone) + of(round["alone again"])) / 2)));
  return [
    figure(({ other }) => other.p50Ms).toFixed(1),
    figure(({ other }) => other.p99Ms).toFixed(1),
    ratio(({ other }) => other.p99Ms).toFixed(2),
    figure(({ other }) => other.perSecond).toFixed(0),
    ratio(({ other }) => other.perSecond).toFixed(2),
    figure(({ neighbour }) => neighbour.p99Ms).toFixed(1),
    figure(({ flood }) => flood.perSecond).toFixed(0),
  ];
}
