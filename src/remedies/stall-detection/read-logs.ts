import { parseDuration } from "../../core/duration";
import type { PodView } from "../../core/views";
import { hasLog, type Watched } from "../../logs/reading/watched-log";
import { findStalls } from "../../logs/stall-topics";
import { denialRule, type ContainerLog } from "./denials";
import type { Pass } from "./pass";

/** How far back the first read goes. */
const FIRST_READ_MS = 900_000;

/** Kinds of evidence that are in logs, or that logs confirm. */
const IN_LOGS: ReadonlySet<string> = new Set(["Lease", "Forbidden", "LeaderLoss"]);

/** Wants the logs of these pods to be read, and returns what was found in them by the uid of the pod. */
export async function readLogs(
  pods: readonly PodView[],
  { spec, readers, memory, problems }: Pass,
): Promise<ReadonlyMap<string, readonly ContainerLog[]>> {
  const rule = denialRule(parseDuration(spec.for));
  const isWanted = spec.evidence.some(one => IN_LOGS.has(one));
  const watched = isWanted ? pods.flatMap(watchedContainers) : [];
  await memory.logs.want(readers, watched, { windowMs: FIRST_READ_MS, find: findStalls, rule });
  const nowMs = readers.clock.now().getTime();
  const logs = watched.map((item): ContainerLog => {
    const { topics, searchedFromMs, persistence, error } = memory.logs.finding(item, rule, nowMs);
    if (error !== undefined && !problems.some(({ message }) => message === error.message)) problems.push(error);
    const has401 = persistence.state !== "quiet";
    return { ...item, topics, has401, ...(searchedFromMs === undefined ? {} : { searchedFromMs }) };
  });
  const byPod = new Map<string, ContainerLog[]>(pods.map(({ uid }) => [uid, []]));
  for (const log of logs) byPod.get(log.pod.uid)?.push(log);
  return byPod;
}

/** The API server answers 401 to a pod that is being deleted; that is expected. */
function watchedContainers(pod: PodView): Watched[] {
  if (pod.deletedAtMs !== undefined) return [];
  const containers = pod.containers.filter(container => container.role !== "init" && hasLog(container));
  return containers.map(container => ({ pod, container, suspicious: false }));
}
