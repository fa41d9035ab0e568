import type { StatusCondition } from "../../../api/controller-resilience";
import { MANAGER } from "../../../api/names";
import { arrayOf, type JsonObject, numberOf, objectOf, textOf } from "../../../core/json";
import { safeText } from "../terminal";

/** A condition, with the help text of its reason. */
export interface ExplainedCondition
  extends Pick<StatusCondition, "type" | "status" | "reason" | "message" | "lastTransitionTime"> {
  readonly help?: string;
}

/** The subject and what it belongs to, as the API server has it. */
export interface LiveSubject {
  /** Absent for a cluster-scoped subject. */
  readonly namespace?: string;
  /** Of the subject, its workload and its ServiceAccount, as in Evidence. */
  readonly ids: readonly string[];
  /** Labels of the subject and its workload, for selectors. */
  readonly labelled: readonly { readonly kind: string; readonly labels: Readonly<Record<string, string>> }[];
  /** Those of them that have the skip annotation. */
  readonly skippedBy: readonly string[];
  /** Sentences for people. */
  readonly notes: readonly string[];
}

/** An Event of the operator. */
export interface EventFacts {
  readonly namespace: string;
  /** RFC 3339: of its last occurrence. */
  readonly time: string;
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly count: number;
  readonly kind: string;
  readonly name: string;
}

const LONGEST_NOTE = 1_024;

/** Returns an Event of the operator; null for one of another controller. Others can imitate it, so its texts may be anything. */
export function eventFacts(raw: JsonObject): EventFacts | null {
  if (raw["reportingController"] !== MANAGER) return null;
  const regarding = objectOf(raw["regarding"]);
  const series = objectOf(raw["series"]);
  const time = textOf(series["lastObservedTime"]) ?? textOf(raw["eventTime"]);
  if (time === undefined) return null;
  return {
    namespace: fieldOf(regarding, "namespace") || fieldOf(objectOf(raw["metadata"]), "namespace"),
    time,
    type: fieldOf(raw, "type"),
    reason: fieldOf(raw, "reason"),
    note: fieldOf(raw, "note"),
    count: numberOf(series["count"]) ?? 1,
    kind: fieldOf(regarding, "kind"),
    name: fieldOf(regarding, "name"),
  };
}

function fieldOf(object: JsonObject, field: string): string {
  return safeText(textOf(object[field]) ?? "", LONGEST_NOTE);
}

/** Returns the controlling owner of an object, as kind and name. */
export function controllerOf(raw: JsonObject): { kind: string; name: string } | undefined {
  const owners = arrayOf(objectOf(raw["metadata"])["ownerReferences"]).map(objectOf);
  const owner = owners.find(({ controller }) => controller === true);
  const kind = textOf(owner?.["kind"]);
  const name = textOf(owner?.["name"]);
  return kind === undefined || name === undefined ? undefined : { kind, name };
}
