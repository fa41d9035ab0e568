import type { TokenRestartSpec } from "../../api/controller-resilience";
import type { PodMetricsTrack } from "../../core/pod-metrics";
import type { WorkloadView } from "../../core/views";
import { rejectedSince } from "../../evidence/metrics/judge";
import type { Persistence } from "../../logs/persistence";
import type { LogFinding, LogWatch, Watched } from "../../logs/reading/log-watch";
import { KUBELETS_401 } from "../../logs/traces";
import type { Problem } from "../../core/errors";
import { workloadId } from "../../core/text";
import { type ObservedPod, type PodLogs, SEVERITY } from "./observed";
import { weighLogs } from "./proof";

// Which logs of a pod are read, and what they say together. Pure.

/** A pod before its logs are read. */
export type PodBeforeLogs = Omit<ObservedPod, keyof PodLogs> & { readonly watched: readonly Watched[] };

/** A workload before the logs of its pods are read. */
export interface WorkloadBeforeLogs {
  readonly view: WorkloadView;
  readonly pods: readonly PodBeforeLogs[];
}

/** Container names of the spec that no pod of a workload has: without this problem, its logs would look quiet forever. */
export function unknownContainers(
  { containers }: TokenRestartSpec,
  workloads: readonly WorkloadBeforeLogs[],
): Problem[] {
  const present = workloads
    .map(({ view, pods }) => ({ view, names: new Set(pods.flatMap(pod => pod.view.containers.map(one => one.name))) }))
    .filter(({ names }) => names.size > 0);
  if (containers.length === 0 || present.length === 0) return [];
  const nowhere = containers.filter(name => !present.some(({ names }) => names.has(name)));
  const unwatched = present.filter(({ names }) => !containers.some(name => names.has(name)));
  return [
    ...nowhere.map(name => `no pod of the targets has container ${name} of spec.tokenRestart.containers`),
    ...(nowhere.length === containers.length
      ? []
      : unwatched.map(({ view }) => `no pod of ${workloadId(view)} has a container of spec.tokenRestart.containers`)),
  ].map(message => ({ forbidden: false, message }));
}

/** Adds what was found in the logs of a pod. Failed reads are added to `problems`. */
export function observedPod({ watched, ...pod }: PodBeforeLogs, logs: LogWatch, problems: Problem[]): ObservedPod {
  const findings = watched.map(item => ({ ...logs.finding(item), ...item }));
  for (const { error, container } of findings) {
    if (error === undefined) continue;
    const message = `cannot read the log of container ${container.name} of pod ${pod.view.name}: ${error.message}`;
    problems.push({ forbidden: error.forbidden, message });
  }
  const clients = findings.filter(({ container }) => container.role !== "sidecar");
  return {
    ...pod,
    ...summarizeLogs(findings),
    proof: pod.proof && weighLogs(pod.proof, clients.map(withKubelets401s)),
    isLogPartial: findings.some(({ isPartial }) => isPartial),
    byContainer: new Map(findings.map(finding => [finding.container.name, summarizeLogs([withKubelets401s(finding)])])),
  };
}

/** A log in which the kubelet's 401s go on is not quiet, even where they are no evidence. To a restart that no log led to, it is. */
function withKubelets401s(finding: LogFinding): LogFinding {
  const { quiet, topics } = finding;
  const { quietFromMs = 0 } = topics.get(KUBELETS_401) ?? {};
  return quietFromMs <= quiet.fromMs ? finding : { ...finding, quiet: { ...quiet, fromMs: quietFromMs } };
}

/** Counts the 401s that the pod counts itself as those of its log, also where it logs nothing. `epochMs` is the start of the monotonic clock. */
export function withCounted401s(pod: ObservedPod, track: PodMetricsTrack | undefined, epochMs: number): ObservedPod {
  const sinceMs = track && rejectedSince(track);
  if (track?.requests === undefined || sinceMs === undefined || pod.logs.state === "persistent") return pod;
  const { unauthorized, accepted, rejectedMs } = track.requests;
  const [firstMs, lastMs] = [epochMs + sinceMs, epochMs + Math.max(...rejectedMs)];
  const occasions = Math.floor(unauthorized.count);
  // It was accepted in between two readings, so the 401s did not begin before the first one.
  const began = accepted.hasChanged && { beganMs: firstMs };
  return { ...pod, logs: { state: "persistent", occasions, ...began, firstMs, lastMs, isFresh: true } };
}

/** What the logs of a pod's containers say together: the worst state, and what all of them allow to say. */
function summarizeLogs(findings: readonly LogFinding[]): PodLogs {
  const lines = findings.map(({ quiet }) => quiet).filter(({ untilMs }) => untilMs > 0);
  const firstLines = lines.map(({ fromMs }) => fromMs);
  const untilMs = Math.min(...lines.map(quiet => quiet.untilMs));
  const readMs = Math.min(...findings.map(one => one.readMs ?? -Infinity));
  return {
    logs: worst(findings.map(({ persistence }) => persistence)),
    readMs: Number.isFinite(readMs) ? readMs : undefined,
    isNew: findings.some(({ isNew }) => isNew),
    firstLineMs: lines.length > 0 ? Math.min(...firstLines) : undefined,
    quiet: lines.length > 0 ? { fromMs: Math.max(...firstLines), untilMs } : undefined,
    unreadable: findings.length === 0 || findings.some(({ error }) => error !== undefined),
  };
}

function worst(logs: readonly Persistence[]): Persistence {
  const rank = ({ state, isFresh }: Persistence): number => 2 * SEVERITY[state] + Number(isFresh === true);
  const quiet: Persistence = { state: "quiet", occasions: 0 };
  return logs.reduce((a, b) => (rank(b) > rank(a) ? b : a), quiet);
}
