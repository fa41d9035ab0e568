import { ConditionType } from "../../api/conditions";
import type { StatusCondition } from "../../api/controller-resilience";
import type { EventRecord, Key } from "../../core/ports";
import type { ReasonRule, RemedyDeclaration } from "../../core/remedy";

/** A problem that lasts for less than this passes by itself and has no Event. In milliseconds. */
export const GRACE_MS = 30_000;

/** An Event about a condition. */
export interface ConditionEvent extends Pick<EventRecord, "type" | "problem" | "isEnd"> {
  readonly condition: StatusCondition;
}

/** What Events have said of one condition. */
interface Told {
  /** Status and reason of the last Event, or of the status that was read first; undefined: the condition is new. */
  readonly state: string | undefined;
  /** Status and reason in the last pass of this process. */
  readonly seen: string;
  /** When the Event was recorded, and since when the condition differs from it, on the monotonic clock. */
  readonly toldMs?: number;
  readonly differsSinceMs?: number;
}

/**
 * Decides which changes of conditions have an Event. A change to a Warning has one only if it lasts, and a change back to what was told
 * before has none. A person has to act when Stalled becomes True: that is a Warning, unless the remedy's own condition has said the same.
 *
 * Kept in memory only: a crash may lose or repeat an Event.
 */
export class ToldConditions {
  readonly #rules: ReadonlyMap<string, ReasonRule>;
  readonly #told = new Map<Key, ReadonlyMap<string, Told>>();
  /** Types of the conditions that had a Warning, and have not become True since. */
  readonly #warned = new Map<Key, Set<string>>();

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
    nowMs: number,
  ): ConditionEvent[] {
    const known = this.#told.get(key);
    const told = new Map<string, Told>();
    const warned = this.#warned.get(key) ?? this.#warnedIn(before);
    const events: ConditionEvent[] = [];
    // Stalled is the last condition, so what it repeats comes before it.
    for (const condition of after) {
      if (condition.type === ConditionType.Ready || condition.type === ConditionType.Reconciling) continue;
      const previous = before.find(({ type }) => type === condition.type);
      const type = this.#eventType(condition);
      const last = toldBefore(known?.get(condition.type), previous);
      const next = nextTold(last, condition, { type, mayPass: this.#mayPass(condition, type), nowMs });
      const isTold = next.state !== last.state && type !== "None";
      if (isTold && !(condition.type === ConditionType.Stalled && isRepetition(next, told, nowMs))) {
        events.push({ condition, type, ...problemOf(condition, { type, after, warned }) });
      }
      told.set(condition.type, next);
    }
    this.#told.set(key, told);
    this.#warned.set(key, warned);
    return events;
  }

  /** Drops what is remembered of an object that is gone. */
  forget(key: Key): void {
    this.#told.delete(key);
    this.#warned.delete(key);
  }

  /** What status shows was told by an earlier leader. */
  #warnedIn(conditions: readonly StatusCondition[]): Set<string> {
    const isWarning = (one: StatusCondition): boolean => this.#eventType(one) === "Warning";
    return new Set(conditions.filter(isWarning).map(({ type }) => type));
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

/**
 * What the Event is about. A Warning of Stalled is about the condition with the same reason. The Event by which a condition becomes True again
 * ends the Warnings about it.
 */
function problemOf(
  { type, status, reason }: StatusCondition,
  context: { readonly type: string; readonly after: readonly StatusCondition[]; readonly warned: Set<string> },
): Pick<EventRecord, "problem" | "isEnd"> {
  const { after, warned } = context;
  if (context.type === "Warning") {
    const problem = after.find(one => one.reason === reason && !SUMMARIES.includes(one.type))?.type ?? type;
    warned.add(problem);
    return { problem };
  }
  return status === "True" && warned.delete(type) ? { problem: type, isEnd: true } : {};
}

/** Conditions that repeat what those of remedies say. */
const SUMMARIES: readonly string[] = [ConditionType.Ready, ConditionType.Reconciling, ConditionType.Stalled];

/** Returns what to record of a condition after a pass. */
function nextTold(
  last: Omit<Told, "seen">,
  condition: StatusCondition,
  rule: { readonly type: ReasonRule["event"]; readonly mayPass: boolean; readonly nowMs: number },
): Told {
  const { type, mayPass, nowMs } = rule;
  const seen = stateOf(condition);
  const { differsSinceMs = nowMs, ...told } = last;
  // A stall that has ended is told again when it returns.
  if (type === "None") return condition.type === ConditionType.Stalled ? { state: seen, seen } : { ...told, seen };
  if (seen === told.state) return { ...told, seen };
  if (mayPass && nowMs - differsSinceMs < GRACE_MS) return { ...told, seen, differsSinceMs };
  return { state: seen, seen, toldMs: nowMs };
}

/** Another leader may have written the condition since this process did. Then it has recorded the Events as well. */
function toldBefore(known: Told | undefined, previous: StatusCondition | undefined): Omit<Told, "seen"> {
  const read = previous && stateOf(previous);
  return known?.seen === read && known !== undefined ? known : { state: read };
}

/** Reports whether the condition of a remedy has just told the same as Stalled. */
function isRepetition({ seen }: Told, others: ReadonlyMap<string, Told>, nowMs: number): boolean {
  const reason = reasonOf(seen);
  return [...others.values()].some(
    ({ state, toldMs = -Infinity }) => state !== undefined && reasonOf(state) === reason && nowMs - toldMs <= GRACE_MS,
  );
}

function stateOf({ status, reason }: StatusCondition): string {
  return `${status}/${reason}`;
}

function reasonOf(state: string): string {
  return state.slice(state.indexOf("/") + 1);
}
