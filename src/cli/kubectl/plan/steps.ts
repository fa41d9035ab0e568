import { SKIP_ANNOTATION } from "../../../api/names";
import type { Intent, Outcome } from "../../../core/intent";
import { type Mode, whyObserved } from "../../../core/mode";
import type { PlanItem } from "../../../core/remedy";
import { isUnproven } from "../../../core/restarts";
import { requiredPermission } from "../../../engine/write/permissions";
import type { PlanTools } from "./tools";

/** One write that the operator would make. */
export interface Step {
  readonly verb: Intent["verb"];
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly why: string;
  /** Why it is not made now; absent: it is. */
  readonly unless?: string;
}

/** A step, and what the remedy would hear of it. */
export interface Judged {
  readonly item: string;
  readonly intent: Intent;
  readonly step: Step;
  /** Absent: it would be tried. */
  readonly outcome?: Outcome;
}

interface Scope {
  readonly mode: Mode;
  readonly tools: Pick<PlanTools, "may" | "operator">;
}

/** Says of each write of a plan what would hold it back, by the rules of the executor as far as they can be known from outside. */
export async function judgeItems(items: readonly PlanItem[], scope: Scope): Promise<Judged[]> {
  const intents = items.flatMap(({ id, intents: own }) => own.map(intent => ({ item: id, intent })));
  return Promise.all(
    intents.map(async ({ item, intent }) => {
      const found = await objectionTo(intent, scope);
      const { kind, namespace, name } = intent.target;
      const step: Step = {
        verb: intent.verb,
        kind,
        ...(namespace === undefined ? {} : { namespace }),
        name,
        why: intent.why,
        ...(found && { unless: found.unless }),
      };
      return { item, intent, step, ...(found && { outcome: found.outcome }) };
    }),
  );
}

interface Objection {
  readonly unless: string;
  readonly outcome: Outcome;
}

async function objectionTo(intent: Intent, { mode, tools }: Scope): Promise<Objection | undefined> {
  const { apiGroup, resource, verb } = requiredPermission(intent);
  const { namespace } = intent.target;
  const may = await tools.may({ apiGroup, resource, verb, ...(namespace === undefined ? {} : { namespace }) });
  if (!may) {
    const message = `the operator may not ${verb} ${resource}`;
    return { unless: message, outcome: { result: "Forbidden", message } };
  }
  if (mode !== "Enforce") return { unless: whyObserved(mode), outcome: { result: "Observed" } };
  if (intent.skip === true) return { unless: `annotation ${SKIP_ANNOTATION}`, outcome: { result: "Skipped" } };
  return breakerObjection(intent, tools.operator?.breaker);
}

/** Plans keep cooldowns and budgets themselves; the breaker is the executor's. */
function breakerObjection({ restart }: Intent, breaker: string | undefined): Objection | undefined {
  if (restart === undefined || breaker === undefined || !isUnproven(restart)) return undefined;
  return {
    unless: "the restart breaker is tripped",
    outcome: { result: "Limited", limit: "Breaker", retryAfterMs: 60_000 },
  };
}
