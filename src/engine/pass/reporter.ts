import type { ControllerResilience, StatusCondition } from "../../api/controller-resilience";
import type { Clock } from "../../core/time";
import type { Execution, Intent, ObjectRef } from "../../core/intent";
import type { EngineMetrics } from "../../core/metrics";
import type { EventRecord, EventSink, Key } from "../../core/ports";
import { capitalize, type EventRequest, type RemedyDeclaration, type ReasonRule } from "../../core/remedy";
import { ConditionType } from "../../api/conditions";

export interface ReporterPorts {
  readonly events: EventSink;
  readonly metrics: EngineMetrics;
  readonly clock: Clock;
  readonly remedies: readonly Pick<RemedyDeclaration, "condition" | "reasons">[];
}

/**
 * Records Events and sets the metrics of conditions. One fact has one Event: a write on its target, or on the object if the target is
 * outside of the namespace; everything else on the object.
 */
export class Reporter {
  readonly #events: EventSink;
  readonly #metrics: EngineMetrics;
  readonly #clock: Clock;
  readonly #conditions: ToldConditions;

  constructor({ events, metrics, clock, remedies }: ReporterPorts) {
    this.#conditions = new ToldConditions(remedies);
    this.#events = events;
    this.#metrics = metrics;
    this.#clock = clock;
  }

  /** Events about executed intents. A failure is in the condition of its remedy. */
  executions(object: ControllerResilience, executions: readonly Execution[]): void {
    const done = new Map<string, EventRecord>();
    for (const { intent, outcome } of executions) {
      if (outcome.result !== "Executed") continue;
      // Several writes for one reason, such as a policy and its binding, are one fact.
      const event = doneEvent(object, intent);
      const { kind, name } = event.regarding;
      done.set(`${kind}/${name} ${event.reason} ${event.note}`, event);
    }
    for (const event of done.values()) this.#events.record(event);
  }

  /** Events that remedies request. */
  events(object: ControllerResilience, requests: readonly EventRequest[]): void {
    for (const { about, ...words } of requests) this.#recordOn(object, about, { ...words, action: "Reconcile" });
  }

  /**
   * Events about changes of conditions ({@link ToldConditions}), and the metrics of all conditions.
   *
   * @param requests the Events that remedies request in this pass
   */
  conditions(
    key: Key,
    object: ControllerResilience,
    after: readonly StatusCondition[],
    requests: readonly EventRequest[] = [],
  ): void {
    this.#metrics.conditions(key, after);
    const before = object.status?.conditions ?? [];
    const due = this.#conditions.due(key, before, after, { nowMs: this.#clock.monotonicMs(), requests });
    for (const words of due) this.#recordOn(object, undefined, { ...words, action: "Reconcile" });
  }

  /** Removes the metrics of an object that is gone. */
  forget(key: Key): void {
    this.#metrics.status(key, null);
    this.#metrics.conditions(key, []);
    this.#conditions.forget(key);
  }

  #recordOn(
    object: ControllerResilience,
    related: ObjectRef | undefined,
    words: Omit<EventRecord, "regarding" | "related">,
  ): void {
    this.#events.record({ regarding: refOf(object), ...(related && { related }), ...words });
  }
}

/** The Event about an executed intent. */
function doneEvent(object: ControllerResilience, intent: Intent): EventRecord {
  const own = refOf(object);
  const { target, eventReason: reason, why: note } = intent;
  const place =
    target.namespace === undefined ? { regarding: own, related: target } : { regarding: target, related: own };
  return { ...place, type: "Normal", reason, action: capitalize(intent.verb), note };
}

function refOf({ apiVersion, kind, metadata }: ControllerResilience): ObjectRef {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}

/** A problem that lasts for less than this passes by itself and has no Event. In milliseconds. */
export const GRACE_MS = 30_000;

/** Conditions without Events: others say it. */
const SILENT: ReadonlySet<string> = new Set([ConditionType.Ready, ConditionType.Reconciling]);

/** What Events have said of one condition. */
interface Told {
  /** Status and reason of the last Event, or of the status that was read first; undefined: the condition is new. */
  readonly state: string | undefined;
  /** When the Event was recorded, and since when the condition differs from it, on the monotonic clock. */
  readonly toldMs?: number;
  readonly differsSinceMs?: number;
}

/**
 * Decides which changes of conditions have an Event. A change to a Warning has one only if it lasts, and a change back to what was told
 * before has none; nor has one whose message says what the remedy's own Event of this pass says. A person has to act when Stalled becomes
 * True: that is a Warning, unless the remedy has said the same.
 *
 * Kept in memory, and forgotten with the lead: the next leader goes on from the conditions that it reads. A crash may lose or repeat an Event.
 */
class ToldConditions {
  readonly #rules: ReadonlyMap<string, ReasonRule>;
  readonly #told = new Map<Key, ReadonlyMap<string, Told>>();

  constructor(remedies: readonly Pick<RemedyDeclaration, "condition" | "reasons">[]) {
    const rules = remedies.flatMap(({ condition, reasons }) =>
      Object.entries(reasons).map(([reason, rule]) => [`${condition}/${reason}`, rule] as const),
    );
    this.#rules = new Map(rules);
  }

  /** Returns the Events that are due after a pass, and remembers them as told. `before` are the conditions that the pass has read. */
  due(
    key: Key,
    before: readonly StatusCondition[],
    after: readonly StatusCondition[],
    { nowMs, requests }: { readonly nowMs: number; readonly requests: readonly EventRequest[] },
  ): Pick<EventRecord, "type" | "reason" | "note">[] {
    const known: ReadonlyMap<string, Told> = this.#told.get(key) ?? new Map();
    const told = new Map<string, Told>();
    const events: Pick<EventRecord, "type" | "reason" | "note">[] = [];
    // Stalled is the last condition, so what it repeats comes before it.
    for (const condition of after.filter(({ type }) => !SILENT.has(type))) {
      const previous = before.find(({ type }) => type === condition.type);
      const type = this.#eventType(condition);
      const last = known.get(condition.type) ?? { state: previous && stateOf(previous) };
      const isSaid = requests.some(request => request.type === type && isSaidBy(condition, request));
      const mayPass = this.#mayPass(condition, type);
      const next = nextTold(last, condition, { type, mayPass, isSaid, nowMs });
      const isNews = next.state !== last.state && type !== "None" && !isSaid;
      const { reason, message: note } = condition;
      if (isNews && !isRepetition(condition, told, last.differsSinceMs ?? nowMs)) events.push({ type, reason, note });
      told.set(condition.type, next);
    }
    this.#told.set(key, told);
    return events;
  }

  /** Drops what is remembered of an object that is gone. */
  forget(key: Key): void {
    this.#told.delete(key);
  }

  #eventType({ type, status, reason }: StatusCondition): ReasonRule["event"] {
    if (type === ConditionType.Stalled) return status === "True" ? "Warning" : "None";
    const event = this.#rules.get(`${type}/${reason}`)?.event;
    if (event === "None") return event;
    return status === "True" || reason === "Suspended" || event === "Normal" ? "Normal" : "Warning";
  }

  #mayPass({ type, reason }: StatusCondition, event: ReasonRule["event"]): boolean {
    return event === "Warning" || this.#rules.get(`${type}/${reason}`)?.passes === true;
  }
}

/** Returns what to record of a condition after a pass. */
function nextTold(
  last: Told,
  condition: StatusCondition,
  rule: {
    readonly type: ReasonRule["event"];
    readonly mayPass: boolean;
    readonly isSaid: boolean;
    readonly nowMs: number;
  },
): Told {
  const { type, mayPass, isSaid, nowMs } = rule;
  const state = stateOf(condition);
  const { differsSinceMs = nowMs, ...told } = last;
  // A stall that has ended is told again when it returns.
  if (type === "None") return condition.type === ConditionType.Stalled ? { state } : told;
  if (state === told.state) return told;
  if (mayPass && !isSaid && nowMs - differsSinceMs < GRACE_MS) return { ...told, differsSinceMs };
  return { state, toldMs: nowMs };
}

/** Reports whether the condition of a remedy has told the same as Stalled, shortly before Stalled became True or since. */
function isRepetition({ type, reason }: StatusCondition, others: ReadonlyMap<string, Told>, sinceMs: number): boolean {
  if (type !== ConditionType.Stalled) return false;
  return [...others.values()].some(
    ({ state, toldMs = -Infinity }) => state?.endsWith(`/${reason}`) === true && sinceMs - toldMs <= GRACE_MS,
  );
}

/** Stalled repeats a condition, so it is none that an Event says first. */
function isSaidBy({ type, message }: StatusCondition, { note }: EventRequest): boolean {
  return type !== ConditionType.Stalled && message.includes(note.replace(/\.$/, ""));
}

function stateOf({ status, reason }: StatusCondition): string {
  return `${status}/${reason}`;
}
