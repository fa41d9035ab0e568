import { toSeconds } from "./time";
import type { StatusCondition, ControllerResilienceStatus } from "../api/controller-resilience";
import { ConditionType } from "../api/conditions";
import { sameJson } from "./json";
import { cutText } from "./text";
import type { StatusList } from "./remedy";

/** The desired state of a condition. */
export interface ConditionUpdate {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** What a condition says. */
export type Words = Pick<ConditionUpdate, "reason" | "message">;

/** Returns Ready with the status False. */
export function notReady({ reason, message }: Words): ConditionUpdate {
  return { type: ConditionType.Ready, status: "False", reason, message };
}

/**
 * Returns Reconciling and Stalled.
 *
 * They are always written, False in the normal state: kstatus treats False like absence, `kubectl wait --for=condition=Stalled=false` works
 * from the first pass on, and the transition time stays readable. As kstatus and Flux require, they are never True together: tools disagree
 * on which one counts then.
 */
export function progressUpdates(progress: Words | undefined, stalled: Words | undefined): ConditionUpdate[] {
  return [
    progressUpdate(ConditionType.Reconciling, stalled ? undefined : progress, "Idle."),
    progressUpdate(ConditionType.Stalled, stalled, "No action required."),
  ];
}

function progressUpdate(type: string, words: Words | undefined, idle: string): ConditionUpdate {
  const { reason, message } = words ?? { reason: "Idle", message: idle };
  return { type, status: words ? "True" : "False", reason, message };
}

/** Longest message of a condition, in bytes. The schema allows 32768 characters, far more than a terminal shows. */
const MAX_MESSAGE = 4_096;

/**
 * Returns one condition per update, with a message that was cleaned and cut. Other conditions are dropped, since their remedies are disabled. lastTransitionTime changes
 * only with status, as metav1.Condition requires.
 */
export function nextConditions(
  previous: readonly StatusCondition[],
  updates: readonly ConditionUpdate[],
  generation: number,
  now: Date,
): StatusCondition[] {
  return updates.map(update => {
    const before = previous.find(condition => condition.type === update.type);
    return {
      type: update.type,
      status: update.status,
      observedGeneration: generation,
      lastTransitionTime: isSince(before, update, now) ? before.lastTransitionTime : toSeconds(now),
      reason: update.reason,
      message: cutText(update.message, MAX_MESSAGE),
    };
  });
}

/** Reports whether the status has been the same since a time that is known: a clock that was ahead may have stamped one. */
function isSince(
  before: StatusCondition | undefined,
  { status }: ConditionUpdate,
  now: Date,
): before is StatusCondition {
  return before?.status === status && !(Date.parse(before.lastTransitionTime) > now.getTime());
}

/** Far below the 1.5 MB that etcd accepts for one object, which includes managedFields. */
const MAX_STATUS_BYTES = 512 * 1024;
/** Lists of the engine. They are not shortened: budgets depend on restarts, which have a limit of their own. */
const KEPT: ReadonlySet<string> = new Set(["conditions", "restarts"] satisfies (keyof ControllerResilienceStatus)[]);

/** Returns the status to write: lists are cut to fit into one object. */
export function boundStatus(status: ControllerResilienceStatus): ControllerResilienceStatus {
  const bounded = { ...status };
  for (let longest = longestList(bounded); longest !== undefined; longest = longestList(bounded)) {
    if (Buffer.byteLength(JSON.stringify(bounded)) <= MAX_STATUS_BYTES) break;
    Object.assign(bounded, { [longest]: bounded[longest]?.slice(0, Math.floor((bounded[longest]?.length ?? 0) / 2)) });
  }
  return withCutLists(bounded, status);
}

/** Adds to the message of Ready which lists were cut. */
function withCutLists(bounded: ControllerResilienceStatus, whole: ControllerResilienceStatus) {
  const sentences = listsOf(whole).flatMap(list => {
    const [left, all] = [bounded[list]?.length ?? 0, whole[list]?.length ?? 0];
    return left === all ? [] : [` status.${list} lists ${left} of ${all} entries: status has reached its size limit.`];
  });
  if (sentences.length === 0) return bounded;
  const cuts = sentences.join("");
  const conditions = bounded.conditions?.map(condition =>
    condition.type === ConditionType.Ready
      ? { ...condition, message: cutText(condition.message, MAX_MESSAGE - cuts.length) + cuts }
      : condition,
  );
  return { ...bounded, ...(conditions && { conditions }) };
}

/** Returns the names of the remedies' lists. Of equally long lists the first is cut first: bindings, which renewals depend on, are last. */
function listsOf(status: ControllerResilienceStatus): StatusList[] {
  const lists = Object.entries(status).filter(([key, value]) => Array.isArray(value) && !KEPT.has(key));
  return lists
    .map(([key]) => key as StatusList)
    .sort()
    .reverse();
}

function longestList(status: ControllerResilienceStatus): StatusList | undefined {
  const sizes = listsOf(status).map(list => ({ list, length: status[list]?.length ?? 0 }));
  sizes.sort((a, b) => b.length - a.length);
  return sizes[0] && sizes[0].length > 0 ? sizes[0].list : undefined;
}

/** Reports whether two statuses are the same to the API server: the order of keys and absent values make no difference. */
export function isSameStatus<Status extends object>(a: Status | undefined, b: Status | undefined): boolean {
  return sameJson(a ?? {}, b ?? {});
}

/** Reports whether a pass will come to a write: no status answers the present spec yet, or the object is being deleted. */
export function hasNews(object: {
  readonly metadata?: { readonly generation?: number; readonly deletionTimestamp?: unknown } | undefined;
  readonly status?: { readonly observedGeneration?: number } | undefined;
}): boolean {
  const { metadata, status } = object;
  return metadata?.deletionTimestamp !== undefined || status?.observedGeneration !== metadata?.generation;
}
