import { ForbiddenError, publicMessage, TransientError } from "../../core/errors";
import type { Readers } from "../../core/readers";
import type { PodView, SandboxEventView, WorkloadView } from "../../core/views";
import { persistenceOf, type Persistence, type PersistenceRule, type UnauthorizedTrace } from "../../logs/persistence";
import { workloadId, type AmbiguousNode, type OneSidedNode, type Problem, type SandboxFailures } from "./observed";
import type { NodeFailures, SandboxTraces } from "./sandbox-traces";

/** A pod that may be the CNI agent of its node. */
interface Agent {
  readonly pod: PodView;
  readonly node: string;
  readonly workload: WorkloadView;
}

/** Evidence from sandbox Events about one object's pods. */
export interface SandboxFindings {
  /** Failures that the pod is the likely cause of; undefined: no statement is possible. */
  readonly failuresOf: (pod: PodView) => SandboxFailures | undefined;
  readonly ambiguousNodes: readonly AmbiguousNode[];
  readonly oneSidedNodes: readonly OneSidedNode[];
}

/** A workload and its pods. */
export interface WorkloadPods {
  readonly view: WorkloadView;
  readonly pods: readonly { readonly view: PodView }[];
}

/** What a search needs. Failed reads are added to `problems`. */
export interface SandboxSearch {
  readonly readers: Pick<Readers, "clock" | "sandboxEvents">;
  readonly namespace: string;
  readonly rule: PersistenceRule;
  readonly traces: SandboxTraces;
  readonly problems: Problem[];
}

const NO_FINDINGS: SandboxFindings = { failuresOf: () => undefined, ambiguousNodes: [], oneSidedNodes: [] };

/** Failures of pods of two namespaces confirm each other, if each namespace has this many. */
const CONFIRMING_OCCASIONS = 2;

/**
 * Reads the Events if there is a pod that they can be attributed to. An Event does not name the agent that wrote the credential. So only
 * pods that can be an agent count, and on a node with pods of two such DaemonSets neither is blamed. Nor does the API server check who
 * writes an Event, only its namespace. So Events of one namespace, other than the object's own, restart nothing.
 */
export async function findSandboxes(
  workloads: readonly WorkloadPods[],
  search: SandboxSearch,
): Promise<SandboxFindings> {
  const { readers, traces, rule } = search;
  const byNode = groupByNode(agentsOf(workloads));
  if (byNode.size === 0) return NO_FINDINGS;
  const events = await readEvents(search);
  if (events === undefined) return NO_FINDINGS;
  const nowMs = readers.clock.now().getTime();
  traces.take(events, rule.windowMs, nowMs);
  traces.keepNodes(new Set(byNode.keys()));
  const failures = new Map<string, SandboxFailures>();
  const ambiguousNodes: AmbiguousNode[] = [];
  const oneSidedNodes: OneSidedNode[] = [];
  for (const [node, agents] of byNode) {
    const present = agents.map(({ workload }) => workload.uid);
    const uids = traces.workloadsOn(node, present, nowMs);
    const suspects = workloads.map(({ view }) => view).filter(({ uid }) => uids.has(uid));
    const context = { failures: traces.of(node), namespace: search.namespace, rule, nowMs };
    const since = failuresSince(readySince(agents.map(({ pod }) => pod)), context);
    if (suspects.length === 1) {
      for (const { pod } of agents) failures.set(pod.uid, failuresSince(readySince([pod]), context));
    } else if (since.state === "persistent") {
      ambiguousNodes.push({ node, workloads: suspects.map(workload => workloadId(workload)).toSorted() });
    }
    const isSkipped = agents.every(({ pod, workload }) => pod.skip || workload.skip);
    if (since.onlyNamespace !== undefined && !isSkipped) oneSidedNodes.push({ node, namespace: since.onlyNamespace });
  }
  return { failuresOf: pod => failures.get(pod.uid), ambiguousNodes, oneSidedNodes };
}

/** Pods that may have written a credential on their node: a DaemonSet's pods with hostNetwork and a CNI folder of the host. */
function agentsOf(workloads: readonly WorkloadPods[]): Agent[] {
  return workloads
    .filter(({ view }) => view.kind === "DaemonSet")
    .flatMap(({ view: workload, pods }) =>
      pods.flatMap(({ view: pod }): Agent[] => {
        const { nodeName: node } = pod;
        const canBeAgent = pod.hostNetwork === true && pod.cniFolder === true;
        return canBeAgent && node !== undefined ? [{ pod, node, workload }] : [];
      }),
    );
}

function groupByNode(agents: readonly Agent[]): ReadonlyMap<string, readonly Agent[]> {
  const byNode = new Map<string, Agent[]>();
  for (const agent of agents) {
    const onNode = byNode.get(agent.node) ?? [];
    onNode.push(agent);
    byNode.set(agent.node, onNode);
  }
  return byNode;
}

/** Time since which all of the pods are Ready. A pod that is not Ready may be about to write its credential, so nothing counts yet. */
function readySince(pods: readonly PodView[]): number {
  return Math.max(...pods.map(pod => (pod.ready ? (pod.readySinceMs ?? pod.createdAtMs) : Infinity)));
}

interface Context {
  readonly failures: NodeFailures;
  /** Of the object, and so of its agents. Who may write Events there may as well delete the agents' pods. */
  readonly namespace: string;
  readonly rule: PersistenceRule;
  readonly nowMs: number;
}

/** Failures since a time. They are persistent only if pods of two namespaces fail, or those of the object's own. Pure. */
function failuresSince(sinceMs: number, context: Context): SandboxFailures {
  const { failures, namespace } = context;
  const all = stateSince(failures.all, sinceMs, context);
  const byNamespace = [...failures.byNamespace]
    .map(([name, trace]) => ({ name, state: stateSince(trace, sinceMs, context) }))
    .filter(({ state }) => state.state !== "quiet")
    .toSorted((a, b) => b.state.occasions - a.state.occasions);
  const own = byNamespace.find(({ name }) => name === namespace);
  const isOneSided = byNamespace.length === 1 && own === undefined ? { isOneSided: true } : {};
  const [first, second] = byNamespace;
  const isConfirmed = (second?.state.occasions ?? 0) >= CONFIRMING_OCCASIONS || own?.state.state === "persistent";
  if (all.state !== "persistent" || isConfirmed || first === undefined) return { ...all, ...isOneSided };
  return { ...all, ...isOneSided, state: "suspected", onlyNamespace: first.name };
}

/** Timestamps are whole seconds, so failures in the same second do not count. */
function stateSince(trace: UnauthorizedTrace, sinceMs: number, { rule, nowMs }: Context): Persistence {
  const occasions = trace.occasions.filter(({ startMs }) => startMs >= sinceMs + 1_000);
  return persistenceOf({ ...trace, occasions }, rule, nowMs);
}

/** Returns undefined and adds a problem when the Events cannot be read now. Other evidence is not affected. */
async function readEvents({
  readers,
  namespace,
  problems,
}: SandboxSearch): Promise<readonly SandboxEventView[] | undefined> {
  try {
    return await readers.sandboxEvents(namespace);
  } catch (error) {
    const forbidden = error instanceof ForbiddenError;
    if (!forbidden && !(error instanceof TransientError)) throw error;
    problems.push({ forbidden, message: publicMessage(error) });
    return undefined;
  }
}
