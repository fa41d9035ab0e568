import type { Execution, LimitReason } from "./intent";

/** What people call a limit. */
const LIMITS: Readonly<Record<LimitReason, string>> = {
  Cooldown: "the cooldown",
  MaxRestarts: "maxRestarts",
  PassTime: "the time that one pass may take for its writes; the next one goes on",
  LeaderWarmup: "what a new leader has to hear first from all objects of the namespace",
  RestartPacer: "the operator's pace of restarts",
};

/** What held an intent back, for people. */
export function nameOfLimit(limit: LimitReason): string {
  return LIMITS[limit];
}

/** The order in which it is worth telling what stands in the way; the other outcomes stand in nobody's. */
const OBSTACLES = ["Forbidden", "Failed", "Blocked", "Limited", "Conflict"] as const;

/** What was not carried out because something stood in the way, the gravest first. */
export function undone(executions: readonly Execution[]): Execution[] {
  return OBSTACLES.flatMap(result => executions.filter(({ outcome }) => outcome.result === result));
}

/** What was not done, and why. Without times: a message that changes with every pass would make every pass write status. */
export function describeUndone({ intent, outcome }: Execution): string {
  const { verb, target } = intent;
  return `${verb} ${target.kind} ${target.name}: ${describeObstacle({ outcome })}`;
}

/** Why it was not done. */
export function describeObstacle({ outcome }: Pick<Execution, "outcome">): string {
  if ("message" in outcome) return outcome.message;
  return outcome.result === "Limited" ? `held back by ${nameOfLimit(outcome.limit)}` : outcome.result;
}
