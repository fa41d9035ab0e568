import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ClusterClient } from "../../cluster/client";
import { install, OPERATOR } from "../../cluster/installation";
import { Lab } from "../../lab";
import { bundleEntry } from "../../operator/bundle";
import { OperatorProcess } from "../../operator/process";
import { type Animal, ANIMALS } from "./animals";
import { HEALTHY } from "./deaths";
import { hasLease, type Images, loadImages, NAMESPACE, objectsOf } from "./programs";
import { measureStalls } from "./stalls";
import { View } from "./view";
import { accusation, type Row, rowOf, watch } from "./watch";

const FOR_MS = 60_000;

/** So many programs start at the same time, and may take so long. */
const TOGETHER = 9;
const START_MS = 180_000;

/** Long enough for the operator to see each Lease renewed four times. */
const LEARN_MS = 75_000;

/** How long the API server, or etcd, is away, and how long afterwards an accusation may still come. */
const AWAY_MS = 60_000;
const AFTERWARDS_MS = FOR_MS + 30_000;

type Print = (line: string) => void;

/**
 * Kills real programs in every way that applies, all at once, and prints what stallDetection found of each, and after how long. Then the API
 * server and etcd are away, one after the other, under those that are healthy. Then the same with work that is due while nothing moves, in
 * another lab (stalls.ts).
 *
 * @throws Error if an innocent is accused, or a victim is not found
 */
export async function benchZoo(print: Print): Promise<void> {
  const rows = [...(await inLab(measure, print)), ...(await inLab(measureStalls, print))];
  const wrong = rows.filter(({ isWrong }) => isWrong);
  print(`${rows.length} rows, ${wrong.length} wrong`);
  if (wrong.length > 0)
    throw new Error(`expected no false accusation and every victim found, got ${wrong.length} wrong`);
}

async function inLab(run: (lab: Lab, print: Print) => Promise<Row[]>, print: Print): Promise<Row[]> {
  const lab = await Lab.up({ name: "bench-zoo", onProgress: line => print(`lab: ${line}`) });
  try {
    return await run(lab, print);
  } finally {
    await lab.down();
  }
}

async function measure(lab: Lab, print: Print): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "zoo-"));
  const client = ClusterClient.of(lab);
  await install(client);
  await client.createNamespace(NAMESPACE);
  const images = await loadImages(lab, new Set(ANIMALS.map(({ program }) => program)));
  const zoo = { lab, client, view: new View(client), images, print, animals: chosen() };
  try {
    return await measureAll(zoo, await bundleEntry(folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureAll(zoo: Zoo, bundle: string): Promise<Row[]> {
  const { lab, client, view, animals, print } = zoo;
  const operator = await startOperator(lab, bundle);
  try {
    const running = await settle(zoo);
    const rows = await Promise.all(running.map(animal => watch(animal, client, view)));
    rows.push(...animals.filter(animal => !running.includes(animal)).map(notStarted));
    for (const { text } of rows) print(text);
    const healthy = running.filter(({ death }) => death === HEALTHY);
    const away = () => lab.restartApiServer({ awayMs: AWAY_MS });
    const outages = [
      await outage({ view, healthy, what: "API server away", come: away }),
      await outage({ view, healthy, what: "etcd suspended", come: () => lab.suspend("etcd", AWAY_MS) }),
    ];
    for (const { text } of outages) print(text);
    return [...rows, ...outages];
  } finally {
    await operator.stop();
  }
}

async function startOperator(lab: Lab, bundle: string): Promise<OperatorProcess> {
  const kubeconfig = await lab.serviceAccountKubeconfig(OPERATOR.namespace, OPERATOR.serviceAccount);
  const operator = OperatorProcess.start({ kubeconfig, bundle });
  await operator.ready();
  return operator;
}

/** ZOO is a pattern of the names of those that take part; by default all do. */
function chosen(): readonly Animal[] {
  const pattern = new RegExp(process.env["ZOO"] ?? "");
  return ANIMALS.filter(({ name }) => pattern.test(name));
}

interface Zoo {
  readonly lab: Lab;
  readonly client: ClusterClient;
  readonly view: View;
  readonly animals: readonly Animal[];
  readonly images: Partial<Images>;
  readonly print: Print;
}

/** Starts the programs, a few at a time, and waits until the operator has learned their Leases. Returns those that run. */
async function settle(zoo: Zoo): Promise<readonly Animal[]> {
  const { client, animals, images, print } = zoo;
  const running: Animal[] = [];
  for (let first = 0; first < animals.length; first += TOGETHER) {
    const some = animals.slice(first, first + TOGETHER);
    await client.apply(some.flatMap(({ program, name, variant }) => objectsOf(program, name, variant, images)));
    const failures = await Promise.allSettled(some.map(animal => start(animal, zoo)));
    for (const failure of failures) if (failure.status === "rejected") print(String(failure.reason));
    running.push(...some.filter((_, at) => failures[at]?.status === "fulfilled"));
  }
  print(`${running.length} of ${animals.length} programs run; their Leases are learned for ${LEARN_MS / 1_000} s`);
  await sleep(LEARN_MS);
  return running;
}

async function start({ name, program, evidence, variant }: Animal, { client, view }: Zoo): Promise<void> {
  await view.untilReady(name, { count: variant.replicas ?? 1, hasLease: hasLease(program) }, START_MS);
  await client.protect(NAMESPACE, name, {
    targets: [{ kind: variant.kind ?? "Deployment", name }],
    stallDetection: { for: `${FOR_MS / 1_000}s`, evidence },
  });
  const seen = await view.condition(name, ({ status }) => status === "True", START_MS);
  if (seen === undefined) throw new Error(`${name} was not active after ${START_MS / 1_000} s`);
}

function notStarted({ name, program, death }: Animal): Row {
  return { text: `| ${program} | ${death.what} | | ${name} DID NOT START |`, isWrong: true };
}

interface Outage {
  readonly view: View;
  readonly healthy: readonly Animal[];
  readonly what: string;
  readonly come: () => Promise<void>;
}

async function outage({ view, healthy, what, come }: Outage): Promise<Row> {
  const ended = come();
  const accusations = await Promise.all(healthy.map(({ name }) => accusation(name, view, AWAY_MS + AFTERWARDS_MS)));
  await ended;
  const accused = accusations.filter(one => one !== undefined);
  const head = `all ${healthy.length} healthy ones | ${what} for ${AWAY_MS / 1_000} s | all`;
  return rowOf(head, accused.length === 0 ? undefined : accused.join("; "), true);
}
