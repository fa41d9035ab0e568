import { ForbiddenError, publicMessage, TransientError } from "../../core/errors";
import type { Readers } from "../../core/readers";
import type { PodView, SandboxEventView, WorkloadView } from "../../core/views";
import { workloadId, type Problem, type UndecidedNode } from "./facts";
import { persistenceOf, type PersistenceRule, type UnauthorizedTrace, type Persistence } from "../../logs/persistence";
import type { SandboxTraces } from "./sandbox-traces";

/** A pod that may be the agent of a network plugin, and whose it is. */
interface Agent {
  readonly pod: PodView;
  readonly node: string;
  readonly workload: WorkloadView;
}

/** What Events of sandboxes say of one object's pods. */
export interface SandboxFindings {
  /** Against a pod; undefined if nothing can be told of it. */
  readonly verdictOf: (pod: PodView) => Persistence | undefined;
  /** Nodes where somebody is to blame, and nobody knows who. */
  readonly undecided: readonly UndecidedNode[];
}

/** The workloads of an object with their pods, as far as this evidence goes. */
export interface Gathered {
  readonly workload: WorkloadView;
  readonly candidates: readonly { readonly pod: PodView }[];
}

/** Where the Events come from, how they are judged, and where what can't be read is put down. */
export interface SandboxSearch {
  readonly from: Pick<Readers, "clock" | "sandboxEvents">;
  readonly namespace: string;
  readonly rule: PersistenceRule;
  readonly traces: SandboxTraces;
  readonly problems: Problem[];
}

const NOTHING: SandboxFindings = { verdictOf: () => undefined, undecided: [] };

/**
 * Reads the Events, if a pod is there that they could be held against. Which DaemonSet's agent is to blame they don't say; so only pods
 * are considered that can be one, and where two DaemonSets have such a pod, none of them.
 */
export async function findSandboxes(gathered: readonly Gathered[], search: SandboxSearch): Promise<SandboxFindings> {
  const { from, traces, rule } = search;
  const agents = agentsOf(gathered);
  if (agents.length === 0) return NOTHING;
  const events = await readEvents(search);
  if (events === undefined) return NOTHING;
  const nowMs = from.clock.now().getTime();
  traces.take(events, rule.windowMs, nowMs);
  const verdicts = new Map<string, Persistence>();
  const undecided: UndecidedNode[] = [];
  const byNode = groupByNode(agents);
  traces.keepNodes(new Set(byNode.keys()));
  for (const [node, own] of byNode) {
    const suspects = suspectsOn(node, { own, gathered, traces, nowMs });
    const by = { trace: traces.of(node), rule, nowMs };
    if (suspects.length === 1) for (const { pod } of own) verdicts.set(pod.uid, verdictSince(readySince([pod]), by));
    else if (verdictSince(readySince(own.map(({ pod }) => pod)), by).state === "persistent")
      undecided.push({ node, workloads: suspects.map(workload => workloadId(workload)).toSorted() });
  }
  return { verdictOf: pod => verdicts.get(pod.uid), undecided };
}

/** Pods that may have left a credential on their node: a DaemonSet's, in the node's network, with a folder of CNI's. */
function agentsOf(gathered: readonly Gathered[]): Agent[] {
  return gathered
    .filter(({ workload }) => workload.kind === "DaemonSet")
    .flatMap(({ workload, candidates }) =>
      candidates.flatMap(({ pod }): Agent[] => {
        const { nodeName: node } = pod;
        const canBe = pod.hostNetwork === true && pod.cniFolder === true;
        return canBe && node !== undefined ? [{ pod, node, workload }] : [];
      }),
    );
}

function groupByNode(agents: readonly Agent[]): ReadonlyMap<string, readonly Agent[]> {
  const byNode = new Map<string, Agent[]>();
  for (const agent of agents) {
    const own = byNode.get(agent.node) ?? [];
    own.push(agent);
    byNode.set(agent.node, own);
  }
  return byNode;
}

function suspectsOn(
  node: string,
  given: {
    readonly own: readonly Agent[];
    readonly gathered: readonly Gathered[];
    readonly traces: SandboxTraces;
    readonly nowMs: number;
  },
): WorkloadView[] {
  const present = given.own.map(({ workload }) => workload.uid);
  const met = given.traces.meet(node, present, given.nowMs);
  return given.gathered.map(({ workload }) => workload).filter(({ uid }) => met.has(uid));
}

/** Since when the last of them is Ready. One that is not may be about to write its credential, so nothing counts against it yet. */
function readySince(pods: readonly PodView[]): number {
  return Math.max(...pods.map(pod => (pod.ready ? (pod.readySinceMs ?? pod.createdAtMs) : Infinity)));
}

/** Whether sandboxes are persistently rejected since then. Seconds are whole, so what happened in the same one does not count. Pure. */
export function verdictSince(
  sinceMs: number,
  by: { readonly trace: UnauthorizedTrace; readonly rule: PersistenceRule; readonly nowMs: number },
): Persistence {
  const occasions = by.trace.occasions.filter(({ startMs }) => startMs >= sinceMs + 1_000);
  return persistenceOf({ ...by.trace, occasions }, by.rule, by.nowMs);
}

/** Undefined, and a problem, if they can't be read now: other evidence goes on. */
async function readEvents(search: SandboxSearch): Promise<readonly SandboxEventView[] | undefined> {
  try {
    return await search.from.sandboxEvents(search.namespace);
  } catch (error) {
    const forbidden = error instanceof ForbiddenError;
    if (!forbidden && !(error instanceof TransientError)) throw error;
    search.problems.push({ forbidden, message: publicMessage(error) });
    return undefined;
  }
}
