import type { StatusCondition } from "../../api/controller-resilience";
import type { Clock } from "../../core/clock";
import { firstOf } from "../../core/count";
import type { ObjectRef } from "../../core/intent";
import type { Notification, NotificationSink } from "../../core/notifications";
import { oneLine } from "../../core/one-line";
import { cutMessage } from "../../core/status";
import { toSeconds } from "../../core/time";
import { type ConditionSubjects, type Incident, incidentsOf, isUnknown } from "./incidents";
import { NO_NAMES, stillTold, type ToldNames, withNames } from "./told-names";

/** An incident that returns, or a name in it, is told again after this long at the earliest, in milliseconds. */
export const REPEATED_AFTER_MS = 300_000;

/** Longest message of a notification. */
const MAX_MESSAGE = 1_024;

/** Names in one message. */
const NAMED = 3;

const BREAKER = "BreakerTripped";

export interface NoticesSettings {
  readonly topics: readonly string[];
}

interface Told {
  /** Undefined: its end was told as well. */
  readonly open: Incident | undefined;
  /** On the monotonic clock; -Infinity: another process told it. */
  readonly toldMs: number;
  /** Names that were told. Undefined: another process told some, this one has not seen which. */
  readonly names: ToldNames | undefined;
}

const EARLIER = { open: undefined, toldMs: -Infinity, names: undefined } as const;

interface Known {
  readonly subject: ObjectRef;
  /** By topic. */
  readonly told: Map<string, Told>;
}

/**
 * Decides which changes of conditions are notifications. What the status showed before this process wrote it was told by an earlier leader.
 * Kept in memory: a leader that ends before it has delivered a notification loses it.
 */
export class Notices {
  readonly #sink: NotificationSink | undefined;
  readonly #clock: Clock;
  readonly #topics: readonly string[];
  /** By uid. */
  readonly #known = new Map<string, Known>();
  #breakerWhy: string | null = null;

  /** Without a sink nothing is remembered or sent. */
  constructor(clock: Clock, sink?: NotificationSink, { topics }: NoticesSettings = { topics: [] }) {
    this.#clock = clock;
    this.#sink = sink;
    this.#topics = topics;
  }

  /** Takes the conditions of an object after a pass of the leader. `before` are those that the pass has read. */
  conditions(
    subject: ObjectRef,
    before: readonly StatusCondition[],
    after: readonly StatusCondition[],
    subjects?: ConditionSubjects,
  ): void {
    if (this.#sink === undefined || subject.uid === undefined) return;
    const known = this.#known.get(subject.uid) ?? this.#firstSeen(subject, before);
    const open = incidentsOf(after, this.#topics, subjects);
    for (const incident of open) this.#opened(known, incident);
    const isOpen = (told: Incident): boolean => open.some(({ topic }) => topic === told.topic);
    for (const told of openIn(known)) {
      if (!isOpen(told) && !isUnknown(told, after)) this.#resolved(known, told, endOf(told, after));
    }
    if (known.told.size > 0) this.#known.set(subject.uid, known);
  }

  /** Ends the incidents of an object that is gone. */
  gone(kind: string, namespace: string | undefined, name: string): void {
    for (const [uid, known] of this.#known) {
      const { subject } = known;
      if (subject.kind !== kind || subject.namespace !== namespace || subject.name !== name) continue;
      for (const open of openIn(known)) this.#resolved(known, open, "The object was deleted.");
      this.#known.delete(uid);
    }
  }

  /** Forgets all objects: this process no longer leads, and another one tells what comes next. */
  clear(): void {
    this.#known.clear();
  }

  /** Takes why the restart breaker is tripped, as the Lease says, or null. Only a leader tells its reset. */
  breaker(lease: ObjectRef, why: string | null, isLeader: boolean): void {
    const before = this.#breakerWhy;
    this.#breakerWhy = why;
    if (why === null && before !== null && isLeader) this.#tellBreaker(lease, before, "The restart breaker is reset.");
  }

  /** Tells that this process has tripped the restart breaker. */
  breakerTripped(lease: ObjectRef, message: string): void {
    this.#tellBreaker(lease, this.#breakerWhy ?? "", message, "Open");
  }

  #tellBreaker(subject: ObjectRef, why: string, message: string, state: Notification["state"] = "Resolved"): void {
    if (!this.#topics.includes(BREAKER)) return;
    const time = toSeconds(this.#clock.now());
    // The annotation begins with the time of the trip, unless a person has written it.
    const since = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ(?= )/.exec(why)?.[0] ?? time;
    const id = [subject.namespace, subject.name, BREAKER, since].join("/");
    this.#send({ id, state, topic: BREAKER, subject, condition: BREAKER, reason: BREAKER, message, since, time });
  }

  #firstSeen(subject: ObjectRef, before: readonly StatusCondition[]): Known {
    const open = incidentsOf(before, this.#topics);
    return { subject, told: new Map(open.map(incident => [incident.topic, { ...EARLIER, open: incident }])) };
  }

  #opened({ subject, told }: Known, incident: Incident): void {
    const { open, toldMs, names } = told.get(incident.topic) ?? { ...EARLIER, names: NO_NAMES };
    const nowMs = this.#clock.monotonicMs();
    const known = names ?? withNames(NO_NAMES, incident.names);
    const kept = stillTold(known, incident.names, { nowMs, graceMs: REPEATED_AFTER_MS });
    const added = incident.names.filter(name => !kept.has(name));
    if ((open !== undefined && added.length === 0) || nowMs - toldMs < REPEATED_AFTER_MS) {
      told.set(incident.topic, { open, toldMs, names: kept });
      return;
    }
    told.set(incident.topic, { open: open ?? incident, toldMs: nowMs, names: withNames(kept, added) });
    const { message } = incident.condition;
    if (open === undefined) {
      this.#tell(subject, incident, { state: "Open", message });
      return;
    }
    const { lastTransitionTime } = open.condition;
    const same = { ...incident, condition: { ...incident.condition, lastTransitionTime } };
    this.#tell(subject, same, {
      state: "Open",
      message: `Also ${firstOf(added, NAMED)}. ${message}`,
      further: added[0],
    });
  }

  #resolved({ subject, told }: Known, incident: Incident, message: string): void {
    told.set(incident.topic, {
      open: undefined,
      toldMs: told.get(incident.topic)?.toldMs ?? -Infinity,
      names: NO_NAMES,
    });
    this.#tell(subject, incident, { state: "Resolved", message });
  }

  #tell(subject: ObjectRef, { topic, condition }: Incident, { state, message, further }: Words): void {
    const { type, reason, lastTransitionTime: since } = condition;
    const time = toSeconds(this.#clock.now());
    // With the time, since a name may join the same incident again.
    const id = [subject.uid, type, topic, since, ...(further === undefined ? [] : [further, time])].join("/");
    this.#send({ id, state, topic, subject, condition: type, reason, message, since, time });
  }

  #send({ id, message, ...notification }: Notification): void {
    const suffix = notification.state === "Resolved" ? "/resolved" : "";
    // The id may have the name of a binding.
    this.#sink?.send({ ...notification, id: oneLine(id) + suffix, message: cutMessage(message, MAX_MESSAGE) });
  }
}

/** What a notification says of an incident. */
interface Words extends Pick<Notification, "state" | "message"> {
  /** The first of the workloads that have joined an open incident. */
  readonly further?: string | undefined;
}

/** What the condition says now. */
function endOf({ condition }: Incident, after: readonly StatusCondition[]): string {
  const now = after.find(({ type }) => type === condition.type);
  return now?.message ?? "The object no longer reports on this.";
}

function openIn({ told }: Known): Incident[] {
  return [...told.values()].flatMap(({ open }) => (open === undefined ? [] : [open]));
}
