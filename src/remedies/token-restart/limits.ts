import type { RestartStatus, TokenRestartSpec } from "../../api/controller-resilience";
import type { RestartClaim } from "../../core/intent";
import { type BudgetVerdict, checkRestartBudget, isAwaited, isOpen } from "../../core/restarts/budget";
import type { Assessment } from "./assessment";
import { candidatesOf, limitsOf, nextClaim, type WorkloadCase } from "./candidates";
import type { WorkloadFacts } from "./facts";
import { rolloutThatMissed } from "./outcomes";
import { count, describeShare, describeTime } from "./wording";

// The checks of budgets: what a restart that would help still has to wait for. Pure.

/** It was tried often enough. */
export function exhausted(given: WorkloadCase): Assessment | undefined {
  const { own, rejected, spec, history, isCooling } = given;
  if (rejected.length === 0 || isCooling || !isExhausted(given)) return undefined;
  const helped = history.some(({ outcome }) => outcome === "Recovered");
  const used = count(spec.maxRestarts, "restart");
  const success = helped ? `${used} did not cure it for good` : `${used} did not cure it`;
  const sentence = `${describeShare(own, rejected.length)}, and ${success}: find out why its requests are answered 401. A change of the spec allows further restarts, once the cooldown is over.`;
  return { status: "False", reason: "RestartsExhausted", sentence, isStalled: true };
}

/**
 * Used up at this generation, or by the budget now, or that many restarts in a row that did not help: with a cooldown that
 * doubles after each of these, they soon lie too far apart for the budget's window alone. What its own incident still waits for
 * is no failure yet (docs/adr/0005-count-restarts-by-incident.md).
 */
function isExhausted(given: WorkloadCase): boolean {
  const { facts, previous, history, spec, now } = given;
  if (previous?.exhaustedGeneration !== undefined && previous.exhaustedGeneration >= facts.generation) return true;
  const claim = nextClaim(given);
  if (claim === undefined) return false;
  const hasNoCooldown = { ...claim, limits: { ...claim.limits, cooldownMs: 0 } };
  // A rollout is the restart of every pod, whichever is the next by now.
  const isWaitedFor = (entry: RestartStatus): boolean =>
    spec.strategy === "RolloutRestart" ? isOpen(entry) : isAwaited(entry, claim);
  const told = history.filter(entry => !isWaitedFor(entry));
  const verdict = checkRestartBudget(told, hasNoCooldown, now);
  if (!verdict.allowed && verdict.limit === "MaxRestarts") return true;
  const memoryMs = claim.limits.maxRestartsWindowMs + claim.limits.cooldownMs * 2 ** spec.maxRestarts;
  const recent = history.filter(entry => now.getTime() - Date.parse(entry.time) < memoryMs).slice(-spec.maxRestarts);
  return recent.length === spec.maxRestarts && recent.every(entry => entry.outcome === "Ineffective");
}

/** The last rollout is over, and a condemned pod is as old as before. */
export function notReached(given: WorkloadCase): Assessment | undefined {
  if (given.spec.strategy !== "RolloutRestart" || given.isCooling) return undefined;
  const { own, rejected, history } = given;
  const missed = candidatesOf(given).find(({ pod }) => rolloutThatMissed(pod, own, history) !== undefined);
  if (missed === undefined) return undefined;
  const sentence = `${describeShare(own, rejected.length)}, and the last rollout did not replace pod ${missed.pod.name}: is its update strategy OnDelete, is there a partition, or is the rollout paused or stuck? A change of the spec allows another, once the cooldown is over.`;
  return { status: "False", reason: "RestartsExhausted", sentence, isStalled: true };
}

/** As many pods as allowed are down by our hand. */
export function tooManyDown({ own, rejected, history, spec }: WorkloadCase): Assessment | undefined {
  const isRollout = spec.strategy === "RolloutRestart";
  const down = downNow(own, history);
  // A rollout reaches every pod by itself: a second one would begin it anew in the middle of the cure.
  if (rejected.length === 0 || down.length < (isRollout ? 1 : spec.maxUnavailable)) return undefined;
  const until = isRollout
    ? "the restart that is under way is waited for"
    : `the next is restarted once the successor of ${down[0] ?? ""} is well (maxUnavailable ${spec.maxUnavailable})`;
  const sentence = `${describeShare(own, rejected.length)}; ${until}.`;
  return { status: "False", reason: "RestartDeferred", sentence, isProgressing: true };
}

/** Pods that are down by our hand: replaced by none that is known to be well, or still terminating. */
export function downNow(own: WorkloadFacts, history: readonly RestartStatus[]): string[] {
  const open = history.filter(entry => isOpen(entry));
  const ours = new Set(history.map(entry => entry.podUID));
  const terminating = own.pods.filter(({ pod }) => pod.deletedAtMs !== undefined && ours.has(pod.uid));
  const names = new Map(open.map(entry => [entry.podUID ?? entry.pod, entry.pod]));
  for (const { pod } of terminating) names.set(pod.uid, pod.name);
  return [...names.values()];
}

/** How long the cooldown goes on after the last of these restarts, without its doublings; in milliseconds. What can't be read was just now. */
export function coolingMs(history: readonly RestartStatus[], spec: TokenRestartSpec, now: Date): number {
  const { cooldownMs } = limitsOf(spec);
  const left = history.map(({ time }) => Date.parse(time) + cooldownMs - now.getTime());
  return Math.max(0, ...left.map(ms => (Number.isNaN(ms) ? cooldownMs : ms)));
}

/** The budget has the next restart wait. */
export function cooldown(given: WorkloadCase): Assessment | undefined {
  const claim = nextClaim(given);
  if (claim === undefined) return undefined;
  const verdict = budgetOf(given, claim);
  if (verdict.allowed) return undefined;
  const limit = verdict.limit === "Cooldown" ? "cooldown" : "maxRestarts";
  const time = describeTime(given.now.getTime() + verdict.retryAfterMs);
  const sentence = `${describeShare(given.own, given.rejected.length)}; the next restart is possible at ${time} (${limit}).`;
  const { retryAfterMs } = verdict;
  return { status: "False", reason: "RestartDeferred", sentence, isProgressing: true, retryAfterMs };
}

/** Of restarts that are forgiven the cooldown alone is left. */
function budgetOf({ history, spec, now, isCooling }: WorkloadCase, claim: RestartClaim): BudgetVerdict {
  if (!isCooling) return checkRestartBudget(history, claim, now);
  return { allowed: false, limit: "Cooldown", retryAfterMs: coolingMs(history, spec, now) };
}
