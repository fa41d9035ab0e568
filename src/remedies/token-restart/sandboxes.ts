import type { Problem } from "../../core/errors";
import type { Readers } from "../../core/readers";
import { workloadId } from "../../core/text";
import { groupBy, type PodView, type WorkloadView } from "../../core/views";
import type { PersistenceRule } from "../../logs/persistence";
import { canBeAgent, failuresSince, type SandboxFailures, type SandboxTraces } from "../../logs/sandboxes";
import { unlessUnreadable } from "../kit/problems";
import type { WorkloadBeforeLogs } from "./pod-logs";

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
  workloads: readonly WorkloadBeforeLogs[],
  { readers, namespace, rule, traces, problems }: SandboxSearch,
): Promise<SandboxFindings> {
  const agents = workloads.flatMap(agentsOf);
  const byNode = groupBy(agents, ({ pod }) => pod.nodeName ?? "");
  const nodes = new Set([...byNode.keys(), ...traces.nodes(readers.clock.now().getTime())]);
  if (nodes.size === 0) return NO_FINDINGS;
  const events = await unlessUnreadable(() => readers.sandboxEvents(namespace), problems);
  if (events === undefined) return NO_FINDINGS;
  const nowMs = readers.clock.now().getTime();
  traces.take(events, rule.windowMs, nowMs);
  traces.seeAgents(
    agents.map(({ pod }) => pod),
    nowMs,
  );
  const failures = new Map<string, SandboxFailures>();
  const doubtful: string[] = [];
  for (const node of nodes) {
    const here = byNode.get(node) ?? [];
    const since = (pods: readonly PodView[]): SandboxFailures =>
      failuresSince(traces.readySince(pods), { failures: traces.of(node), namespace, rule, nowMs });
    const present = here.map(({ workload }) => workload.uid);
    const uids = traces.workloadsOn(node, present, nowMs);
    const suspects = workloads.map(({ view }) => view).filter(({ uid }) => uids.has(uid));
    if (suspects.length === 1) for (const { pod } of here) failures.set(pod.uid, since([pod]));
    const all = since(here.map(({ pod }) => pod));
    doubtful.push(...doubtsOf(node, all, { suspects, isAbandoned: uids.size === 0, isSkipped: here.every(isSkipped) }));
  }
  return { failuresOf: pod => failures.get(pod.uid), doubtful };
}

/** A DaemonSet's pods that may have written a credential on their node. Without hostNetwork a successor might not start there. */
function agentsOf({ view: workload, pods }: WorkloadBeforeLogs): Agent[] {
  if (workload.kind !== "DaemonSet") return [];
  return pods
    .map(({ view: pod }) => ({ pod, workload }))
    .filter(({ pod }) => canBeAgent(pod) && pod.hostNetwork === true && pod.nodeName !== undefined);
}

function isSkipped({ pod, workload }: Agent): boolean {
  return pod.skip || workload.skip;
}

/** What is said of failures on a node that are held against no pod, and what a person can do. */
function doubtsOf(
  node: string,
  { state, onlyNamespace }: SandboxFailures,
  known: { readonly suspects: readonly WorkloadView[]; readonly isAbandoned: boolean; readonly isSkipped: boolean },
): string[] {
  const names = known.suspects.map(view => workloadId(view)).toSorted();
  if (state === "persistent" && known.isAbandoned)
    return [
      `Pods cannot start or end on node ${node}: the CNI credential gets 401 responses, and its agent is gone; no restart, because no pod of the targets runs there; let the agent run there again, or remove its configuration from /etc/cni/net.d of the node.`,
    ];
  if (state === "persistent" && names.length > 1)
    return [
      `Pods cannot start or end on node ${node}: the CNI credential of ${names.join(" or of ")} gets 401 responses; no restart while it is unknown which; create a separate ControllerResilience for each CNI agent.`,
    ];
  // Any client that may write Events in the namespace can make them up.
  if (onlyNamespace === undefined || known.isSkipped) return [];
  return [
    `Pods of namespace ${onlyNamespace} cannot start or end on node ${node}: the CNI credential gets 401 responses; no restart while the Events of only one namespace say so, because its editors can write them; check the CNI agent of the node, and delete its pod by hand if other pods fail.`,
  ];
}
