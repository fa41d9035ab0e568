import type { BindingStatus, ControllerResilience, FlowStatus, StatusCondition } from "../../api/controller-resilience";
import type { Clock } from "../../core/clock";
import type { Execution, Intent, ObjectRef, Outcome } from "../../core/intent";
import type { EngineMetrics, EventRecord, EventSink, Key } from "../../core/ports";
import type { EventRequest, RemedyDeclaration } from "../../core/remedy";
import { nameOfLimit } from "../../core/outcomes";

/** An obstacle is told again when it was not met for this long: longer than any remedy waits between two tries. */
const RETOLD_AFTER_MS = 900_000;

/** What was said of an object before, so that nothing is repeated pass after pass. */
interface Told {
  /** What stands in the way of which intent, and when it was last met. */
  readonly obstacles: Map<string, number>;
  events: ReadonlySet<string>;
  conditions: ReadonlySet<string>;
}

/** Tells people and machines what happened: Events on the object and on what was acted on, and the metrics of conditions. */
export class Reporter {
  readonly #events: EventSink;
  readonly #metrics: EngineMetrics;
  readonly #clock: Clock;
  readonly #told = new Map<Key, Told>();

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

  /** Tells of intents: of those carried out always, of those that something stands in the way of when that is new. */
  executions(key: Key, object: ControllerResilience, executions: readonly Execution[]): void {
    const { obstacles } = this.#toldOf(key);
    const nowMs = this.#clock.monotonicMs();
    for (const [id, metMs] of obstacles) if (nowMs - metMs > RETOLD_AFTER_MS) obstacles.delete(id);
    for (const { intent, outcome } of executions) {
      const words = wordsFor(intent, outcome);
      if (words === undefined) continue;
      const id = `${idOf(intent)} ${"limit" in outcome ? outcome.limit : words.reason}`;
      if (!obstacles.has(id)) this.#recordBoth(object, intent.target, { ...words, action: actionOf(intent) });
      if (outcome.result === "Executed") forgetObstacles(obstacles, intent);
      else obstacles.set(id, nowMs);
    }
  }

  /** Tells of what remedies want people to know, unless the pass before said the same. */
  events(key: Key, object: ControllerResilience, requests: readonly EventRequest[]): void {
    const told = this.#toldOf(key);
    const now = new Set<string>();
    for (const request of requests) {
      const id = `${request.reason} ${request.note}`;
      if (!told.events.has(id) && !now.has(id)) this.#request(object, request);
      now.add(id);
    }
    told.events = now;
  }

  /** Tells of remedies' conditions whose status or reason has changed, and sets the metrics of all. */
  conditions(key: Key, object: ControllerResilience, after: readonly StatusCondition[]): void {
    const before = object.status?.conditions ?? [];
    for (const condition of after) {
      this.#metrics.condition(key, condition.type, condition.status);
      if (isSummary(condition.type) || !hasChanged(condition, before)) continue;
      const { status, reason, message } = condition;
      const isNormal = status === "True" || reason === "Suspended" || this.#normal.has(`${condition.type}/${reason}`);
      const type = isNormal ? "Normal" : "Warning";
      this.#events.record({ regarding: refOf(object), type, reason, action: "Reconcile", note: message });
    }
    const told = this.#toldOf(key);
    const types = new Set(after.map(({ type }) => type));
    for (const type of told.conditions) if (!types.has(type)) this.#metrics.condition(key, type, null);
    told.conditions = types;
  }

  /** Sets the metric of when bindings expire. */
  bindings(key: Key, bindings: readonly BindingStatus[] = []): void {
    this.#metrics.bindings(key, bindings);
  }

  /** Sets the metric of how many requests flows have. */
  flows(key: Key, flows: readonly FlowStatus[] = []): void {
    this.#metrics.flows(key, flows);
  }

  /** The object is gone: its metrics go, too. */
  forget(key: Key): void {
    this.#metrics.bindings(key, []);
    this.#metrics.flows(key, []);
    for (const type of this.#told.get(key)?.conditions ?? []) this.#metrics.condition(key, type, null);
    this.#told.delete(key);
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

  #toldOf(key: Key): Told {
    const told = this.#told.get(key) ?? { obstacles: new Map(), events: new Set(), conditions: new Set() };
    this.#told.set(key, told);
    return told;
  }
}

interface Words {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly note: string;
}

/** What the Event of an outcome says; undefined where there is nothing to tell, or where a condition tells it. */
function wordsFor(intent: Intent, outcome: Outcome): Words | undefined {
  const what = `${actionOf(intent)} ${intent.target.kind} ${intent.target.name}`;
  switch (outcome.result) {
    case "Executed":
      return { type: "Normal", reason: intent.eventReason, note: intent.why };
    case "Limited": {
      // Over within seconds, mostly; what holds it back then is worth telling.
      if (outcome.limit === "LeaderWarmup" || outcome.limit === "PassTime") return undefined;
      const reason = outcome.limit === "MaxRestarts" ? "RestartsExhausted" : "RestartDeferred";
      return { type: "Warning", reason, note: `${what} is held back by ${nameOfLimit(outcome.limit)}. ${intent.why}` };
    }
    case "Blocked": {
      const reason = intent.restart ? "RestartBlocked" : "WriteBlocked";
      return { type: "Warning", reason, note: `${what} is not allowed now: ${outcome.message}` };
    }
    case "Forbidden":
      return { type: "Warning", reason: "Forbidden", note: `${what} is forbidden: ${outcome.message}` };
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

function forgetObstacles(obstacles: Map<string, number>, intent: Intent): void {
  for (const id of obstacles.keys()) if (id.startsWith(`${idOf(intent)} `)) obstacles.delete(id);
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
