import type { TargetStatus } from "../../api/controller-resilience";
import type { Assessment } from "./assessment";
import type { WorkloadCase } from "./candidates";
import { isRejected, isSuspected, type PodFacts } from "./facts";
import { describeTime } from "./wording";

/** What status says of the workload. */
export function targetStatus(given: WorkloadCase, assessment: Assessment): TargetStatus {
  const { kind, name } = given.own.workload;
  const seen = lastUnauthorized(given);
  const exhaustedGeneration = exhaustedSince(given, assessment);
  return {
    kind,
    name,
    pods: given.own.pods.length,
    rejectedPods: given.rejected.length,
    ...(seen === undefined ? {} : { lastUnauthorizedTime: seen }),
    ...(exhaustedGeneration === undefined ? {} : { exhaustedGeneration }),
  };
}

/** The earlier generation is kept as long as its restarts: the passes to come have to know that they are forgiven. */
function exhaustedSince(given: WorkloadCase, { reason }: Assessment): number | undefined {
  const { facts, previous, isCooling } = given;
  if (isCooling) return previous?.exhaustedGeneration;
  return reason === "RestartsExhausted" || wasUsedUp(given) ? facts.generation : undefined;
}

/** Remembered until all logs were read and found quiet: that nobody looked is no cure. */
function wasUsedUp({ own, previous, facts, spec }: WorkloadCase): boolean {
  if (!((previous?.exhaustedGeneration ?? -Infinity) >= facts.generation)) return false;
  const present = own.pods.filter(({ pod }) => pod.deletedAtMs === undefined);
  const isRead = (pod: PodFacts): boolean => pod.readMs !== undefined && !pod.unreadable;
  const isQuiet = (pod: PodFacts): boolean => !isRejected(pod) && pod.verdict.state === "quiet" && !isSuspected(pod);
  const readsLogs = spec.evidence.includes("Logs");
  return present.length === 0 || !present.every(pod => isQuiet(pod) && (isRead(pod) || !readsLogs));
}

/** Not moved on for every line: each change of status is a write. */
function lastUnauthorized({ own, previous }: WorkloadCase): string | undefined {
  const lastMs = Math.max(
    ...own.pods.flatMap(({ verdict, sandbox }) => [verdict.lastMs ?? -Infinity, sandbox?.lastMs ?? -Infinity]),
  );
  const before = previous?.lastUnauthorizedTime;
  const isNew = before === undefined || !(lastMs - Date.parse(before) < LAST_TIME_GRAIN_MS);
  return isNew ? (describeTime(lastMs) ?? before) : before;
}

const LAST_TIME_GRAIN_MS = 60_000;
