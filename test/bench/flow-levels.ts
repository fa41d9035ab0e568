import Table from "cli-table3";
import { expensivePath, FORBIDDEN_PATH } from "../flood/accounts";
import type { Lab } from "../lab";
import { flowLab, FlowScene, NAMESPACE, type Phase } from "./flow-scene";
import { type Level } from "./levels";
import { median } from "./median";

const ROUNDS = 3;
const SECONDS = 3;
const NAME = "bench-shared";

const plain = { lendablePercent: 0, borrowingLimitPercent: 0 } as const;

/** Candidates for the isolation level; docs/adr/0015-use-few-seats-and-long-queues.md explains them. */
const CANDIDATES: Readonly<Record<string, Level>> = {
  "20 shares, borrowing, 64/6 x 50": {
    shares: 20,
    lendablePercent: 50,
    borrowingLimitPercent: 25,
    queuing: { queues: 64, handSize: 6, queueLengthLimit: 50 },
  },
  "10 shares, 128/2 x 250": { ...plain, shares: 10, queuing: { queues: 128, handSize: 2, queueLengthLimit: 250 } },
  "5 shares, 64/6 x 50": { ...plain, shares: 5, queuing: { queues: 64, handSize: 6, queueLengthLimit: 50 } },
  "5 shares, 128/2 x 250": { ...plain, shares: 5, queuing: { queues: 128, handSize: 2, queueLengthLimit: 250 } },
  "5 shares, 128/1 x 250": { ...plain, shares: 5, queuing: { queues: 128, handSize: 1, queueLengthLimit: 250 } },
  "5 shares, 128/1 x 20": { ...plain, shares: 5, queuing: { queues: 128, handSize: 1, queueLengthLimit: 20 } },
  "5 shares, Reject": { ...plain, shares: 5 },
  "2 shares, 128/2 x 250": { ...plain, shares: 2, queuing: { queues: 128, handSize: 2, queueLengthLimit: 250 } },
  "1 share, 128/1 x 250": { ...plain, shares: 1, queuing: { queues: 128, handSize: 1, queueLengthLimit: 250 } },
};

/** Paths that a client without backoff requests: a cheap one, and an expensive one. */
const FLOODS = {
  "every answer a 403": FORBIDDEN_PATH,
  "every answer a LIST of 500 ConfigMaps": expensivePath(NAMESPACE),
} as const;

const ALONE = "alone";
const FLOODED = "flooded, not isolated";

type Row = readonly [name: string, phase: Phase];

/** Compares settings of the level on which custom controllers are isolated. */
export async function benchFlowLevels(print: (line: string) => void): Promise<void> {
  const lab = await flowLab(print);
  try {
    for (const [name, path] of Object.entries(FLOODS)) await compare(lab, name, path, print);
  } finally {
    await lab.down();
  }
}

async function compare(lab: Lab, flood: string, path: string, print: (line: string) => void): Promise<void> {
  const scene = await FlowScene.start(lab);
  const rounds: Row[][] = [];
  try {
    for (let i = 0; i < ROUNDS; i++) {
      rounds.push(await play(scene, path, i));
      print(`${flood}: round ${i + 1} of ${ROUNDS}`);
    }
  } finally {
    await scene.stop();
  }
  print(`${flood}; medians of ${ROUNDS} rounds, ratios to the mean of the phases without a flood in the same round:`);
  for (const line of tableOf(rounds).split("\n")) print(line);
}

/** Each round begins with another candidate, so that no candidate always follows the same ones. */
async function play(scene: FlowScene, path: string, round: number): Promise<Row[]> {
  const rows: Row[] = [[ALONE, await scene.measure(SECONDS)]];
  const note = async (name: string): Promise<unknown> => rows.push([name, await scene.measure(SECONDS)]);
  await scene.breakOut({ path });
  await note(FLOODED);
  const candidates = Object.entries(CANDIDATES);
  const turn = (round * 2) % candidates.length;
  for (const [name, level] of [...candidates.slice(turn), ...candidates.slice(0, turn)]) {
    await scene.isolate({ [NAME]: level }, NAME);
    await note(name);
  }
  await scene.calm();
  await scene.mix();
  await note(ALONE);
  return rows;
}

function tableOf(rounds: readonly Row[][]): string {
  const table = new Table({
    head: ["level", "p99 ms", "p99 to alone", "requests/s to alone", "neighbour's p99 ms", "flood's requests/s"],
    style: { head: [], border: [], compact: true },
  });
  for (const name of [ALONE, FLOODED, ...Object.keys(CANDIDATES)]) table.push([name, ...columnsOf(rounds, name)]);
  return table.toString();
}

function columnsOf(rounds: readonly Row[][], name: string): string[] {
  const figure = (of: (phase: Phase) => number): number => median(rounds.map(rows => mean(rows, name, of)));
  const ratio = (of: (phase: Phase) => number): number =>
    median(rounds.map(rows => mean(rows, name, of) / mean(rows, ALONE, of)));
  return [
    figure(({ other }) => other.p99Ms).toFixed(1),
    ratio(({ other }) => other.p99Ms).toFixed(1),
    ratio(({ other }) => other.perSecond).toFixed(3),
    figure(({ neighbour }) => neighbour.p99Ms).toFixed(1),
    figure(({ flood }) => flood.perSecond).toFixed(0),
  ];
}

function mean(rows: readonly Row[], name: string, of: (phase: Phase) => number): number {
  const values = rows.filter(([each]) => each === name).map(([, phase]) => of(phase));
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
