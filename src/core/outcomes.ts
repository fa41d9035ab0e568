import type { Execution, LimitReason } from "./intent";

/** The names of limits in messages. */
const LIMITS: Readonly<Record<LimitReason, string>> = {
  Cooldown: "the cooldown",
  MaxRestarts: "maxRestarts",
  PassTime: "the time limit for the writes of one pass; the next pass continues",
  LeaderWarmup: "the new leader, which is still loading restart history for this namespace",
  RestartPacer: "the operator's restart pace",
};

/** Returns the name of a limit for messages. */
export function nameOfLimit(limit: LimitReason): string {
  return LIMITS[limit];
}

/** Outcomes of writes that were not done, the most severe first. */
const BLOCKERS = ["Forbidden", "Failed", "Blocked", "Limited", "Conflict"] as const;

/** Returns the writes that were not done, the most severe outcome first. */
export function undone(executions: readonly Execution[]): Execution[] {
  return BLOCKERS.flatMap(result => executions.filter(({ outcome }) => outcome.result === result));
}

/** Describes a write that was not done, and why. Contains no times, since each new message causes a write of status. */
export function describeUndone({ intent, outcome }: Execution): string {
  const { verb, target } = intent;
  return `${verb} ${target.kind} ${target.name}: ${describeObstacle({ outcome })}`;
}

/** Describes why a write was not done. */
export function describeObstacle({ outcome }: Pick<Execution, "outcome">): string {
  if ("message" in outcome) return outcome.message;
  return outcome.result === "Limited" ? `held back by ${nameOfLimit(outcome.limit)}` : outcome.result;
}
