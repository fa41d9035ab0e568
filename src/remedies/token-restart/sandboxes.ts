import type { Readers } from "../../core/readers";
import type { PodView, WorkloadView } from "../../core/views";
import type { PersistenceRule } from "../../logs/persistence";
import { canBeAgent, failuresSince, type SandboxFailures, type SandboxTraces } from "../../logs/sandboxes";
import type { Problem } from "../../core/errors";
import { workloadId } from "../../core/text";
import { unlessUnreadable } from "../kit/problems";
import { describeAbandoned, describeAmbiguity, describeOneSided } from "./wording";

/** A pod that may be the CNI agent of its node. */
interface Agent {
  readonly pod: PodView;
  readonly workload: WorkloadView;
}

/** Evidence from sandbox Events about one object's pods. */
export interface SandboxFindings {
  /** Failures that the pod is the likely cause of; undefined: no statement is possible. */
  readonly failuresOf: (pod: PodView) => SandboxFailures | undefined;
  /** Sentences about nodes whose failures are held against no pod. */
  readonly doubtful: readonly string[];
}

/** A workload and its pods. */
interface WorkloadPods {
  readonly view: WorkloadView;
  readonly pods: readonly { readonly view: PodView }[];
}

/** What a search needs. Failed reads are added to `problems`. */
interface SandboxSearch {
  readonly readers: Pick<Readers, "clock" | "sandboxEvents">;
  readonly namespace: string;
  readonly rule: PersistenceRule;
  readonly traces: SandboxTraces;
  readonly problems: Problem[];
}

/** Where no Event is read. */
export const NO_FINDINGS: SandboxFindings = { failuresOf: () => undefined, doubtful: [] };

/**
 * Reads the Events if there is a pod that they can be attributed to. An Event does not name the agent that wrote the credential. So only
 * pods that can be an agent count, and on a node with pods of two such DaemonSets neither is blamed. Nor does the API server check who
 * writes an Event, only its namespace. So Events of one namespace, other than the object's own, restart nothing. Where the last agent is
 * gone, its configuration may still be on the node: a person has to know, and no pod is to blame.
 */
export async function findSandboxes(
  workloads: readonly WorkloadPods[],
  search: SandboxSearch,
): Promise<SandboxFindings> {
  const { readers, traces, rule } = search;
  const byNode = agentsByNode(workloads);
  const nodes = new Set([...byNode.keys(), ...traces.nodes(readers.clock.now().getTime())]);
  if (nodes.size === 0) return NO_FINDINGS;
  const events = await unlessUnreadable(() => readers.sandboxEvents(search.namespace), search.problems);
  if (events === undefined) return NO_FINDINGS;
  const nowMs = readers.clock.now().getTime();
  traces.take(events, rule.windowMs, nowMs);
  traces.seeAgents(
    [...byNode.values()].flat().map(({ pod }) => pod),
    nowMs,
  );
  const failures = new Map<string, SandboxFailures>();
  const doubtful: string[] = [];
  for (const node of nodes) {
    const agents = byNode.get(node) ?? [];
    const present = agents.map(({ workload }) => workload.uid);
    const uids = traces.workloadsOn(node, present, nowMs);
    const suspects = workloads.map(({ view }) => view).filter(({ uid }) => uids.has(uid));
    const context = { failures: traces.of(node), namespace: search.namespace, rule, nowMs };
    if (suspects.length === 1)
      for (const { pod } of agents) failures.set(pod.uid, failuresSince(traces.readySince([pod]), context));
    const since = failuresSince(traces.readySince(agents.map(({ pod }) => pod)), context);
    doubtful.push(...doubtsOf(node, since, { agents, suspects, isAbandoned: uids.size === 0 }));
  }
  return { failuresOf: pod => failures.get(pod.uid), doubtful };
}

/** What is said of failures on a node that are held against no pod. */
function doubtsOf(
  node: string,
  { state, onlyNamespace }: SandboxFailures,
  known: {
    readonly agents: readonly Agent[];
    readonly suspects: readonly WorkloadView[];
    readonly isAbandoned: boolean;
  },
): string[] {
  const { agents, suspects, isAbandoned } = known;
  if (state === "persistent" && isAbandoned) return [describeAbandoned(node)];
  if (state === "persistent" && suspects.length > 1)
    return [describeAmbiguity(node, suspects.map(view => workloadId(view)).toSorted())];
  const isSkipped = agents.every(({ pod, workload }) => pod.skip || workload.skip);
  return onlyNamespace === undefined || isSkipped ? [] : [describeOneSided(node, onlyNamespace)];
}

/** A DaemonSet's pods that may have written a credential on their node. Without hostNetwork a successor might not start there. */
function agentsByNode(workloads: readonly WorkloadPods[]): ReadonlyMap<string, readonly Agent[]> {
  const byNode = new Map<string, Agent[]>();
  for (const { view: workload, pods } of workloads.filter(({ view }) => view.kind === "DaemonSet")) {
    for (const { view: pod } of pods) {
      if (!canBeAgent(pod) || pod.hostNetwork !== true || pod.nodeName === undefined) continue;
      byNode.set(pod.nodeName, [...(byNode.get(pod.nodeName) ?? []), { pod, workload }]);
    }
  }
  return byNode;
}
