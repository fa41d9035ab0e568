import { setTimeout as sleep } from "node:timers/promises";
import type { ControllerResilience } from "../../../src/api/controller-resilience";
import type { ClusterClient, Pod } from "../../cluster/client";
import type { Case } from "./stall-programs";

/** Each look is one process, however many programs are looked at. */
const LOOK_MS = 1_000;

/** What was seen of one case, in milliseconds since its act, or before that since its start. */
export interface Seen {
  actedMs: number;
  toldMs?: number;
  told?: string;
  restartedMs?: number;
  worksMs?: number;
  outcome?: string;
  /** Accusations that nothing justifies. */
  readonly wrong: string[];
}

/** What to watch, and until when. */
interface Watched {
  readonly client: ClusterClient;
  readonly cases: readonly (readonly [string, Case])[];
  readonly seen: ReadonlyMap<string, Seen>;
  readonly endMs: number;
  readonly print: (line: string) => void;
}

/** Looks at the objects of all cases until the end, and notes what is said of each. */
export async function watch({ client, cases, seen, endMs, print }: Watched): Promise<void> {
  while (performance.now() < endMs) {
    await sleep(LOOK_MS);
    for (const looked of await look(client)) {
      const { namespace: place } = looked.object.metadata;
      const [name, one] = cases.find(([namespace]) => namespace === place) ?? [];
      if (name === undefined || one === undefined) continue;
      const state = seen.get(name)!;
      const ms = performance.now() - state.actedMs;
      for (const line of note(state, one, looked, ms)) print(`${time(ms)} ${name}: ${line}`);
      if (state.restartedMs !== undefined && state.worksMs === undefined && (await isDone(client, name, one)))
        state.worksMs = ms;
    }
  }
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

/** What the two remedies accuse. */
function accusationsOf({ object }: Looked): { readonly reason: string; readonly message: string }[] {
  const types = ["ControllersActive", "TokensAccepted"];
  return object.status?.conditions?.filter(one => one.status === "False" && types.includes(one.type)) ?? [];
}

/**
 * A ServiceAccount is missing for a moment while it is recreated, and a program that has exited three times has lost its Lease as often: the API
 * server goes away twice.
 */
function isTrue(reason: string, { exits }: Looked): boolean {
  return reason === "ServiceAccountMissing" || (reason === "LeadershipLost" && exits >= 3);
}

/** Takes one look. Returns what is new. */
function note(seen: Seen, { told, beside }: Case, looked: Looked, ms: number): string[] {
  const news = accusationsOf(looked).flatMap(({ reason, message }) => {
    const line = `${reason}: ${message}`;
    if (told?.test(line) === true) {
      if (seen.told !== undefined) return [];
      Object.assign(seen, { told: `${reason}${sinceFirst(message)}`, toldMs: ms });
      return [line];
    }
    if (beside?.test(line) === true || isTrue(reason, looked)) return [];
    if (seen.wrong.some(one => one.startsWith(reason))) return [];
    seen.wrong.push(line);
    return [line];
  });
  const [restart] = looked.object.status?.restarts ?? [];
  if (restart === undefined || restart.outcome === seen.outcome) return news;
  seen.restartedMs ??= ms;
  seen.outcome = restart.outcome;
  return [...news, `restart ${restart.outcome}`];
}

/** Seconds from the first 401, if the message names it. */
function sinceFirst(message: string): string {
  const [, since] = /401 responses since (\S+?Z)/.exec(message) ?? [];
  return since === undefined ? "" : `, ${time(Date.now() - Date.parse(since))} after the first 401`;
}

/** Reports whether nothing is due any longer. */
async function isDone(client: ClusterClient, namespace: string, { entry }: Case): Promise<boolean> {
  interface Item {
    readonly metadata: { readonly generation: number };
    readonly status?: { readonly observedGeneration?: number };
  }
  if (entry === undefined) return true;
  const { kind, apiVersion = "source.toolkit.fluxcd.io/v1" } = entry(namespace) as {
    kind: string;
    apiVersion?: string;
  };
  const resource = `${kind.toLowerCase()}.${apiVersion.split("/").reverse().join(".")}`;
  const list = client.json<{ items: Item[] }>(["get", resource, "-n", namespace]).catch(() => undefined);
  return (await list)?.items.every(one => one.status?.observedGeneration === one.metadata.generation) === true;
}

/** What stallDetection said of one case. */
export interface Row {
  readonly text: string;
  /** An innocent that is accused, or a victim that is not found. */
  readonly isWrong: boolean;
}

/** The result of one case. */
export function rowOf(name: string, one: Case, seen: Seen): Row {
  const { toldMs, told = "", restartedMs, worksMs, outcome = "" } = seen;
  const faults = faultsOf(one, seen);
  const cell = (ms: number | undefined, more = ""): string => (ms === undefined ? "" : `${time(ms)} ${more}`.trim());
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

/** Seconds, or minutes if they are many. */
const time = (ms: number): string =>
  ms < 300_000 ? `${(ms / 1_000).toFixed(0)} s` : `${(ms / 60_000).toFixed(1)} min`;
