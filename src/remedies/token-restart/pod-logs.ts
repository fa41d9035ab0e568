import type { TokenRestartSpec } from "../../api/controller-resilience";
import type { PodMetricsTrack } from "../../core/pod-metrics";
import type { PodView, WorkloadView } from "../../core/views";
import { rejectedSince } from "../../evidence/metrics/judge";
import type { Persistence } from "../../logs/persistence";
import type { LogFinding, LogWatch, Watched } from "../../logs/reading/log-watch";
import { KUBELETS_401 } from "../../logs/traces";
import type { Problem } from "../../core/errors";
import { workloadId } from "../../core/text";
import { type ObservedPod, type Recreation, SEVERITY, type TokenProof } from "./observed";
import { weighLogs } from "./proof";

// Which logs of a pod are read, and what they say together. Pure.

/** A pod before its logs are read. */
export interface PodBeforeLogs {
  readonly view: PodView;
  readonly proof: TokenProof | undefined;
  readonly recreation: Recreation | undefined;
  readonly mayHoldOldToken: boolean;
  readonly notBeforeMs: number;
  readonly serviceAccount: ObservedPod["serviceAccount"];
  readonly watched: readonly Watched[];
  readonly isOperator: boolean;
}

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
export function observedPod(
  { watched, proof, recreation, ...pod }: PodBeforeLogs,
  logs: LogWatch,
  problems: Problem[],
): ObservedPod {
  const findings = watched.map(item => ({ ...logs.finding(item), name: item.container.name }));
  for (const { error, name } of findings) {
    if (error === undefined) continue;
    const message = `cannot read the log of container ${name} of pod ${pod.view.name}: ${error.message}`;
    problems.push({ forbidden: error.forbidden, message });
  }
  const sidecars = watched.filter(({ container: { role } }) => role === "sidecar").map(item => item.container.name);
  const quietTimes = findings
    .filter(({ name }) => !sidecars.includes(name))
    .map(({ quiet, topics }) => {
      // A log in which the kubelet's 401s go on is not quiet either, even where they are no evidence.
      const { quietFromMs = 0 } = topics.get(KUBELETS_401) ?? {};
      return { ...quiet, fromMs: Math.max(quiet.fromMs, quietFromMs) };
    });
  const known = {
    ...pod,
    ...(proof && { proof: weighLogs(proof, quietTimes) }),
    ...(recreation && { recreation }),
    isLogPartial: findings.some(({ isPartial }) => isPartial),
  };
  const byContainer = new Map(findings.map(finding => [finding.name, { ...known, ...summarizeLogs([finding]) }]));
  return { ...known, ...summarizeLogs(findings), byContainer };
}

/** Counts the 401s that the pod counts itself as those of its log, also where it logs nothing. `epochMs` is the start of the monotonic clock. */
export function withCounted401s(pod: ObservedPod, track: PodMetricsTrack, epochMs: number): ObservedPod {
  const sinceMs = rejectedSince(track);
  const { requests } = track;
  if (sinceMs === undefined || requests === undefined || pod.logs.state === "persistent") return pod;
  const { unauthorized, accepted, rejectedMs } = requests;
  const [firstMs, lastMs] = [epochMs + sinceMs, epochMs + Math.max(...rejectedMs)];
  const occasions = Math.floor(unauthorized.count);
  // It was accepted in between two readings, so the 401s did not begin before the first one.
  const began = accepted.hasChanged && { beganMs: firstMs };
  return { ...pod, logs: { state: "persistent", occasions, ...began, firstMs, lastMs, isFresh: true } };
}

type PodLogs = Pick<ObservedPod, "logs" | "readMs" | "isNew" | "firstLineMs" | "quiet" | "unreadable">;

/** What the logs of a pod's containers say together: the worst state, and what all of them allow to say. */
function summarizeLogs(findings: readonly LogFinding[]): PodLogs {
  const readMs = Math.min(...findings.map(one => one.readMs ?? -Infinity));
  const quietTimes = findings.map(({ quiet }) => quiet).filter(({ untilMs }) => untilMs > 0);
  const firstLines = quietTimes.map(({ fromMs }) => fromMs);
  const untilMs = Math.min(...quietTimes.map(quiet => quiet.untilMs));
  return {
    logs: worst(findings),
    ...(Number.isFinite(readMs) && { readMs }),
    ...(findings.some(({ isNew }) => isNew) && { isNew: true }),
    ...(firstLines.length > 0 && {
      firstLineMs: Math.min(...firstLines),
      quiet: { fromMs: Math.max(...firstLines), untilMs },
    }),
    unreadable: findings.length === 0 || findings.some(({ error }) => error !== undefined),
  };
}

function worst(containers: readonly LogFinding[]): Persistence {
  const rank = ({ state, isFresh }: Persistence): number => 2 * SEVERITY[state] + Number(isFresh === true);
  const quiet: Persistence = { state: "quiet", occasions: 0 };
  return containers.map(({ persistence }) => persistence).reduce((a, b) => (rank(b) > rank(a) ? b : a), quiet);
}
