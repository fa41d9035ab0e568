import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { installChart } from "../../cluster/chart";
import { ClusterClient } from "../../cluster/client";
import { OPERATOR } from "../../cluster/installation";
import { SOURCE_CONTROLLER } from "../../gitops/programs";
import { Lab } from "../../lab";
import { NODE_ADDRESS } from "../../lab/addresses";
import { foldersOf } from "../../lab/folders";
import { builtPath } from "../../lab/go-build";
import { recordOf, start } from "../../lab/processes";
import { inside } from "../../lab/sandbox";
import { readState } from "../../lab/state";
import { bundleEntry, bundleProgram } from "../../operator/bundle";
import { upstreamOf } from "../../rig/proxy";
import { breakIt } from "../../simulation/pool";
import { CASES } from "./stall-cases";
import {
  type Case,
  IMAGES,
  KOPF_ROLE,
  LATE_PROXY_PORT,
  NAME,
  PROGRESS_ROLE,
  PROXY_PORT,
  REPOSITORY_PORT,
  UNBOUND,
  widgetKind,
} from "./stall-programs";
import { type Row, rowOf, type Seen, watch } from "./watch";

/** How long the cases are watched, and when the operator and the API server restart, in milliseconds. */
interface Pace {
  readonly watchMs: number;
  readonly operatorMs: readonly number[];
  readonly apiServerMs: readonly number[];
}

const at = (...minutes: readonly number[]): number[] => minutes.map(one => one * 60_000);
const SHORT: Pace = { watchMs: 28 * 60_000, operatorMs: at(25.5), apiServerMs: [] };

/** For those only of which nothing may be said. */
const HOUR: Pace = { watchMs: 60 * 60_000, operatorMs: at(1, 20, 40), apiServerMs: at(8, 45) };

/** So many programs start at the same time, and may take so long. */
const TOGETHER = 20;
const START_MS = 360_000;

/** Long enough for the operator to see each Lease renewed four times, and each object without work. */
const LEARN_MS = 140_000;

/** When the watches of the idle program are held: client-go opens one again after 5 to 10 minutes, which must have been seen. */
const LATE_MS = 6 * 60_000;

/** When the Helm repositories that were silent answer. */
const ANSWER_MS = 12 * 60_000;

/** When the API server, and then etcd, are away, and for how long. By then the victims have been healed, of which one is restarted at a time. */
const OUTAGES_MS = 22 * 60_000;
const AWAY_MS = 60_000;

/** Between the acts: all at once, they would keep the API server busy until programs lost their Leases, which restarts them. */
const APART_MS = 3_000;

/** `WatchesDead` needs an hour of readings, and this operator five minutes, so that a run is short and the innocents are judged by it, too. */
const HURRIED = breakIt({
  ...{ name: "hurried", file: "src/evidence/metrics/judge.ts" },
  ...{ from: "WATCHED_MS = 3_600_000", to: "WATCHED_MS = 300_000" },
});

type Print = (line: string) => void;

/**
 * Starts real programs in one lab, each in a namespace of its own, lets them die or stall in every way that applies (stall-cases.ts), and prints
 * what stallDetection found of each, and after how long. Then the API server and etcd are away, and the operator restarts. Takes 40 minutes, more
 * on a busy machine. ZOO is a pattern of the names of those that take part; by default all do.
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
    const bundle = await bundleEntry(foldersOf(lab.name).folder, pace === HOUR ? [] : [HURRIED]);
    await installChart(lab, METRICS_VALUES, tell, bundle);
    const rows = await measure(lab, pace, tell);
    const wrong = rows.filter(({ isWrong }) => isWrong);
    for (const { text } of rows) print(text);
    print(`${rows.length} rows, ${wrong.length} wrong`);
    if (wrong.length > 0)
      throw new Error(`expected no false accusation and every victim found, got ${wrong.length} wrong`);
  } finally {
    await lab.down();
  }
}

/** What the chart needs for them. */
const METRICS_VALUES = [
  ...["--set-json", "metrics.ports=[8080,8443]", "--set-json", 'metrics.tokens=["metrics-reader"]'],
];

async function measure(lab: Lab, pace: Pace, print: Print): Promise<Row[]> {
  const pattern = new RegExp(process.env["ZOO"] ?? "");
  const client = ClusterClient.of(lab);
  const cases = Object.entries(CASES).filter(
    ([name, { told }]) => pattern.test(name) && (pace !== HOUR || told === undefined),
  );
  const seen = new Map(cases.map(([name]): [string, Seen] => [name, { wrong: [], actedMs: performance.now() }]));
  const stage = { lab, client, cases, seen, pace, print };
  const signal = await startSilentServer(lab);
  await startAll(stage);
  print(`${cases.length} programs run; all are learned for ${LEARN_MS / 1_000} s`);
  await sleep(LEARN_MS);
  const endMs = performance.now() + pace.watchMs;
  await Promise.all([watch({ ...stage, endMs }), ...actAll(stage, endMs), ...eventsOf(stage, signal)]);
  return cases.map(([name, one]) => rowOf(name, one, seen.get(name)!));
}

interface Stage {
  readonly lab: Lab;
  readonly client: ClusterClient;
  readonly cases: readonly (readonly [string, Case])[];
  readonly seen: ReadonlyMap<string, Seen>;
  readonly pace: Pace;
  readonly print: Print;
}

/** Starts the programs, with their kinds, rights and objects, some at a time. */
async function startAll(stage: Stage): Promise<void> {
  const { lab, client, cases, seen, print } = stage;
  await client.apply(ROLES);
  await client.output(["delete", "clusterrolebinding", "--ignore-not-found", ...UNBOUND]);
  const references = new Map<string, string>();
  for (const name of new Set(cases.map(([, { image }]) => image))) {
    const { reference, tar } = await IMAGES[name]();
    await lab.loadImage(tar);
    references.set(name, reference);
  }
  if (references.has("source")) await client.apply(readFileSync(SOURCE_KINDS, "utf8"));
  for (let first = 0; first < cases.length; first += TOGETHER)
    await Promise.all(
      cases.slice(first, first + TOGETHER).map(([name, one]) =>
        startOne(stage, name, one, references.get(one.image) ?? "").catch((error: unknown) => {
          seen.get(name)!.wrong.push(`DID NOT START: ${String(error)}`);
          print(`${name} did not start: ${String(error)}`);
        }),
      ),
    );
}

async function startOne({ client, pace }: Stage, namespace: string, one: Case, image: string): Promise<void> {
  await client.createNamespace(namespace);
  await client.apply([widgetKind(namespace)]);
  await client.untilServed([`crd/widgets.${namespace}.example.com`]);
  await client.apply(one.install(namespace, image));
  await client.readyPods(namespace, NAME, one.replicas);
  await protect(client, namespace, one, pace);
  await one.seed?.({ client, namespace, endMs: 0 });
  if (one.entry !== undefined) return;
  const condition = () => client.condition(namespace, NAME, "ControllersActive");
  await client.until("it to be active", async () => (await condition())?.status === "True", START_MS);
}

const SOURCE_KINDS = join(dirname(builtPath(SOURCE_CONTROLLER)), SOURCE_CONTROLLER.keep!.as);

const ROLES = [
  PROGRESS_ROLE,
  {
    ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "metrics-reader" } },
    rules: [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }],
  },
  {
    ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: KOPF_ROLE } },
    rules: [
      {
        apiGroups: ["", "apiextensions.k8s.io"],
        resources: ["namespaces", "customresourcedefinitions"],
        verbs: ["list", "watch"],
      },
    ],
  },
];

async function protect(client: ClusterClient, namespace: string, one: Case, pace: Pace): Promise<void> {
  const { entry, spec, remedies, told, heals = false, kind = "Deployment" } = one;
  // An innocent could be restarted.
  const onStall = told === undefined || heals ? "Restart" : "Report";
  const progress = entry === undefined ? [] : [entry(namespace)];
  await client.protect(namespace, NAME, {
    targets: [{ kind, name: NAME }],
    stallDetection: { onStall, progress, ...spec, ...(pace === HOUR ? { for: "5m" } : {}) },
    ...remedies,
  });
}

/** Starts silent-server.ts in the lab's network. Returns what sends it a signal. */
async function startSilentServer(lab: Lab): Promise<(name: NodeJS.Signals) => void> {
  const state = readState(lab.name)!;
  const folder = join(foldersOf(lab.name).folder, "silent-server");
  mkdirSync(folder, { recursive: true });
  const program = await bundleProgram("test/bench/zoo/silent-server.ts", join(folder, "program.cjs"));
  const upstream = join(folder, "upstream.json");
  writeFileSync(upstream, JSON.stringify(upstreamOf(lab)), { mode: 0o600 });
  const args = [upstream, NODE_ADDRESS, ...[REPOSITORY_PORT, PROXY_PORT, LATE_PROXY_PORT].map(String)];
  const argv = [...inside(state, "network"), process.execPath, program, ...args];
  await start(state, { name: "silent-server", argv, group: "" });
  return name => process.kill(recordOf(state, "silent-server")!.pid, name);
}

function actAll({ client, cases, seen }: Stage, endMs: number): Promise<void>[] {
  return cases.map(async ([namespace, one], order) => {
    await sleep(order * APART_MS);
    const state = seen.get(namespace)!;
    state.actedMs = performance.now();
    await one
      .act({ client, namespace, endMs })
      .catch((error: unknown) => state.wrong.push(`its act failed: ${String(error)}`));
  });
}

function eventsOf({ lab, client, pace, print }: Stage, signal: (name: NodeJS.Signals) => void): Promise<void>[] {
  signal("SIGUSR2");
  const after = async (ms: number, what: string, act: () => unknown): Promise<void> => {
    await sleep(ms);
    print(what);
    await act();
  };
  const pods = ["delete", "pods", "--all", "-n", OPERATOR.namespace, "--wait=false"];
  return [
    after(LATE_MS, "watches of the idle program are held", () => signal("SIGUSR2")),
    after(ANSWER_MS, "the repository answers", () => signal("SIGHUP")),
    after(OUTAGES_MS, "the API server is away, then etcd is suspended", async () => {
      await lab.restartApiServer({ awayMs: AWAY_MS });
      await lab.suspend("etcd", AWAY_MS);
    }),
    ...pace.operatorMs.map(ms => after(ms, "the operator restarts", () => client.output(pods))),
    ...pace.apiServerMs.map(ms => after(ms, "the API server restarts", () => lab.restartApiServer())),
  ];
}
