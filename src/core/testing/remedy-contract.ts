import { expect } from "vitest";
import { type Execution, type Intent, isPermitted, type Outcome, requiredPermission } from "../intent";
import type { Outcomes, Plan, PlannedPass, RemedyDeclaration } from "../remedy";

/** All intents of a plan, in order. */
export function intentsOf(plan: Plan): readonly Intent[] {
  return plan.items.flatMap(({ intents }) => intents);
}

/** The same outcome for each intent of a plan, or what `execute` returns, in order. */
export function outcomesOf(plan: Plan, outcome: Outcome | ((intent: Intent) => Outcome)): Outcomes {
  const execute = typeof outcome === "function" ? outcome : () => outcome;
  const withIntents = plan.items.filter(({ intents }) => intents.length > 0);
  const executed = (intent: Intent): Execution => ({ intent, outcome: execute(intent) });
  return new Map(withIntents.map(({ id, intents }) => [id, intents.map(executed)] as const));
}

const OUTCOMES: readonly Outcome[] = [
  { result: "Executed" },
  { result: "Observed" },
  { result: "Skipped" },
  { result: "NotLeader" },
  { result: "Limited", limit: "RestartPacer", retryAfterMs: 1_000 },
  { result: "Blocked", message: "no", retryAfterMs: 1_000 },
  { result: "Forbidden", message: "no" },
  { result: "Conflict", message: "no" },
  { result: "Failed", message: "no" },
];

const ENGINE_REASONS = ["Suspended", "ObserveFailed", "DecideFailed", "Forbidden"];

/**
 * Expects of a pass what the engine expects of every remedy: each item has its own id, each write a declared permission, nothing is written while the
 * condition is Unknown, and whatever the writes come to, the report has a declared reason and a message. Tests make thousands of passes: `expect`, which
 * costs more than a pass, is called for a breach alone.
 */
export function expectContract(remedy: RemedyDeclaration, planned: PlannedPass, now: Date): void {
  const breaches = breachesOf(remedy, planned, now);
  if (breaches.length > 0) expect(breaches).toEqual([]);
}

function breachesOf(remedy: RemedyDeclaration, planned: PlannedPass, now: Date): object[] {
  const { plan } = planned;
  const ids = plan.items.map(({ id }) => id);
  const intents = intentsOf(plan);
  const isUnknown = planned.report(new Map(), now).status === "Unknown";
  const outcomes = intents.length === 0 ? OUTCOMES.slice(0, 1) : OUTCOMES;
  const reports = outcomes.map(outcome => planned.report(outcomesOf(plan, outcome), now));
  const isDeclared = (reason: string): boolean =>
    Object.hasOwn(remedy.reasons, reason) || ENGINE_REASONS.includes(reason);
  return [
    ...(new Set(ids).size === ids.length ? [] : [ids]),
    ...intents.filter(intent => !isPermitted(requiredPermission(intent), remedy.permissions)),
    ...(isUnknown ? intents : []),
    ...reports.filter(
      ({ reason, message, stalled }) => !isDeclared(reason) || !isDeclared(stalled?.reason ?? reason) || message === "",
    ),
  ];
}
