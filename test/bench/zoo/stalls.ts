import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ControllerResilience } from "../../../src/api/controller-resilience";
import { ClusterClient, type Pod } from "../../cluster/client";
import { OPERATOR } from "../../cluster/installation";
import { asyncioImage, fabric8Image, managerImage } from "../../controllers/images";
import { SOURCE_CONTROLLER } from "../../gitops/programs";
import type { Lab } from "../../lab";
import { NODE_ADDRESS } from "../../lab/addresses";
import { foldersOf } from "../../lab/folders";
import { builtPath } from "../../lab/go-build";
import { goImage, schedulerImage } from "../../lab/images";
import { recordOf, running, start } from "../../lab/processes";
import { inside } from "../../lab/sandbox";
import { readState } from "../../lab/state";
import { bundleProgram } from "../../operator/bundle";
import { upstreamOf } from "../../rig/proxy";
import { type Case, CASES } from "./stall-cases";
import {
  type Hands,
  type Images,
  KOPF_ROLE,
  LATE_PROXY_PORT,
  NAME,
  PROGRESS_ROLE,
  PROXY_PORT,
  REPOSITORY_PORT,
  UNBOUND,
  widgetKind,
} from "./stall-programs";
import type { Row } from "./watch";

// Work is due, and nothing moves: each case of stall-cases.ts in a namespace of its own, all at once.

/** How long the cases are watched, and when the operator and the API server restart, in milliseconds. */
export interface Pace {
  readonly watchMs: number;
  readonly operatorMs: readonly number[];
  readonly apiServerMs: readonly number[];
}

const at = (...minutes: readonly number[]): number[] => minutes.map(one => one * 60_000);
export const SHORT: Pace = { watchMs: 28 * 60_000, operatorMs: at(25.5), apiServerMs: [] };

/** For those only of which nothing may be said. */
export const HOUR: Pace = { watchMs: 60 * 60_000, operatorMs: at(1, 20, 40), apiServerMs: at(8, 45) };

/** When the watches of the idle program are held: client-go opens one again after 5 to 10 minutes, which must have been seen. */
const LATE_MS = 6 * 60_000;

/** Between the acts: all at once, they would keep the API server busy until programs lost their Leases, which restarts them. */
export const APART_MS = 3_000;

/** When the Helm repositories that were silent answer. */
const ANSWER_MS = 12 * 60_000;

const LOOK_MS = 5_000;

type Print = (line: string) => void;

/** What was seen of one case, in milliseconds since its act, or before that since its start. */
interface Seen {
  actedMs: number;
  toldMs?: number;
  told?: string;
  restartedMs?: number;
  worksMs?: number;
  outcome?: string;
  /** Accusations that nothing justifies. */
  readonly wrong: string[];
}

/** What the chart needs for them. */
export const METRICS_VALUES = [
  ...["--set-json", "metrics.ports=[8080,8443]", "--set-json", 'metrics.tokens=["metrics-reader"]'],
];

/** Starts the cases whose name fits, with their objects. Returns what watches them, once all is learned, and returns a row for each. */
export async function startStalls(lab: Lab, pattern: RegExp, pace: Pace, print: Print): Promise<() => Promise<Row[]>> {
  const client = ClusterClient.of(lab);
  const images = await loadImages(lab);
  await client.apply(readFileSync(join(dirname(builtPath(SOURCE_CONTROLLER)), SOURCE_CONTROLLER.keep!.as), "utf8"));
  await client.apply(ROLES);
  await client.output(["delete", "clusterrolebinding", "--ignore-not-found", ...UNBOUND]);
  const signal = await startSilentServer(lab);
  const cases = Object.entries(CASES).filter(
    ([name, { told }]) => pattern.test(name) && (pace !== HOUR || told === undefined),
  );
  const seen = new Map(cases.map(([name]): [string, Seen] => [name, { wrong: [], actedMs: performance.now() }]));
  for (const [name] of cases) await client.createNamespace(name);
  await client.apply(cases.map(([name]) => widgetKind(name)));
  for (const [name] of cases) await client.untilServed([`crd/widgets.${name}.example.com`]);
  await Promise.all(
    cases.map(async ([name, one]) => {
      try {
        await client.apply(one.install(name, images));
        await client.readyPods(name, NAME, one.replicas);
        await protect(client, name, one);
        await one.seed({ client, namespace: name, endMs: 0 });
      } catch (error) {
        seen.get(name)!.wrong.push(`DID NOT START: ${String(error)}`);
        print(`${name} did not start: ${String(error)}`);
      }
    }),
  );
  return () => watchAll({ client, cases, seen, signal, pace, print });
}

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

async function loadImages(lab: Lab): Promise<Images> {
  const all = {
    manager: await managerImage(),
    asyncio: await asyncioImage(),
    fabric8: await fabric8Image(),
    source: await goImage(SOURCE_CONTROLLER),
    scheduler: await schedulerImage(),
  };
  for (const { tar } of Object.values(all)) await lab.loadImage(tar);
  const references = Object.entries(all).map(([name, { reference }]) => [name, reference]);
  return Object.fromEntries(references) as Record<keyof typeof all, string>;
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
  if (running(state, "silent-server") === undefined) await start(state, { name: "silent-server", argv, group: "" });
  return name => process.kill(recordOf(state, "silent-server")!.pid, name);
}

async function protect(client: ClusterClient, namespace: string, one: Case): Promise<void> {
  const { entry, spec, remedies, told, heals = false } = one;
  // An innocent could be restarted.
  const onStall = told === undefined || heals ? "Restart" : "Report";
  await client.protect(namespace, NAME, {
    targets: [{ kind: "Deployment", name: NAME }],
    stallDetection: { onStall, progress: [entry(namespace)], ...spec },
    ...remedies,
  });
}

interface Matrix {
  readonly client: ClusterClient;
  readonly cases: readonly (readonly [string, Case])[];
  readonly seen: ReadonlyMap<string, Seen>;
  readonly signal: (name: NodeJS.Signals) => void;
  readonly pace: Pace;
  readonly print: Print;
}

async function watchAll({ client, cases, seen, signal, pace, print }: Matrix): Promise<Row[]> {
  const beganMs = performance.now();
  const endMs = beganMs + pace.watchMs;
  signal("SIGUSR2");
  const after = async (ms: number, what: string, act: () => unknown): Promise<void> => {
    await sleep(ms);
    print(what);
    await act();
  };
  const acts = cases.map(async ([namespace, one], order) => {
    const hands: Hands = { client, namespace, endMs };
    await sleep(order * APART_MS);
    seen.get(namespace)!.actedMs = performance.now();
    await one.act(hands).catch((error: unknown) => seen.get(namespace)!.wrong.push(`its act failed: ${String(error)}`));
  });
  const events = [
    after(LATE_MS, "watches of the idle program are held", () => signal("SIGUSR2")),
    after(ANSWER_MS, "the repository answers", () => signal("SIGHUP")),
    ...pace.operatorMs.map(ms =>
      after(ms, "the operator restarts", () =>
        client.output(["delete", "pods", "--all", "-n", OPERATOR.namespace, "--wait=false"]),
      ),
    ),
  ];
  while (performance.now() < endMs) {
    await sleep(LOOK_MS);
    for (const looked of await look(client)) {
      const { namespace: place } = looked.object.metadata;
      const [name, one] = cases.find(([namespace]) => namespace === place) ?? [];
      if (name === undefined || one === undefined) continue;
      const state = seen.get(name)!;
      const ms = performance.now() - state.actedMs;
      for (const line of note(state, one, looked, ms)) print(`${minutes(ms)} ${name}: ${line}`);
      if (state.restartedMs !== undefined && state.worksMs === undefined && (await isDone(client, name, one)))
        state.worksMs = ms;
    }
  }
  await Promise.all([...acts, ...events]);
  return cases.map(([name, one]) => rowOf(name, one, seen.get(name)!));
}

/** Nothing while the API server is away. */
async function look(client: ClusterClient): Promise<readonly Looked[]> {
  try {
    type Item = ControllerResilience & Pod & { kind: string };
    const { items } = await client.json<{ items: readonly Item[] }>(["get", "cres,pods", "--all-namespaces"]);
    const pods = items.filter(({ kind }) => kind === "Pod");
    return items.filter(({ kind }) => kind !== "Pod").map(object => ({ object, exits: exitsIn(object, pods) }));
  } catch {
    return [];
  }
}

/** An object, and how often containers of its namespace have exited. */
interface Looked {
  readonly object: ControllerResilience;
  readonly exits: number;
}

function exitsIn({ metadata }: ControllerResilience, pods: readonly (Pod & Pick<ControllerResilience, "metadata">)[]) {
  const own = pods.filter(pod => pod.metadata.namespace === metadata.namespace);
  return Math.max(0, ...own.flatMap(({ status }) => status.containerStatuses ?? []).map(one => one.restartCount));
}

/**
 * What the two remedies accuse. A ServiceAccount is missing for a moment while it is recreated, and a program that has exited three times has lost
 * its Lease as often: the API server goes away twice.
 */
function accusationsOf({ object, exits }: Looked): { readonly reason: string; readonly message: string }[] {
  const types = ["ControllersActive", "TokensAccepted"];
  const accusations =
    object.status?.conditions?.filter(one => one.status === "False" && types.includes(one.type)) ?? [];
  const isTrue = (reason: string): boolean =>
    reason === "ServiceAccountMissing" || (reason === "LeadershipLost" && exits >= 3);
  return accusations.filter(({ reason }) => !isTrue(reason));
}

/** Takes one look. Returns what is new. */
function note(seen: Seen, { told }: Case, looked: Looked, ms: number): string[] {
  const news = accusationsOf(looked).flatMap(({ reason, message }) => {
    const line = `${reason}: ${message}`;
    const isRight = told?.test(reason) === true;
    if (isRight ? seen.told !== undefined : seen.wrong.some(one => one.startsWith(reason))) return [];
    if (isRight) Object.assign(seen, { told: reason, toldMs: ms });
    else seen.wrong.push(line);
    return [line];
  });
  const [restart] = looked.object.status?.restarts ?? [];
  if (restart === undefined || restart.outcome === seen.outcome) return news;
  seen.restartedMs ??= ms;
  seen.outcome = restart.outcome;
  return [...news, `restart ${restart.outcome}`];
}

/** Reports whether nothing is due any longer. */
async function isDone(client: ClusterClient, namespace: string, { entry }: Case): Promise<boolean> {
  interface Item {
    readonly metadata: { readonly generation: number };
    readonly status?: { readonly observedGeneration?: number };
  }
  const { kind, apiVersion = "source.toolkit.fluxcd.io/v1" } = entry(namespace) as {
    kind: string;
    apiVersion?: string;
  };
  const resource = `${kind.toLowerCase()}.${apiVersion.split("/").reverse().join(".")}`;
  const text = await client.output(["get", resource, "-n", namespace, "-o", "json"]).catch(() => "");
  if (text === "") return false;
  const { items } = JSON.parse(text) as { items: Item[] };
  return items.every(({ metadata: { generation }, status }) => status?.observedGeneration === generation);
}

function rowOf(name: string, one: Case, seen: Seen): Row {
  const { toldMs, told = "", restartedMs, worksMs, outcome = "" } = seen;
  const faults = faultsOf(one, seen);
  const cell = (ms: number | undefined, more = ""): string => (ms === undefined ? "" : `${minutes(ms)} ${more}`.trim());
  const cells = [one.program, one.what, cell(toldMs, told), cell(restartedMs, outcome), cell(worksMs)];
  return { text: `| ${name} | ${cells.join(" | ")} | ${faults.join("; ")} |`, isWrong: faults.length > 0 };
}

function faultsOf({ told, heals = false }: Case, { toldMs, restartedMs, worksMs, wrong }: Seen): string[] {
  return [
    ...wrong.map(one => `FALSE: ${one}`),
    ...(told !== undefined && toldMs === undefined ? ["NOT TOLD"] : []),
    ...(told === undefined && restartedMs !== undefined ? ["RESTARTED"] : []),
    ...(heals && worksMs === undefined ? ["NOT HEALED"] : []),
  ];
}

const minutes = (ms: number): string => `${(ms / 60_000).toFixed(1)} min`;
