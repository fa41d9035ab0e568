import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { ClusterClient } from "../../cluster/client";
import { Lab } from "../../lab";
import { median } from "../median";
import { countByKind, parseAudit, within } from "../scale/requests";
import { pass, type Print } from "../scale/waiting";
import { roll } from "../zoo/acts";
import { NAME } from "../zoo/stall-programs";
import { CASES, IMAGES } from "./cases";
import { type Placed, type Tool, ToolProcess } from "./tool";
import { seconds, type Seen, Watcher } from "./watcher";

/** For so long a tool is measured while nothing is wrong, in seconds. */
const QUIET = 60;

/** A round ends when all victims work, but not before a tool that looks once a minute has looked twice at each; or when nothing happens. */
const SECOND_LOOK_MS = 65_000;
const LIMIT_MS = 120_000;

/** What was measured of one tool. */
interface Result {
  readonly name: string;
  readonly tool: Tool;
  readonly seen: readonly Seen[];
  /** Requests per minute, and processor time in percent of a core: quiet, and with victims. */
  readonly requests: readonly [number, number];
  readonly cpu: readonly [number, number];
  readonly peakMiB: number;
  readonly output: string;
}

interface Stage {
  readonly lab: Lab;
  readonly client: ClusterClient;
  readonly references: ReadonlyMap<string, string>;
  readonly print: Print;
}

/** Runs the cases once per tool, one tool after the other on one cluster, and prints a table of them. */
export async function runSilentDeaths(tools: Readonly<Record<string, Tool>>, print: Print): Promise<void> {
  const users = Object.values(tools).map(({ account }) => `system:serviceaccount:${account.namespace}:${account.name}`);
  const beganMs = performance.now();
  const tell = (line: string): void => print(`${seconds(performance.now() - beganMs).padStart(8)} ${line}`);
  const onProgress = (line: string, passing = false): void => {
    if (!passing) tell(`lab: ${line}`);
  };
  // Building takes the processors.
  for (const tool of Object.values(tools)) await tool.command(onProgress);
  const lab = await Lab.up({ name: "bench-silent-deaths", auditedUsers: users, onProgress });
  try {
    // The descheduler does nothing with one node.
    await lab.addKwokNodes(1);
    const stage = { lab, client: ClusterClient.of(lab), references: await loadImages(lab), print: tell };
    const results: Result[] = [];
    for (const [name, tool] of Object.entries(tools)) {
      const fail = (error: unknown): void => tell(`${name} failed: ${String(error)}`);
      await runRound(stage, name, tool).then(one => results.push(one), fail);
    }
    for (const line of tableOf(results)) print(line);
    print(`load average ${loadavg()[2]!.toFixed(1)}`);
  } finally {
    await lab.down();
  }
}

async function loadImages(lab: Lab): Promise<Map<string, string>> {
  const references = new Map<string, string>();
  for (const name of new Set(Object.values(CASES).map(({ image }) => image))) {
    const { reference, tar } = await IMAGES[name]();
    await lab.loadImage(tar);
    references.set(name, reference);
  }
  return references;
}

async function runRound(stage: Stage, name: string, tool: Tool): Promise<Result> {
  const { lab, client, print } = stage;
  print(`${name}: ${tool.how}`);
  const cases = Object.keys(CASES).map(one => ({ name: one, namespace: `${name}-${one}` }));
  await Promise.all(cases.map(one => startCase(stage, one)));
  await tool.install(client, cases);
  const running = await ToolProcess.start(tool, lab, name, print);
  const watcher = new Watcher(client, cases, () => running.sample(), print);
  try {
    await watcher.start();
    await pass(`${name} settles`, tool.settles ?? 15, print);
    running.mustRun();
    const quiet = await measure(stage, running, () => pass(`${name} is quiet`, QUIET, print));
    await rollNew(stage, watcher);
    const sick = await measure(stage, running, () => killAndWatch(stage, watcher));
    running.mustRun();
    const { peakMiB, output } = running;
    const requests = [quiet.requests, sick.requests] as const;
    const result: Result = { name, tool, seen: watcher.seen, requests, cpu: [quiet.cpu, sick.cpu], peakMiB, output };
    // A run that is interrupted later has shown it.
    print(FIGURES.map(([what, of]) => `${what}: ${of(result)}`).join("; "));
    return result;
  } finally {
    await watcher.stop();
    // While the tool runs, which may have finalizers.
    await client.kubectl(["delete", "namespace", "--timeout=45s", ...cases.map(({ namespace }) => namespace)]);
    await running.stop();
  }
}

async function startCase({ client, references }: Stage, { name, namespace }: Placed): Promise<void> {
  const { install, image, kind, work } = CASES[name]!;
  await client.createNamespace(namespace);
  if (kind !== undefined) {
    await client.apply([kind(namespace)]);
    await client.untilServed([`crd/widgets.${namespace}.example.com`]);
  }
  await client.apply(install(namespace, references.get(image)!));
  await client.readyPods(namespace, NAME);
  await work?.({ client, namespace, endMs: 0 });
}

/** Requests per minute and percent of a core of a tool while something takes its time. */
async function measure({ lab, print }: Stage, tool: ToolProcess, during: () => Promise<void>) {
  const [fromMs, fromSeconds] = [Date.now(), tool.sample()];
  await during();
  const [toMs, used] = [Date.now(), tool.sample() - fromSeconds];
  const requests = within(parseAudit(readFileSync(lab.auditLogPath, "utf8")), fromMs, toMs);
  const kinds = countByKind(requests).map(({ what, count }) => `${count} ${what}`);
  print(`requests in ${seconds(toMs - fromMs)}: ${kinds.slice(0, 8).join(", ")}`);
  return { requests: (60_000 * requests.length) / (toMs - fromMs), cpu: (100_000 * used) / (toMs - fromMs) };
}

/** Rolls out the cases that are new at the time of the deaths. */
async function rollNew({ client }: Stage, watcher: Watcher): Promise<void> {
  await watcher.stop();
  for (const { namespace } of watcher.seen.filter(({ one }) => one.isNew)) {
    await roll({ client, namespace, endMs: 0 });
    await client.readyPods(namespace, NAME);
  }
  await watcher.start();
}

async function killAndWatch({ client, print }: Stage, watcher: Watcher): Promise<void> {
  const victims = watcher.seen.filter(({ one }) => one.dies !== undefined);
  const startMs = performance.now();
  const acts = victims.map(async victim => {
    await sleep(1_000 * (victim.one.after ?? 0));
    victim.diedMs = performance.now();
    await victim.one.dies!({ client, namespace: victim.namespace, endMs: 0 });
  });
  print(`${victims.length} victims die`);
  for (;;) {
    await sleep(500);
    const nowMs = performance.now();
    const deaths = victims.map(({ diedMs = Infinity }) => diedMs);
    if (nowMs - startMs > LIMIT_MS) break;
    const isDone = victims.every(({ worksMs }) => worksMs !== undefined);
    if (nowMs - Math.max(...deaths, isDone ? 0 : watcher.lastMs) > SECOND_LOOK_MS) break;
  }
  await Promise.all(acts);
}

/** A row for each tool, then for each case what each tool did about it. */
function tableOf(results: readonly Result[]): string[] {
  const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rule = (cells: readonly string[]): string => row(cells.map(() => "---"));
  const names = ["", ...results.map(({ name }) => name)];
  const figures = FIGURES.map(([what, of]) => row([what, ...results.map(of)]));
  const cases = Object.entries(CASES).map(([name, { what }]) => {
    const cells = results.map(({ seen }) => inWords(seen.find(one => one.name === name)!));
    return row([what, ...cells]);
  });
  return [row(names), rule(names), ...figures, ...cases];
}

const FIGURES: readonly (readonly [string, (result: Result) => string])[] = [
  ["victims that work again", ({ seen }) => `${times(seen, "worksMs").length} of ${victimsOf(seen).length}`],
  ["dead tokens, median: removed / works again", ({ seen }) => medians(seen)],
  ["pods wrongly removed", ({ seen }) => `${seen.flatMap(({ wronged }) => wronged).length}`],
  ["accused: victims / innocents", accusedBy],
  ["requests/min, quiet / with victims", ({ requests }) => requests.map(one => one.toFixed(0)).join(" / ")],
  ["CPU, % of a core", ({ cpu }) => cpu.map(one => one.toFixed(2)).join(" / ")],
  ["memory, peak", ({ peakMiB }) => `${peakMiB.toFixed(0)} MiB`],
];

const victimsOf = (seen: readonly Seen[]): Seen[] => seen.filter(({ one }) => one.dies !== undefined);

/** After how many milliseconds, of those of which it was seen. */
function times(seen: readonly Seen[], what: "removedMs" | "worksMs"): number[] {
  return seen.flatMap(one => (one[what] === undefined ? [] : [one[what] - one.diedMs!]));
}

function medians(all: readonly Seen[]): string {
  const seen = all.filter(({ one }) => one.what.startsWith("dead token"));
  const [removed, works] = [times(seen, "removedMs"), times(seen, "worksMs")];
  if (removed.length === 0) return "never";
  return `${seconds(median(removed))} / ${works.length === 0 ? "never" : seconds(median(works))}`;
}

function accusedBy({ tool, seen, output }: Result): string {
  if (tool.accuses === undefined) return "";
  const accused = seen.filter(({ pod }) => tool.accuses!(output, pod));
  const victims = victimsOf(accused).length;
  return `${victims} / ${accused.length - victims}`;
}

function inWords({ diedMs, removedMs, worksMs, wronged }: Seen): string {
  const wrong = wronged.length === 0 ? [] : [`${wronged.length} WRONGLY REMOVED`];
  if (diedMs === undefined) return wrong.join();
  const after = (ms: number | undefined): string => (ms === undefined ? "never" : seconds(ms - diedMs));
  return [worksMs === undefined ? after(removedMs) : `${after(removedMs)} / ${after(worksMs)}`, ...wrong].join(", ");
}
