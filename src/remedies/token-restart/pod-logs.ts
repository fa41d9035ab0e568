import type { Persistence } from "../../logs/persistence";
import type { LogFinding } from "../../logs/reading/watched-log";
import { SEVERITY, type ObservedPod } from "./observed";

type PodLogs = Pick<ObservedPod, "logs" | "readMs" | "isNew" | "firstLineMs" | "quiet" | "unreadable">;

/** What the logs of a pod's containers say together: the worst state, and what all of them allow to say. Pure. */
export function summarizeLogs(findings: readonly LogFinding[]): PodLogs {
  const readMs = Math.min(...findings.map(one => one.readMs ?? -Infinity));
  const quietTimes = findings.map(({ quiet }) => quiet).filter(({ untilMs }) => untilMs > 0);
  const firstLines = quietTimes.map(({ fromMs }) => fromMs);
  const lastLines = quietTimes.map(({ untilMs }) => untilMs);
  return {
    logs: worst(findings),
    ...(Number.isFinite(readMs) ? { readMs } : {}),
    ...(findings.some(({ isNew }) => isNew) ? { isNew: true } : {}),
    ...(firstLines.length > 0 ? { firstLineMs: Math.min(...firstLines) } : {}),
    ...(firstLines.length > 0 ? { quiet: { fromMs: Math.max(...firstLines), untilMs: Math.min(...lastLines) } } : {}),
    unreadable: findings.length === 0 || findings.some(({ error }) => error !== undefined),
  };
}

function worst(containers: readonly LogFinding[]): Persistence {
  const rank = ({ state, isFresh }: Persistence): number => 2 * SEVERITY[state] + Number(isFresh === true);
  const quiet: Persistence = { state: "quiet", occasions: 0 };
  return containers.map(({ persistence }) => persistence).reduce((a, b) => (rank(b) > rank(a) ? b : a), quiet);
}
