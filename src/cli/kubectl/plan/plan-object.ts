import type { ControllerResilience } from "../../../api/controller-resilience";
import { ConditionType, EngineReason } from "../../../api/conditions";
import { KIND, SKIP_ANNOTATION } from "../../../api/names";
import { type Execution, type Intent, type Outcome, requiredPermission } from "../../../core/intent";
import type { Readers } from "../../../core/readers";
import { type Mode, whyObserved, type Remedy, type StatusLists } from "../../../core/remedy";
import { keyOf } from "../../../core/text";
import { isUnproven } from "../../../restarts/history";
import { isGenerated } from "../../../engine/cluster-wide/generated";
import { hasFinalizer } from "../../../engine/pass/cleanup";
import { passMode } from "../../../engine/pass/ready";
import { observeAndPlan } from "../../../engine/pass/remedy-pass";
import { evidenceOf } from "../explain/explain";
import { safeText } from "../terminal";
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
export async function planObject(object: ControllerResilience, exists: boolean, found: PlanTools): Promise<ObjectPlan> {
  const { namespace, name } = object.metadata;
  const tools = isGenerated(object) ? found : { ...found, readers: withoutGenerated(found.readers) };
  const operatorMode = object.status?.mode === "OperatorObserves" ? "Observe" : "Enforce";
  const mode = await passMode(object, operatorMode, tools.readers);
  const remedies = object.spec.suspend ? [] : tools.remedies;
  const plans = remedies.map(async remedy =>
    object.spec[remedy.block] === undefined
      ? planEnd(remedy, object, tools)
      : [await planRemedy(remedy, object, mode, tools)],
  );
  return {
    ...{ kind: KIND, namespace, name, exists, mode },
    suspended: object.spec.suspend,
    remedies: (await Promise.all(plans)).flat(),
  };
}

/** As soon as a person's object is applied, no generated one lists its workloads any more. */
function withoutGenerated(readers: Readers): Readers {
  return {
    ...readers,
    objects: async namespace => (await readers.objects(namespace)).filter(one => !isGenerated(one)),
  };
}

/** What a remedy takes back because its block is gone, in every mode; none of what it has made without the finalizer. */
async function planEnd(remedy: Remedy, object: ControllerResilience, tools: PlanTools): Promise<RemedyPlan[]> {
  const { block } = remedy;
  if (!hasFinalizer(object)) return [];
  const what = `read what ${block} has made for ${keyOf(object)}`;
  const read = async (): Promise<readonly Intent[]> => (await remedy.cleanUp?.(object, tools.readers)) ?? [];
  const intents = await tools.reader.tolerant(what, read);
  if (intents?.length === 0) return [];
  const judge = async (intent: Intent): Promise<Step> => {
    return stepOf({ item: block, intent, objection: await objectionTo(intent, "Enforce", tools) });
  };
  const would = await Promise.all((intents ?? []).map(judge));
  const message = "The block is gone, and with it goes what was made for it.";
  const told = { condition: ConditionType.Reconciling, status: "True", reason: EngineReason.CleaningUp, message };
  return [{ remedy: block, ...told, sees: [], would, isComplete: intents !== undefined }];
}

async function planRemedy(
  remedy: Remedy,
  object: ControllerResilience,
  mode: Mode,
  tools: PlanTools,
): Promise<RemedyPlan> {
  const { lists, ...plan } = await planPass(remedy, object, mode, tools);
  // A change of a template is in status before it is made, by the pass that follows at once.
  const isRecorded = lists.daemonSets?.some(({ outcome }) => outcome === "Planned") === true;
  if (!isRecorded || plan.would.length > 0) return plan;
  const status = { ...object.status, ...lists };
  const { lists: _, ...next } = await planPass(remedy, { ...object, status }, mode, tools);
  return next;
}

/** One pass, and the lists of status that it would write. */
async function planPass(
  remedy: Remedy,
  object: ControllerResilience,
  mode: Mode,
  tools: PlanTools,
): Promise<RemedyPlan & { readonly lists: StatusLists }> {
  const { readers, log } = tools;
  const pass = await observeAndPlan(remedy, { ...object, mode }, { readers, log, pending: [] });
  const now = readers.clock.now();
  const judge = async (item: string, intent: Intent): Promise<Judged> => {
    return { item, intent, objection: await objectionTo(intent, mode, tools) };
  };
  const judged = await Promise.all(pass.plan.items.flatMap(({ id, intents }) => intents.map(one => judge(id, one))));
  const { status, reason, message, lists = {} } = await pass.report(outcomesOf(judged));
  const isComplete = !UNREAD.has(reason);
  if (!isComplete)
    tools.reader.note(`${remedy.block} of ${object.metadata.namespace}/${object.metadata.name}: ${message}`);
  return {
    remedy: remedy.block,
    condition: remedy.condition,
    status,
    reason,
    message: safeText(message, LONGEST),
    sees: evidenceOf(lists, { nowMs: now.getTime(), acts: mode === "Enforce" }),
    would: judged.map(stepOf),
    isComplete,
    lists,
  };
}

const LONGEST = 1_024;

/** The outcomes that are known without a try. */
function outcomesOf(judged: readonly Judged[]): ReadonlyMap<string, readonly Execution[]> {
  const outcomes = new Map<string, Execution[]>();
  for (const { item, intent, objection } of judged)
    if (objection !== undefined)
      outcomes.set(item, [...(outcomes.get(item) ?? []), { intent, outcome: objection.outcome }]);
  return outcomes;
}

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

function stepOf({ intent: { verb, target, why }, objection }: Judged): Step {
  const { kind, namespace, name } = target;
  const unless = objection && { unless: objection.unless };
  return { verb, kind, ...(namespace !== undefined && { namespace }), name, why: safeText(why), ...unless };
}

/** A write of a plan, and what holds it back. */
interface Judged {
  readonly item: string;
  readonly intent: Intent;
  /** Absent: it would be tried. */
  readonly objection: Objection | undefined;
}

/** What holds a write back, and the outcome that the remedy would get. */
interface Objection {
  readonly unless: string;
  readonly outcome: Outcome;
}

/** Says what would hold a write back, by the rules of the executor as far as they can be known from outside. */
async function objectionTo(
  intent: Intent,
  mode: Mode,
  tools: Pick<PlanTools, "readers" | "operator">,
): Promise<Objection | undefined> {
  const { apiGroup, resource, verb } = requiredPermission(intent);
  const { namespace } = intent.target;
  const may = await tools.readers.may({ apiGroup, resource, verb, ...(namespace === undefined ? {} : { namespace }) });
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
