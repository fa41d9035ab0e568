import type { Execution, LimitReason } from "./intent";

/** The names of limits in messages. */
const LIMITS: Readonly<Record<LimitReason, string>> = {
  Cooldown: "the cooldown",
  MaxRestarts: "maxRestarts",
  PassTime: "the time limit for the writes of one pass; the next pass continues",
  LeaderWarmup: "the new leader, which is still loading the restarts and rollouts of all namespaces",
  Breaker: "the restart breaker",
  OwnTrouble: "the operator's own trouble with the API server",
  UnprovenRestart: "another restart without proof, whose outcome is still open",
  Rollout: "the rollout of another DaemonSet",
  RestartPacer: "the operator's restart pace",
};

/** Returns the name of a limit for messages. */
export function nameOfLimit(limit: LimitReason): string {
  return LIMITS[limit];
}

/** Results of writes that are still pending, the most severe first. */
const PENDING = ["Forbidden", "Failed", "Blocked", "Limited", "Conflict"] as const;

/** Returns the writes that are still pending, the most severe outcome first. */
export function pendingWrites(executions: readonly Execution[]): Execution[] {
  return PENDING.flatMap(result => executions.filter(({ outcome }) => outcome.result === result));
}

/** Describes a pending write and its outcome, such as `evict Pod a: held back by the cooldown`. Contains no times, since each new message causes a write of status. */
export function describePending({ intent, outcome }: Execution): string {
  const { verb, target } = intent;
  return `${verb} ${target.kind} ${target.name}: ${describeOutcome({ outcome })}`;
}

/** Describes why a write is still pending. */
export function describeOutcome({ outcome }: Pick<Execution, "outcome">): string {
  if ("message" in outcome) return outcome.message;
  if (outcome.result !== "Limited") return outcome.result;
  return outcome.detail ?? `held back by ${nameOfLimit(outcome.limit)}`;
}
