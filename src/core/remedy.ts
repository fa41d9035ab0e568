import type {
  ControllerResilience,
  ControllerResilienceSpec,
  ControllerResilienceStatus,
  RestartStatus,
} from "../api/controller-resilience";
import { SKIP_ANNOTATION } from "../api/names";
import type { Cause, EngineReason } from "../api/conditions";
import type { Execution, Intent, ObjectRef, Outcome, Permission, RestartClaim } from "./intent";
import { arrayOf } from "./json";
import type { GaugeSample, StatusOwner } from "./metrics";
import type { Key } from "./ports";
import type { Readers } from "./readers";
import type { Steps } from "./slices";
import { CHOICES } from "../api/generated/choices";

/**
 * Whether the operator acts for an object, or only observes it, and why: `spec.mode` is Observe, the operator runs with `--mode=Observe`, or the
 * Namespace of the object has the skip annotation. Only `Enforce` allows writes besides status, Events and cleanup.
 */
export type Mode = "Enforce" | "Observe" | "OperatorObserves" | "NamespaceSkipped";

/** An object with its mode in this pass, which wins over `spec.mode`. */
export type ObjectInMode = ControllerResilience & { readonly mode: Mode };

/** The modes that observe. */
export type ObserveMode = Exclude<Mode, "Enforce">;

const WHY: Readonly<Record<ObserveMode, string>> = {
  Observe: "mode Observe",
  OperatorObserves: "the operator runs with --mode=Observe",
  NamespaceSkipped: `the Namespace has the annotation ${SKIP_ANNOTATION}`,
};

/** Returns why nothing is written, such as `the operator runs with --mode=Observe`. */
export function whyObserved(mode: ObserveMode): string {
  return WHY[mode];
}

/** Returns the mode of an object for readers: spec.mode, or what won over it in the last pass. */
export function modeOf({ spec, status }: Pick<ControllerResilience, "spec" | "status">): Mode {
  if (spec.mode !== "Enforce") return "Observe";
  const { mode = "Enforce" } = status ?? {};
  return mode === "Observe" ? "Enforce" : mode;
}

/** Returns the part of a sentence before the verb of what is not done, such as `in Enforce mode the operator would`. */
export function whatWould(mode: ObserveMode): string {
  if (mode === "Observe") return "in Enforce mode the operator would";
  return `${WHY[mode]}, else ${mode === "OperatorObserves" ? "it" : "the operator"} would`;
}

/** Returns the text as the beginning of a sentence. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// The contract between a remedy and the engine. A remedy declares everything in one constant by defineRemedy; the engine, the metrics,
// the chart's rights and the documentation are derived from it or checked against it.

/** Key of a remedy's block in the spec. The schema in crds/ is the source: a new block there is a new key here. */
export type RemedyBlock = Exclude<keyof ControllerResilienceSpec, "mode" | "suspend" | "targets" | "windows">;

/** The spec of one block, with every default set by the API server. */
export type SpecOf<Block extends RemedyBlock> = NonNullable<ControllerResilienceSpec[Block]>;

/** A list in status that one remedy owns. The engine owns the other fields. */
export type StatusList = Exclude<
  keyof ControllerResilienceStatus,
  "conditions" | "mode" | "observedGeneration" | "restarts" | "restartsTotal"
>;

/** The status lists of one remedy. */
export type StatusLists = Partial<Pick<ControllerResilienceStatus, StatusList>>;

/** What the declaration says of one condition reason. */
export interface ReasonRule {
  /**
   * Type of the Event when the condition changes to this reason. None: another Event says the same, or it is no news. A Warning is an
   * Event only while the status is not True, and only if the condition lasts.
   */
  readonly event: "Normal" | "Warning" | "None";
  /** It usually passes by itself, so a Normal Event also waits whether it lasts. */
  readonly passes?: boolean;
  /** One sentence for the documentation: what it means and what a person can do. */
  readonly help: string;
}

/** Every reason of a remedy's condition, worst first: the order is the order of severity. */
export type Reasons<Reason extends string = string> = Readonly<Record<Reason, ReasonRule>>;

/** Reasons that the engine gives to any remedy's condition. */
export type SharedReason = Extract<EngineReason, "Suspended" | "ObserveFailed" | "DecideFailed" | "Forbidden">;

/** A restart that failed and that the engine does not try again yet. */
export interface PendingRestart {
  readonly restart: RestartClaim;
  readonly outcome: Outcome;
  /** Wall-clock time of the next try, in milliseconds. */
  readonly untilMs: number;
}

/** One thing that a plan decides on, such as a workload, a binding or a flow. */
export interface PlanItem {
  /** Identifies the item within its plan; the engine returns the outcomes of its intents by this id. */
  readonly id: string;
  /** Writes, in order. */
  readonly intents: readonly Intent[];
}

/** What a remedy wants to do. Plans are data: Observe mode and tests show the very plan that Enforce runs. */
export interface Plan<Item extends PlanItem = PlanItem> {
  /** In the order in which their intents are written. */
  readonly items: readonly Item[];
  /** Restarts of this remedy's causes with the outcomes known now. The engine writes them to status before it restarts anything. */
  readonly restarts?: readonly RestartStatus[];
  /**
   * Something exists outside of the object's namespace, or is about to, that must be deleted together with the object. The engine keeps
   * its finalizer on the object while this is true.
   */
  readonly needsCleanup?: boolean;
}

/** The executions of a plan's intents by item id; an item without intents is absent. */
export type Outcomes = ReadonlyMap<string, readonly Execution[]>;

/** An Event that a remedy asks for once, with the change of status that it tells of, besides those that executed intents cause. */
export interface EventRequest {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly note: string;
  /** The object that the Event regards, besides the ControllerResilience. */
  readonly about?: ObjectRef;
}

/** What users read about a remedy after its plan was executed. */
export interface Report<Reason extends string = string> {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: Reason;
  /** Sentences for people; never log text. */
  readonly message: string;
  /** The next pass runs after this time at the latest, in milliseconds. Absent: with the next full pass. */
  readonly recheckAfterMs?: number;
  /** The remedy goes on by itself (kstatus Reconciling). */
  readonly progressing?: boolean;
  /** A person has to act (kstatus Stalled). */
  readonly stalled?: { readonly reason: Reason; readonly message: string };
  readonly lists?: StatusLists;
  readonly events?: readonly EventRequest[];
}

/** Decides on what a remedy has read; pure. Long decisions yield to the event loop. */
export type Decide = (now: Date, pending: readonly PendingRestart[]) => Steps<PlannedPass>;

/** A plan, and how to report on it. */
export interface PlannedPass {
  readonly plan: Plan;
  /** Writes the messages, once, after execution; pure. */
  report(outcomes: Outcomes, now: Date): Report;
}

/** A Prometheus gauge with series for each object, taken from its status and spec. */
export interface StatusGauge {
  /** Without the prefix `controller_resilience_`. */
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** Series of one object, the most important first: only the first 500 are exported. */
  samples(key: Key, object: StatusOwner): readonly GaugeSample[];
}

/** What a remedy declares of itself. */
export interface RemedyDeclaration<Block extends RemedyBlock = RemedyBlock> {
  /** Folder, metric label and log field. */
  readonly name: string;
  readonly block: Block;
  /** Type of its condition. */
  readonly condition: string;
  readonly reasons: Reasons;
  /** Its lists in status. */
  readonly owns: StatusList | readonly StatusList[];
  /** Every right that it may use; the chart's ClusterRole is the union of these. */
  readonly permissions: readonly Permission[];
  readonly gauges?: readonly StatusGauge[];
  /** Causes of the restarts that it requests. It alone settles the outcomes of restarts with these causes. */
  readonly causes?: readonly Cause[];
  /** Beginnings of the fields whose unknown values it looks at itself: what it has begun must still end. */
  readonly handled?: readonly string[];
}

/** A remedy as the engine runs it. */
export interface Remedy<Block extends RemedyBlock = RemedyBlock> extends RemedyDeclaration<Block> {
  /**
   * Does all the reading, and returns what decides on it.
   *
   * @throws any reader's error: the condition becomes Unknown / ObserveFailed and nothing is planned
   */
  observe(object: ObjectInMode, readers: Readers): Promise<Decide>;
  /**
   * Intents that delete what was made outside of the object's namespace, because the object or the block is gone. Called again until it returns
   * none.
   *
   * @throws any reader's error: the engine retries
   */
  cleanUp?(object: ControllerResilience, readers: Readers): Promise<readonly Intent[]>;
  /**
   * What a person must know of an object that is suspended, or that has values of a later version, as a sentence: what the remedy began and
   * does not go on with. Pure.
   */
  whileSuspended?(object: ControllerResilience): string | undefined;
  /** Ends what goes on between passes, such as the reading of logs, while the object is suspended or lacks the block. */
  pause?(key: string): void;
  /** Drops what is remembered of an object that is gone. */
  forget?(key: string): void;
}

/** Everything that one remedy is. */
export interface RemedyDefinition<Block extends RemedyBlock, Rules extends Reasons, Observed, P extends Plan>
  extends RemedyDeclaration<Block>,
    Pick<Remedy<Block>, "cleanUp" | "forget" | "pause" | "whileSuspended"> {
  readonly reasons: Rules;
  /** I/O: reads what a decision needs. */
  observe(object: ObjectInMode, spec: SpecOf<Block>, readers: Readers): Promise<Observed>;
  /** Pure and total: the same input gives the same plan, and it never throws. `pending` are restarts in backoff. */
  plan(observed: Observed, spec: SpecOf<Block>, now: Date, pending: readonly PendingRestart[]): P | Steps<P>;
  /** Pure: condition, status lists and Events from the plan and the outcomes. Without outcomes it describes the plan. */
  report(plan: P, outcomes: Outcomes, now: Date): Report<(keyof Rules & string) | SharedReason>;
}

/** Makes a remedy for the engine. The types of observations and plans stay inside: the engine only sees {@link Remedy}. */
export function defineRemedy<Block extends RemedyBlock, Rules extends Reasons, Observed, P extends Plan>(
  definition: RemedyDefinition<Block, Rules, Observed, P>,
): Remedy<Block> {
  return {
    ...definition,
    async observe(object, readers): Promise<Decide> {
      const spec = object.spec[definition.block];
      if (spec === undefined) throw new TypeError(`expected a spec with ${definition.block}`);
      const observed = await definition.observe(object, spec, readers);
      return function* decide(now, pending) {
        const planned = definition.plan(observed, spec, now, pending);
        const plan = Symbol.iterator in planned ? yield* planned : planned;
        return { plan, report: (outcomes, reportedAt) => definition.report(plan, outcomes, reportedAt) };
      };
    },
  };
}

/**
 * Returns which values of a block or of the targets this version does not know, one sentence each. Another version may have allowed them:
 * the API server does not check an object again. Pure.
 *
 * @param handled see {@link RemedyDeclaration}
 */
export function unknownValues(spec: object, block: string, handled: readonly string[] = []): string[] {
  const isRead = (path: string): boolean => path.startsWith(`${block}.`) || isOfTargets(path);
  return unknownAt(spec, path => isRead(path) && !handled.some(start => path.startsWith(start)));
}

/** Returns the same for the targets alone. Pure. */
export function unknownTargets(spec: object): string[] {
  return unknownAt(spec, isOfTargets);
}

/** Returns what a condition says of unknown values. */
export function explainUnknown(unknown: readonly string[]): string {
  return `${unknown.join("; ")}. This version of the operator does not know it: run one that does, or change the spec.`;
}

function isOfTargets(path: string): boolean {
  return path.startsWith("targets[]");
}

function unknownAt(spec: object, isRead: (path: string) => boolean): string[] {
  return CHOICES.filter(([path]) => isRead(path)).flatMap(([path, known]) =>
    valuesAt(spec, path.split("."))
      .filter(value => !known.includes(value as string))
      .map(value => `found ${JSON.stringify(value).slice(0, 40)} in ${path}, expected ${known.join(" or ")}`),
  );
}

/** The values that are there: an absent field has none. */
function valuesAt(value: unknown, [step, ...rest]: readonly string[]): unknown[] {
  if (value === undefined || value === null) return [];
  if (step === undefined) return [value];
  const isList = step.endsWith("[]");
  const field = (value as Readonly<Record<string, unknown>>)[isList ? step.slice(0, -2) : step];
  return isList ? arrayOf(field).flatMap(item => valuesAt(item, rest)) : valuesAt(field, rest);
}
