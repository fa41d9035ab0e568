import { ConditionType } from "../../api/conditions";
import type { StatusCondition } from "../../api/controller-resilience";
import type { ReasonOf } from "../../core/remedy";

/** Topics that are sent by default. */
export const DEFAULT_TOPICS = ["Stalled", "BreakerTripped", "RestartsExhausted", "Runaway", "ExpiringSoon"] as const;

/** Reasons that are one incident: a runaway stays one while it is throttled. */
const REASONS_OF: Readonly<Record<string, readonly string[]>> = {
  Runaway: ["Runaway", "Throttled", "ThrottleGivenUp"],
};

const STALLED = ConditionType.Stalled;

/** Conditions that only repeat those of remedies. */
const SUMMARIES: readonly string[] = [ConditionType.Ready, ConditionType.Reconciling];

/** The restart breaker belongs to the whole cluster: its one notification is about the Lease. */
const OF_THE_LEASE = "BreakerTripped";

/** What each condition is about, by its type. */
export type ConditionSubjects = ReadonlyMap<string, readonly ReasonOf[]>;

/** A problem of one object, from one of its conditions. */
export interface Incident {
  readonly topic: string;
  readonly condition: StatusCondition;
  /** The workloads, bindings or flows that have it, such as `Deployment/web`; empty if the remedy names none. */
  readonly names: readonly string[];
}

/** Returns the incidents that these conditions show, at most one per topic. Pure. */
export function incidentsOf(
  conditions: readonly StatusCondition[],
  topics: readonly string[],
  subjects: ConditionSubjects = new Map(),
): Incident[] {
  const found = topics.flatMap(topic => {
    const condition = conditions.find(each => isAbout(each, topic));
    if (condition === undefined) return [];
    const named = (subjects.get(condition.type) ?? []).filter(({ reason }) => reasonsOf(topic).includes(reason));
    return [{ topic, condition, names: [...new Set(named.map(({ name }) => name))].sort() }];
  });
  const reasons = new Set(found.filter(({ topic }) => topic !== STALLED).map(({ condition }) => condition.reason));
  // The condition of a remedy has said the same.
  return found.filter(({ topic, condition }) => topic !== STALLED || !reasons.has(condition.reason));
}

/** Reports whether nothing is known of the condition now, so that its incident is neither open nor over. Pure. */
export function isUnknown({ condition: { type } }: Incident, conditions: readonly StatusCondition[]): boolean {
  return conditions.find(each => each.type === type)?.status === "Unknown";
}

function isAbout({ type, status, reason }: StatusCondition, topic: string): boolean {
  if (topic === STALLED) return type === STALLED && status === "True" && reason !== OF_THE_LEASE;
  if (topic === OF_THE_LEASE || type === STALLED || SUMMARIES.includes(type)) return false;
  return reasonsOf(topic).includes(reason);
}

function reasonsOf(topic: string): readonly string[] {
  return REASONS_OF[topic] ?? [topic];
}
