import type {
  ControllerResilience,
  ControllerResilienceStatus,
  StatusCondition,
} from "../../api/controller-resilience";
import type { Clock } from "../../core/clock";
import type { Execution, Intent, LimitReason, ObjectRef, Outcome } from "../../core/intent";
import type { EngineMetrics, EventRecord, EventSink, Key } from "../../core/ports";
import type { EventRequest, RemedyDeclaration } from "../../core/remedy";
import { nameOfLimit } from "../../core/outcomes";

/** A blocker is reported again after this long without it, in milliseconds: longer than any remedy waits between two tries. */
const REPEATED_AFTER_MS = 900_000;

/** What was reported of an object before, so that Events are not repeated with each pass. */
interface Reported {
  /** Blockers by intent, with the time when each was last seen. */
  readonly blockers: Map<string, number>;
  events: ReadonlySet<string>;
  conditions: ReadonlySet<string>;
}

/** Records Events on the object and on the targets of writes, and sets the metrics of conditions. */
export class Reporter {
  readonly #events: EventSink;
  readonly #metrics: EngineMetrics;
  readonly #clock: Clock;
  readonly #reported = new Map<Key, Reported>();

  readonly #normal: ReadonlySet<string>;

  constructor(
    events: EventSink,
    metrics: EngineMetrics,
    clock: Clock,
    remedies: readonly Pick<RemedyDeclaration, "condition" | "reasons">[],
  ) {
    this.#normal = normalReasons(remedies);
    this.#events = events;
    this.#metrics = metrics;
    this.#clock = clock;
  }

  /** Events about intents: always when executed, and once per blocker when blocked. */
  executions(key: Key, object: ControllerResilience, executions: readonly Execution[]): void {
    const { blockers } = this.#reportedOf(key);
    const nowMs = this.#clock.monotonicMs();
    for (const [id, seenMs] of blockers) if (nowMs - seenMs > REPEATED_AFTER_MS) blockers.delete(id);
    for (const { intent, outcome } of executions) {
      const words = wordsFor(intent, outcome);
      if (words === undefined) continue;
      const id = `${idOf(intent)} ${"limit" in outcome ? outcome.limit : words.reason}`;
      if (!blockers.has(id)) this.#recordBoth(object, intent.target, { ...words, action: actionOf(intent) });
      if (outcome.result === "Executed") forgetBlockers(blockers, intent);
      else blockers.set(id, nowMs);
    }
  }

  /** Events that remedies request, unless the pass before recorded the same. */
  events(key: Key, object: ControllerResilience, requests: readonly EventRequest[]): void {
    const reported = this.#reportedOf(key);
    const now = new Set<string>();
    for (const request of requests) {
      const id = `${request.reason} ${request.note}`;
      if (!reported.events.has(id) && !now.has(id)) this.#request(object, request);
      now.add(id);
    }
    reported.events = now;
  }

  /** Events about conditions whose status or reason changed, and the metrics of all conditions. */
  conditions(key: Key, object: ControllerResilience, after: readonly StatusCondition[]): void {
    const before = object.status?.conditions ?? [];
    for (const condition of after) {
      this.#metrics.condition(key, condition.type, condition.status);
      if (isSummary(condition.type) || !hasChanged(condition, before)) continue;
      const { reason, message } = condition;
      const type = this.#eventType(condition);
      this.#events.record({ regarding: refOf(object), type, reason, action: "Reconcile", note: message });
    }
    const reported = this.#reportedOf(key);
    const types = new Set(after.map(({ type }) => type));
    for (const type of reported.conditions) if (!types.has(type)) this.#metrics.condition(key, type, null);
    reported.conditions = types;
  }

  #eventType({ type, status, reason }: StatusCondition): EventRecord["type"] {
    const isNormal = status === "True" || reason === "Suspended" || this.#normal.has(`${type}/${reason}`);
    return isNormal ? "Normal" : "Warning";
  }

  /** Sets the gauges of the remedies. */
  status(key: Key, status: ControllerResilienceStatus): void {
    this.#metrics.status(key, status);
  }

  /** Removes the metrics of an object that is gone. */
  forget(key: Key): void {
    this.#metrics.status(key, {});
    for (const type of this.#reported.get(key)?.conditions ?? []) this.#metrics.condition(key, type, null);
    this.#reported.delete(key);
  }

  #request(object: ControllerResilience, { about, type, reason, note }: EventRequest): void {
    const words = { type, reason, action: "Reconcile", note };
    if (about === undefined) this.#events.record({ regarding: refOf(object), ...words });
    else this.#recordBoth(object, about, words);
  }

  #recordBoth(object: ControllerResilience, other: ObjectRef, words: Omit<EventRecord, "regarding" | "related">): void {
    const own = refOf(object);
    this.#events.record({ regarding: other, related: own, ...words });
    this.#events.record({ regarding: own, related: other, ...words });
  }

  #reportedOf(key: Key): Reported {
    const reported = this.#reported.get(key) ?? { blockers: new Map(), events: new Set(), conditions: new Set() };
    this.#reported.set(key, reported);
    return reported;
  }
}

interface Words {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly note: string;
}

/** The first two pass within seconds, usually. The breaker has an Event on the Lease, and the condition says it. */
const UNREPORTED: ReadonlySet<LimitReason> = new Set(["LeaderWarmup", "PassTime", "Breaker"]);

/** The Event about an outcome; undefined where there is none, or where a condition says it. */
function wordsFor(intent: Intent, outcome: Outcome): Words | undefined {
  const what = `${actionOf(intent)} ${intent.target.kind} ${intent.target.name}`;
  switch (outcome.result) {
    case "Executed":
      return { type: "Normal", reason: intent.eventReason, note: intent.why };
    case "Limited": {
      if (UNREPORTED.has(outcome.limit)) return undefined;
      const reason = outcome.limit === "MaxRestarts" ? "RestartsExhausted" : "RestartDeferred";
      return { type: "Warning", reason, note: `${what} deferred by ${nameOfLimit(outcome.limit)}. ${intent.why}` };
    }
    case "Blocked": {
      const reason = intent.restart ? "RestartBlocked" : "WriteBlocked";
      return { type: "Warning", reason, note: `${what} blocked: ${outcome.message}` };
    }
    case "Forbidden":
      return { type: "Warning", reason: "Forbidden", note: `${what} forbidden: ${outcome.message}` };
    case "Failed":
      return { type: "Warning", reason: "WriteFailed", note: `${what} failed: ${outcome.message}` };
    default:
      return undefined;
  }
}

function actionOf(intent: Intent): string {
  return intent.verb.charAt(0).toUpperCase() + intent.verb.slice(1);
}

function idOf({ verb, target }: Intent): string {
  return [verb, target.kind, target.namespace, target.name, target.uid].join(" ");
}

function forgetBlockers(blockers: Map<string, number>, intent: Intent): void {
  for (const id of blockers.keys()) if (id.startsWith(`${idOf(intent)} `)) blockers.delete(id);
}

function refOf({ apiVersion, kind, metadata }: ControllerResilience): ObjectRef {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}

function normalReasons(remedies: readonly Pick<RemedyDeclaration, "condition" | "reasons">[]): ReadonlySet<string> {
  return new Set(
    remedies.flatMap(({ condition, reasons }) =>
      Object.entries(reasons).flatMap(([reason, { event }]) => (event === "Normal" ? [`${condition}/${reason}`] : [])),
    ),
  );
}

function isSummary(type: string): boolean {
  return type === "Ready" || type === "Reconciling" || type === "Stalled";
}

function hasChanged(condition: StatusCondition, before: readonly StatusCondition[]): boolean {
  const previous = before.find(({ type }) => type === condition.type);
  return previous?.status !== condition.status || previous.reason !== condition.reason;
}
