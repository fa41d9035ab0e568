import type { ControllerResilience } from "../../../api/controller-resilience";
import { KIND } from "../../../api/names";
import type { Execution } from "../../../core/intent";
import type { Mode } from "../../../core/mode";
import type { Remedy } from "../../../core/remedy";
import { passMode } from "../../../engine/pass/pass-mode";
import { observeAndPlan } from "../../../engine/pass/remedy-pass";
import { evidenceOf } from "../explain/evidence";
import { safeText } from "../lines";
import { judgeItems, type Judged, type Step } from "./steps";
import type { PlanTools } from "./tools";

/** What one remedy of an object sees and would do. */
export interface RemedyPlan {
  /** Block of the spec. */
  readonly remedy: string;
  readonly condition: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** What it sees, one sentence per target. */
  readonly sees: readonly string[];
  readonly would: readonly Step[];
  /** False: it could not read everything that it needs. */
  readonly isComplete: boolean;
}

/** What the operator would do now for one ControllerResilience. */
export interface ObjectPlan {
  readonly kind: typeof KIND;
  readonly namespace: string;
  readonly name: string;
  /** The cluster has it already; its status, with the restarts, was taken into account. */
  readonly exists: boolean;
  readonly mode: Mode;
  readonly suspended: boolean;
  readonly remedies: readonly RemedyPlan[];
}

/** Reasons of the engine for a remedy that could not read. */
const UNREAD: ReadonlySet<string> = new Set(["Forbidden", "ObserveFailed"]);

/** Lets the remedies of an object observe and plan, as a pass of the operator does, and executes nothing. */
export async function planObject(object: ControllerResilience, exists: boolean, tools: PlanTools): Promise<ObjectPlan> {
  const { namespace, name } = object.metadata;
  const mode = await passMode(object, "Enforce", tools.readers);
  const selected = object.spec.suspend ? [] : tools.remedies.filter(({ block }) => object.spec[block] !== undefined);
  const remedies = await Promise.all(selected.map(remedy => planRemedy(remedy, object, mode, tools)));
  return { kind: KIND, namespace, name, exists, mode, suspended: object.spec.suspend, remedies };
}

async function planRemedy(
  remedy: Remedy,
  object: ControllerResilience,
  mode: Mode,
  tools: PlanTools,
): Promise<RemedyPlan> {
  const { readers, log } = tools;
  const pass = await observeAndPlan(remedy, { ...object, mode }, { readers, log, pending: [] });
  const now = readers.clock.now();
  const judged = await judgeItems(pass.plan.items, { mode, tools });
  const { status, reason, message, lists = {} } = await pass.report(outcomesOf(judged));
  const isComplete = !UNREAD.has(reason);
  if (!isComplete) tools.note(`${remedy.block} of ${object.metadata.namespace}/${object.metadata.name}: ${message}`);
  return {
    remedy: remedy.block,
    condition: remedy.condition,
    status,
    reason,
    message: safeText(message, LONGEST),
    sees: evidenceOf({ ...object, status: lists }, now.getTime()).map(({ text }) => safeText(text)),
    would: judged.map(({ step }) => ({ ...step, why: safeText(step.why) })),
    isComplete,
  };
}

const LONGEST = 1_024;

/** The outcomes that are known without a try. */
function outcomesOf(judged: readonly Judged[]): ReadonlyMap<string, readonly Execution[]> {
  const outcomes = new Map<string, Execution[]>();
  for (const { item, intent, outcome } of judged)
    if (outcome !== undefined) outcomes.set(item, [...(outcomes.get(item) ?? []), { intent, outcome }]);
  return outcomes;
}
