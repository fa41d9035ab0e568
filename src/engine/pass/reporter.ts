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
  readonly #ports: ReporterPorts;
  readonly #rules: ReadonlyMap<string, ReasonRule>;
  /** By object and type of condition. In memory: the next leader goes on from the conditions that it reads. A crash may lose or repeat an Event. */
  readonly #told = new Map<Key, ReadonlyMap<string, Told>>();

  constructor(ports: ReporterPorts) {
    this.#ports = ports;
    const rules = ports.remedies.flatMap(({ condition, reasons }) =>
      Object.entries(reasons).map(([reason, rule]) => [`${condition}/${reason}`, rule] as const),
    );
    this.#rules = new Map(rules);
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
    for (const event of done.values()) this.#ports.events.record(event);
  }

  /** Events that remedies request. */
  events(object: ControllerResilience, requests: readonly EventRequest[]): void {
    for (const { about, ...words } of requests) this.#recordOn(object, about, { ...words, action: "Reconcile" });
  }

  /**
   * Sets the metrics of all conditions, and records which changes are news. A change to a Warning has an Event only if it lasts, and a change
   * back to what was told before has none; nor has one whose message says what the remedy's own Event of this pass says. A person has to act
   * when Stalled becomes True: that is a Warning, unless the remedy has said the same.
   *
   * @param object as the pass has read it
   * @param requests the Events that remedies request in this pass
   */
  conditions(
    key: Key,
    object: ControllerResilience,
    after: readonly StatusCondition[],
    requests: readonly EventRequest[] = [],
  ): void {
    this.#ports.metrics.conditions(key, after);
    const nowMs = this.#ports.clock.monotonicMs();
    const told = new Map<string, Told>();
    // Stalled is the last condition, so what it repeats comes before it.
    for (const condition of after.filter(({ type }) => !SILENT.has(type))) {
      const type = this.#eventType(condition);
      const last = this.#told.get(key)?.get(condition.type) ?? toldIn(object, condition);
      const isSaid = requests.some(request => request.type === type && isSaidBy(condition, request));
      const next = nextTold(last, condition, { type, mayPass: this.#mayPass(condition, type), isSaid, nowMs });
      const isNews =
        next.state !== last.state && !isSaid && !isRepetition(condition, told, last.differsSinceMs ?? nowMs);
      const { reason, message: note } = condition;
      if (type !== "None" && isNews) this.#recordOn(object, undefined, { type, reason, note, action: "Reconcile" });
      told.set(condition.type, next);
    }
    this.#told.set(key, told);
  }

  /** Removes the metrics of an object that is gone, and what is remembered of it. */
  forget(key: Key): void {
    this.#ports.metrics.status(key, null);
    this.#ports.metrics.conditions(key, []);
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

  #recordOn(
    object: ControllerResilience,
    related: ObjectRef | undefined,
    words: Omit<EventRecord, "regarding" | "related">,
  ): void {
    this.#ports.events.record({ regarding: refOf(object), ...(related && { related }), ...words });
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

/** What the status that was read says of a condition. */
function toldIn({ status }: ControllerResilience, { type }: StatusCondition): Told {
  const previous = status?.conditions?.find(condition => condition.type === type);
  return { state: previous && stateOf(previous) };
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
