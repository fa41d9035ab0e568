import { Cause, ConditionType } from "../../api/conditions";
import type { ControllerResilience, RestartStatus } from "../../api/controller-resilience";
import { type Execution, type Intent, describePending, pendingWrites } from "../../core/intent";
import type { Readers } from "../../core/readers";
import { defineRemedy, type Remedy, type RemedyDeclaration, type Report, type StatusLists } from "../../core/remedy";
import type { Steps } from "../../core/slices";

/** What a fake remedy plans and reports. */
export interface Decision extends Omit<Report, "lists"> {
  readonly intents: readonly Intent[];
  readonly needsCleanup?: boolean;
  readonly lists?: StatusLists & { readonly restarts?: RestartStatus[] };
}

/** The parts of a fake remedy that a test may replace. */
export interface FakeRemedy extends RemedyDeclaration {
  readonly observe: () => Promise<unknown>;
  readonly decide: () => Decision;
  readonly decideInSteps: () => Steps<Decision>;
  readonly conclude: (decision: Decision, executions: readonly Execution[]) => Decision;
  readonly cleanUp: (object: ControllerResilience, readers: Readers) => Promise<readonly Intent[]>;
  readonly forget: (key: string) => void;
  readonly whileSuspended: () => string;
}

/** A decision with nothing to do. */
export function makeDecision(changes: Partial<Decision> = {}): Decision {
  return { status: "True", reason: "Accepted", message: "Fine.", intents: [], ...changes };
}

const DECLARED: RemedyDeclaration = {
  name: "token-restart",
  block: "tokenRestart",
  condition: ConditionType.TokensAccepted,
  reasons: {
    Rejected: { event: "Warning", help: "" },
    Restarting: { event: "Normal", help: "" },
    Accepted: { event: "Normal", help: "" },
  },
  owns: "targets",
  permissions: [
    { apiGroup: "", resource: "pods/eviction", verbs: ["create"], why: "to replace pods" },
    { apiGroup: "apps", resource: "deployments", verbs: ["patch"], why: "to roll them" },
  ],
  causes: Object.values(Cause),
};

/** A remedy with one item per plan, which may evict pods and patch Deployments. */
export function makeRemedy(
  decide: Decision | ((now: Date) => Decision) = makeDecision(),
  changes: Partial<FakeRemedy> = {},
): Remedy {
  const { observe = () => Promise.resolve("facts"), decideInSteps, conclude = withBlocker, ...declared } = changes;
  const decideNow = changes.decide ?? (typeof decide === "function" ? decide : () => decide);
  return defineRemedy({
    ...DECLARED,
    ...declared,
    observe,
    *plan(_observed: unknown, _spec, now) {
      const decision = decideInSteps ? yield* decideInSteps() : decideNow(now);
      const { restarts } = decision.lists ?? {};
      return {
        items: [{ id: "item", intents: decision.intents }],
        ...(restarts && { restarts }),
        ...(decision.needsCleanup !== undefined && { needsCleanup: decision.needsCleanup }),
        decision,
      };
    },
    report: ({ decision }, outcomes) => reportOf(decision, outcomes.get("item") ?? [], conclude),
  });
}

function reportOf(decision: Decision, executions: readonly Execution[], conclude: FakeRemedy["conclude"]): Report {
  const report: Partial<Decision> = { ...(executions.length === 0 ? decision : conclude(decision, executions)) };
  const lists: Partial<NonNullable<Decision["lists"]>> = { ...report.lists };
  Reflect.deleteProperty(lists, "restarts");
  Reflect.deleteProperty(report, "intents");
  Reflect.deleteProperty(report, "needsCleanup");
  return { ...(report as Report), lists };
}

function withBlocker(decision: Decision, executions: readonly Execution[]): Decision {
  const [worst] = pendingWrites(executions);
  if (worst === undefined) return decision;
  const isForbidden = worst.outcome.result === "Forbidden";
  const message = describePending(worst);
  return {
    ...decision,
    status: decision.status === "True" ? "Unknown" : decision.status,
    reason: isForbidden ? "Forbidden" : decision.reason,
    message: `${decision.message} Not done yet: ${message}.`,
    progressing: !isForbidden,
    ...(isForbidden ? { stalled: { reason: "Forbidden", message } } : {}),
  };
}
