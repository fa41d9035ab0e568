import type { Cause } from "../api/conditions";
import type { ControllerResilience, RestartStatus } from "../api/controller-resilience";
import type { Execution, Intent, Permission } from "./intent";
import { describeObstacle, describeUndone, undone } from "./outcomes";
import type { Readers } from "./readers";
import {
  defineRemedy,
  type EventRequest,
  type PendingWrite,
  type Reasons,
  type Remedy,
  type RemedyBlock,
  type Report,
  type SpecOf,
  type StatusList,
  type StatusLists,
} from "./remedy";
import type { Plan } from "./remedy";
import type { Steps } from "./slices";
import type { RemedySample } from "./testing/remedy-sample";

/** Replaced by EventRequest. */
export type Announcement = EventRequest;

/** Replaced by Plan and Report. */
export interface Decision extends Omit<Report, "lists" | "events"> {
  readonly intents: readonly Intent[];
  readonly needsCleanup?: boolean;
  readonly parts?: StatusLists & { readonly restarts?: RestartStatus[] };
  readonly announcements?: readonly EventRequest[];
}

/** Replaced by RemedyDefinition. */
export interface LegacyRemedy<Block extends RemedyBlock = RemedyBlock, Facts = unknown> {
  readonly name: string;
  readonly block: Block;
  readonly condition: string;
  readonly reasons: Reasons;
  readonly owns: StatusList;
  readonly permissions: readonly Permission[];
  readonly causes?: readonly Cause[];
  observe(object: ControllerResilience, spec: SpecOf<Block>, from: Readers): Promise<Facts>;
  decide(facts: Facts, spec: SpecOf<Block>, now: Date, pending?: readonly PendingWrite[]): Decision;
  decideInSteps?(facts: Facts, spec: SpecOf<Block>, now: Date): Steps<Decision>;
  conclude?(decision: Decision, executions: readonly Execution[], now: Date): Decision;
  cleanUp?(object: ControllerResilience, from: Readers): Promise<readonly Intent[]>;
  forget?(key: string): void;
}

/** Wraps a remedy that still decides and concludes. */
export function adapt<Block extends RemedyBlock, Facts>(legacy: LegacyRemedy<Block, Facts>): Remedy<Block> {
  const { cleanUp, forget, causes } = legacy;
  return defineRemedy({
    name: legacy.name,
    block: legacy.block,
    condition: legacy.condition,
    reasons: legacy.reasons,
    owns: legacy.owns,
    permissions: legacy.permissions,
    ...(causes && { causes }),
    ...(cleanUp && { cleanUp: (object, readers) => cleanUp(object, readers) }),
    ...(forget && { forget: key => forget(key) }),
    observe: (object, spec, readers) => legacy.observe(object, spec, readers),
    *plan(facts: Facts, spec, now, pending) {
      const decision = legacy.decideInSteps
        ? yield* legacy.decideInSteps(facts, spec, now)
        : legacy.decide(facts, spec, now, pending);
      return {
        items: [{ id: "all", intents: decision.intents }],
        ...(decision.parts?.restarts && { restarts: decision.parts.restarts }),
        ...(decision.needsCleanup !== undefined && { needsCleanup: decision.needsCleanup }),
        decision,
      };
    },
    report({ decision }, outcomes, now): Report {
      const executions = outcomes.get("all") ?? [];
      const conclude = legacy.conclude ?? concludeGenerally;
      const {
        intents: _intents,
        needsCleanup: _needs,
        parts,
        announcements,
        ...report
      } = executions.length === 0 ? decision : conclude(decision, executions, now);
      const { restarts: _restarts, ...lists } = parts ?? {};
      return { ...report, lists, ...(announcements && { events: announcements }) };
    },
  });
}

function concludeGenerally(decision: Decision, executions: readonly Execution[]): Decision {
  const [worst] = undone(executions);
  if (worst === undefined) return decision;
  const forbidden = worst.outcome.result === "Forbidden";
  return {
    ...decision,
    status: decision.status === "True" ? "Unknown" : decision.status,
    reason: forbidden ? "Forbidden" : decision.reason,
    message: `${decision.message} Not done yet: ${describeUndone(worst)}.`,
    progressing: !forbidden,
    ...(forbidden ? { stalled: { reason: "Forbidden", message: describeObstacle(worst) } } : {}),
  };
}

/** A contract sample of a remedy that still decides and concludes. */
export function legacySample(
  legacy: { readonly [Key in keyof LegacyRemedy]: unknown },
  {
    observed,
    specs,
    applied,
  }: { observed: unknown; specs: unknown; applied: (facts: never, decision: Decision, now: Date) => unknown },
): RemedySample {
  const own = legacy as LegacyRemedy<"tokenRestart">;
  return {
    observed: observed as never,
    specs: specs as never,
    plan: (facts, spec, now) => {
      const decision = own.decide(facts, spec, now);
      const { restarts } = decision.parts ?? {};
      return { items: [{ id: "all", intents: decision.intents }], ...(restarts && { restarts }), decision } as Plan;
    },
    report: (plan, outcomes, now) => {
      const { decision } = plan as { decision: Decision };
      const executions = outcomes.get("all") ?? [];
      return executions.length === 0 ? decision : (own.conclude?.(decision, executions, now) ?? decision);
    },
    applied: (facts, plan, now) => applied(facts, (plan as { decision: Decision }).decision, now),
  };
}
