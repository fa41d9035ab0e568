import type fc from "fast-check";
import type { Execution, Intent, Outcome } from "../intent";
import type { Outcomes, Plan, Report } from "../remedy";

/** What the contract test needs of a remedy: any observations, any specs, its pure functions, and observations after a plan was executed. */
export interface RemedySample<Observed = never, Spec = never, P extends Plan = never> {
  readonly observed: fc.Arbitrary<unknown>;
  readonly specs: fc.Arbitrary<unknown>;
  readonly plan: (observed: Observed, spec: Spec, now: Date) => Plan;
  readonly report: (plan: P, outcomes: Outcomes, now: Date) => Report;
  /** The observations of the next pass, after the plan was executed and its report was written. */
  readonly applied: (observed: Observed, plan: P, now: Date) => unknown;
}

/** All intents of a plan, in order. */
export function intentsOf(plan: Plan): readonly Intent[] {
  return plan.items.flatMap(({ intents }) => intents);
}

/** The same outcome for each intent of a plan. */
export function outcomesOf(plan: Plan, outcome: Outcome): Outcomes {
  const withIntents = plan.items.filter(({ intents }) => intents.length > 0);
  return new Map(
    withIntents.map(({ id, intents }) => [id, intents.map((intent): Execution => ({ intent, outcome }))] as const),
  );
}
