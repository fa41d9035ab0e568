import { setTimeout as sleep } from "node:timers/promises";
import { installChart } from "../../cluster/chart";
import { ClusterClient } from "../../cluster/client";
import { Lab } from "../../lab";
import { foldersOf } from "../../lab/folders";
import { bundleEntry } from "../../operator/bundle";
import { breakIt } from "../../simulation/pool";
import { type Animal, ANIMALS } from "./animals";
import { HEALTHY } from "./deaths";
import { hasLease, type Images, loadImages, NAMESPACE, objectsOf } from "./programs";
import { APART_MS, HOUR, METRICS_VALUES, type Pace, SHORT, startStalls } from "./stalls";
import { View } from "./view";
import { accusation, type Row, rowOf, watch } from "./watch";

const FOR_MS = 60_000;

/** So many programs start at the same time, and may take so long. */
const TOGETHER = 9;
const START_MS = 360_000;

/** Long enough for the operator to see each Lease renewed four times, and each object without work. */
const LEARN_MS = 140_000;

/** When the API server, and then etcd, are away, and for how long. By then the victims have been healed, of which one is restarted at a time. */
const OUTAGES_MS = 22 * 60_000;
const AWAY_MS = 60_000;

/** `WatchesDead` needs an hour of readings, and this operator five minutes, so that a run is short and the innocents are judged by it, too. */
const HURRIED = breakIt({
  ...{ name: "hurried", file: "src/evidence/metrics/judge.ts" },
  ...{ from: "WATCHED_MS = 3_600_000", to: "WATCHED_MS = 300_000" },
});

type Print = (line: string) => void;

/**
 * Starts real programs in one lab, lets them die or stall in every way that applies (animals.ts, stall-cases.ts), all at once, and prints what
 * stallDetection found of each, and after how long. Then the API server and etcd are away, and the operator restarts. Takes 40 minutes, more on a
 * busy machine. ZOO is a pattern of the names of those that take part; by default all do.
 *
 * @throws Error if an innocent is accused, or a victim is not found
 */
export function benchZoo(print: Print): Promise<void> {
  return bench(SHORT, print);
}

/** Watches the innocents among them for an hour. @throws Error if one is accused */
export function benchHour(print: Print): Promise<void> {
  return bench(HOUR, print);
}

async function bench(pace: Pace, print: Print): Promise<void> {
  const beganMs = performance.now();
  const tell = (line: string): void =>
    print(`${((performance.now() - beganMs) / 60_000).toFixed(1).padStart(5)} ${line}`);
  const lab = await Lab.up({ name: "bench-zoo", onProgress: line => tell(`lab: ${line}`) });
  try {
    const folder = foldersOf(lab.name).folder;
    const rows = await measure(lab, await bundleEntry(folder, pace === HOUR ? [] : [HURRIED]), pace, tell);
    const wrong = rows.filter(({ isWrong }) => isWrong);
    for (const { text } of rows) print(text);
    print(`${rows.length} rows, ${wrong.length} wrong`);
    if (wrong.length > 0)
      throw new Error(`expected no false accusation and every victim found, got ${wrong.length} wrong`);
  } finally {
    await lab.down();
  }
}

async function measure(lab: Lab, bundle: string, pace: Pace, print: Print): Promise<Row[]> {
  const pattern = new RegExp(process.env["ZOO"] ?? "");
  const client = ClusterClient.of(lab);
  await installChart(lab, METRICS_VALUES, print, bundle);
  const watchStalls = await startStalls(lab, pattern, pace, print);
  await client.createNamespace(NAMESPACE);
  const animals = ANIMALS.filter(({ name, death }) => pattern.test(name) && (pace !== HOUR || death === HEALTHY));
  const images = await loadImages(lab, new Set(animals.map(({ program }) => program)));
  const zoo = { lab, pace, client, view: new View(client), images, print, animals };
  const running = await startAnimals(zoo);
  print(
    `${running.length} of ${animals.length} programs with their own death run; all are learned for ${LEARN_MS / 1_000} s`,
  );
  await sleep(LEARN_MS);
  const rows = await Promise.all([watchDeaths(running, zoo), outages(running, zoo), watchStalls()]);
  return [...animals.filter(animal => !running.includes(animal)).map(notStarted), ...rows.flat()];
}

interface Zoo {
  readonly lab: Lab;
  readonly pace: Pace;
  readonly client: ClusterClient;
  readonly view: View;
  readonly animals: readonly Animal[];
  readonly images: Partial<Images>;
  readonly print: Print;
}

/** Starts the programs, a few at a time. Returns those that run. */
async function startAnimals(zoo: Zoo): Promise<readonly Animal[]> {
  const { client, animals, images, print } = zoo;
  const running: Animal[] = [];
  for (let first = 0; first < animals.length; first += TOGETHER) {
    const some = animals.slice(first, first + TOGETHER);
    await client.apply(some.flatMap(({ program, name, variant }) => objectsOf(program, name, variant, images)));
    const failures = await Promise.allSettled(some.map(animal => start(animal, zoo)));
    for (const failure of failures) if (failure.status === "rejected") print(String(failure.reason));
    running.push(...some.filter((_, at) => failures[at]?.status === "fulfilled"));
  }
  return running;
}

async function start({ name, program, evidence, variant }: Animal, { client, pace, view }: Zoo): Promise<void> {
  await view.untilReady(name, { count: variant.replicas ?? 1, hasLease: hasLease(program) }, START_MS);
  await client.protect(NAMESPACE, name, {
    targets: [{ kind: variant.kind ?? "Deployment", name }],
    stallDetection: { for: pace === HOUR ? "5m" : `${FOR_MS / 1_000}s`, evidence },
  });
  const seen = await view.condition(name, ({ status }) => status === "True", START_MS);
  if (seen === undefined) throw new Error(`${name} was not active after ${START_MS / 1_000} s`);
}

function notStarted({ name, program, death }: Animal): Row {
  return { text: `| ${program} | ${death.what} | | ${name} DID NOT START |`, isWrong: true };
}

function watchDeaths(animals: readonly Animal[], { client, view, print }: Zoo): Promise<Row[]> {
  return Promise.all(
    animals.map(async (animal, order) => {
      await sleep(order * APART_MS);
      const row = await watch(animal, client, view);
      print(row.text);
      return row;
    }),
  );
}

/** Of what is healthy nothing may be said, whatever restarts and while the API server and etcd are away. */
async function outages(animals: readonly Animal[], { lab, pace, view, print }: Zoo): Promise<Row[]> {
  const healthy = animals.filter(({ death }) => death === HEALTHY);
  const watched = healthy.map(({ name }) => accusation(name, view, pace.watchMs));
  const restarts = pace.apiServerMs.map(async ms => {
    await sleep(ms);
    print("the API server restarts");
    await lab.restartApiServer();
  });
  await sleep(OUTAGES_MS);
  print("the API server is away, then etcd is suspended");
  await lab.restartApiServer({ awayMs: AWAY_MS });
  await lab.suspend("etcd", AWAY_MS);
  const accusations = await Promise.all(watched);
  await Promise.all(restarts);
  const accused = accusations.filter(one => one !== undefined);
  const head = `all ${healthy.length} healthy ones | API server away for ${AWAY_MS / 1_000} s, etcd suspended as long | all`;
  return [rowOf(head, accused.length === 0 ? undefined : accused.join("; "), true)];
}
