import type { Reason } from "../../api/conditions";
import type { Execution, Intent, Outcome } from "../../core/intent";
import type { Decision } from "../../core/legacy-remedy";
import type { Block } from "./facts";
import { SUSPICIOUS_INTERVAL_MS } from "../../logs/reading/read-schedule";
import { describeBlock, describeTime, IS_BEING, IS_TO_BE, isByBudget } from "./wording";

type Blocked = Extract<Outcome, { result: "Blocked" }>;

/** How outcomes change what was decided; the gravest has the word. Pure. */
export function concludeTokens(decision: Decision, carried: readonly Execution[], now: Date): Decision {
  const changes = carried.flatMap(item => changeOf(item, now) ?? []);
  if (changes.length === 0) return decision;
  const reason = ORDER.find(candidate => changes.some(change => change.reason === candidate)) ?? decision.reason;
  const first = changes.find(change => change.reason === reason);
  // What another workload's condition says may be graver than what became of this one's restart.
  const isOverruled = decision.reason === "RestartsExhausted" || decision.reason === "ServiceAccountMissing";
  const message = [planned(decision.message, carried), ...changes.map(change => change.sentence)].join(" ");
  return {
    ...decision,
    reason: isOverruled ? decision.reason : reason,
    message,
    progressing: reason !== "Forbidden",
    recheckAfterMs: SUSPICIOUS_INTERVAL_MS,
    ...(reason === "Forbidden" && first ? { stalled: { reason, message: first.sentence } } : {}),
  };
}

/** What was to be done, where it was not done: the sentences that follow say why. */
function planned(message: string, carried: readonly Execution[]): string {
  const isDone = carried.some(({ outcome }) => outcome.result === "Executed");
  return isDone ? message : message.replaceAll(IS_BEING, IS_TO_BE);
}

/** A restart that the API server refused, and until when; undefined if it did not. */
export function blockOf({ intent, outcome }: Execution, now: Date): Block | undefined {
  return outcome.result === "Blocked" ? refusalOf(intent, outcome, now) : undefined;
}

function refusalOf({ restart, target }: Intent, { message, retryAfterMs }: Blocked, now: Date): Block {
  return {
    podUID: restart?.podUID ?? "",
    pod: restart?.pod ?? target.name,
    untilMs: now.getTime() + retryAfterMs,
    byBudget: isByBudget(message),
  };
}

const ORDER: readonly Reason[] = ["Forbidden", "RestartBlocked", "RestartDeferred", "Rejected", "Restarting"];

interface Change {
  readonly reason: Reason;
  readonly sentence: string;
}

function changeOf({ intent, outcome }: Execution, now: Date): Change | undefined {
  const { kind, name } = intent.target;
  switch (outcome.result) {
    case "Executed":
      return { reason: "Restarting", sentence: "The successor is being watched." };
    case "Blocked":
      return { reason: "RestartBlocked", sentence: describeBlock(refusalOf(intent, outcome, now)) };
    case "Limited":
      return { reason: "RestartDeferred", sentence: describeLimit(outcome, now) };
    case "Forbidden":
      return {
        reason: "Forbidden",
        sentence: `To ${intent.verb} ${kind} ${name} is forbidden: ${outcome.message}.`,
      };
    case "Conflict":
    case "Failed":
      return { reason: "Rejected", sentence: `It did not work out and is tried again: ${outcome.message}.` };
    default:
      return undefined;
  }
}

/** The overall pace and a new leader free themselves within seconds, so they are told without a time that would change with every pass. */
function describeLimit(outcome: Extract<Outcome, { result: "Limited" }>, now: Date): string {
  if (outcome.limit === "RestartPacer")
    return "It waits for its turn, since the operator restarts one pod after the other.";
  if (outcome.limit === "LeaderWarmup")
    return "It waits until the operator, which has begun to lead, has heard from every ControllerResilience of the namespace.";
  if (outcome.limit === "PassTime") return "It waits for the next pass, since other writes took the time of this one.";
  const what = outcome.limit === "Cooldown" ? "cooldown" : "maxRestarts";
  return `It is held back by ${what} until ${describeTime(now.getTime() + outcome.retryAfterMs) ?? "later"}.`;
}
