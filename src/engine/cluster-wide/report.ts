import type {
  ClusterConflict,
  ClusterControllerResilience,
  ClusterControllerResilienceStatus,
  ExcludedCount,
  KindSuggestion,
} from "../../api/cluster-controller-resilience";
import type { ControllerResilience, StatusCondition } from "../../api/controller-resilience";
import { ClusterReason, ConditionType } from "../../api/conditions";
import { ALLOW_REMOVAL_ANNOTATION, CLUSTER_KIND, GENERATED_FOR_LABEL, PLURAL } from "../../api/names";
import { type ConditionUpdate, nextConditions } from "../../core/status";
import { count, cutText, firstOf } from "../../core/text";
import { whyObserved } from "../../core/remedy";
import { toSeconds } from "../../core/time";
import { isWaiting, permission, waitsSince } from "./brake";
import { type Coverage, countOf } from "./coverage";
import type { NamespaceShare } from "./plan";

/** Most conflicts in status; the schema has the same limit. */
const MAX_CONFLICTS = 32;

/** Most kinds that are suggested; the schema has the same limit. */
const MAX_SUGGESTIONS = 20;

/** Longest message of one of them; the schema has the same limit. */
const MAX_CONFLICT_MESSAGE = 1_024;

/** Most names that a message lists. */
const MAX_NAMED = 3;

/** An object that is being deleted for this long, in milliseconds, needs a person: something that a remedy made cannot be removed. */
const STUCK_AFTER_MS = 600_000;

/** Says of how many objects the deletion, or that of a block, waits. */
const HELD = "Generated objects that are kept, in Observe, until the operator acts again";

/** What stopped the work for one ClusterControllerResilience in one namespace. */
export interface NamespaceFailure {
  /** Refused: the API server refuses a write, or fails for long, so a person has to act. Failed: it is tried again. */
  readonly reason: "Refused" | "Failed";
  readonly message: string;
}

/** What one ClusterControllerResilience amounts to in one namespace. */
export interface NamespaceResult {
  readonly namespace: string;
  readonly share?: NamespaceShare;
  readonly failure?: NamespaceFailure;
  /** It could not be looked at now; else a write failed. */
  readonly isUnread?: boolean;
}

/** When, and in which mode of the operator. */
export interface Circumstances {
  readonly now: Date;
  /** The operator runs with `--mode=Observe`. */
  readonly observes?: boolean;
  /** Workloads that stay protected until a person allows to remove them, as `namespace/Deployment/web`. */
  readonly waiting?: readonly string[];
  /** Kinds that no stallDetection follows, of any workload. Absent: not known yet, so that status keeps what it has. */
  readonly unfollowed?: readonly KindSuggestion[] | undefined;
}

/** Returns the status of a ClusterControllerResilience. Pure. */
export function clusterStatus(
  object: ClusterControllerResilience,
  results: readonly NamespaceResult[],
  coverage: Coverage,
  { now, observes = false, waiting = [], unfollowed }: Circumstances,
): ClusterControllerResilienceStatus {
  const shares = results.flatMap(({ share }) => (share === undefined ? [] : [share]));
  const inside = shares.filter(({ exclusion }) => exclusion === null);
  const byHand = sum(inside, ({ excluded }) => excluded.get("HandWritten") ?? 0);
  const conflicts = conflictsOf(results);
  const counts: Counts = {
    namespaces: inside.length,
    workloads: byHand + sum(inside, ({ selected }) => selected.size),
    protected: byHand + sum(inside, share => share.protected),
    objects: shares.flatMap(share => share.objects),
    isSettled: shares.every(share => share.isSettled),
    failures: results.filter(({ failure }) => failure !== undefined),
    stuck: shares.flatMap(share => share.ending).filter(generated => isStuck(generated, now)),
    ...{ held: sum(shares, share => share.held), observes },
    ...{ waiting, now },
  };
  return {
    observedGeneration: object.metadata.generation,
    namespaces: counts.namespaces,
    enforced: observes ? 0 : counts.objects.filter(({ spec }) => spec.mode === "Enforce" && !spec.suspend).length,
    workloads: counts.workloads,
    protected: counts.protected,
    objects: counts.objects.length,
    excluded: excludedOf(shares),
    conflicts: conflicts.slice(0, MAX_CONFLICTS),
    conflictsTotal: conflicts.length,
    ...suggestionsOf(object, results, unfollowed),
    conditions: nextConditions(
      previousOf(object, waiting),
      conditionsOf(object, counts, coverage),
      object.metadata.generation,
      now,
    ),
  };
}

/** A permission names the time at which workloads began to wait, so Stalled for another reason does not count as earlier. */
function previousOf({ status }: ClusterControllerResilience, waiting: readonly string[]): readonly StatusCondition[] {
  const conditions = status?.conditions ?? [];
  return conditions.filter(one => one.type !== ConditionType.Stalled || isWaiting(one) === waiting.length > 0);
}

interface Counts {
  readonly namespaces: number;
  readonly workloads: number;
  readonly protected: number;
  readonly objects: readonly ControllerResilience[];
  /** Nothing is left to be written. */
  readonly isSettled: boolean;
  readonly failures: readonly NamespaceResult[];
  /** Generated objects whose deletion does not end. */
  readonly stuck: readonly ControllerResilience[];
  readonly held: number;
  readonly observes: boolean;
  readonly waiting: readonly string[];
  readonly now: Date;
}

function conditionsOf(object: ClusterControllerResilience, counts: Counts, coverage: Coverage): ConditionUpdate[] {
  const ready = object.spec.suspend ? SUSPENDED : withMode(readyOf(object, counts), counts);
  const stalled = stalledOf(object, counts);
  const isBusy = stalled.status === "False" && ready.reason === ClusterReason.Progressing;
  const reconciling: ConditionUpdate = isBusy
    ? { ...ready, type: ConditionType.Reconciling, status: "True" }
    : { type: ConditionType.Reconciling, status: "False", reason: "Idle", message: "Idle." };
  return [ready, coveredOf(coverage, counts), reconciling, stalled];
}

const SUSPENDED: ConditionUpdate = {
  type: ConditionType.Ready,
  status: "Unknown",
  reason: "Suspended",
  message: "Suspended: spec.suspend is true.",
};

/** As on the generated objects: what wins over their mode shows nowhere else. */
function withMode(ready: ConditionUpdate, { observes, held }: Counts): ConditionUpdate {
  const why = observes ? ` Only observed: ${whyObserved("OperatorObserves")}.` : "";
  const left = held === 0 ? "" : ` ${HELD}: ${String(held)}.`;
  return { ...ready, message: `${ready.message}${why}${left}` };
}

function readyOf(object: ClusterControllerResilience, counts: Counts): ConditionUpdate {
  const type = ConditionType.Ready;
  if (counts.waiting.length > 0) return { ...removalWaits(object, counts), type, status: "False" };
  const [failure] = counts.failures;
  if (failure?.failure !== undefined) {
    const message = `${failuresIn(counts.failures)} ${failure.failure.message}`;
    return { type, status: "False", reason: failure.failure.reason, message };
  }
  if (counts.namespaces === 0) {
    const message = "spec.namespaceSelector selects no namespace.";
    return { type, status: "False", reason: ClusterReason.TargetNotFound, message };
  }
  if (counts.workloads === 0) {
    const message = `spec.workloads selects no workload in ${count(counts.namespaces, "namespace")}.`;
    return { type, status: "False", reason: ClusterReason.TargetNotFound, message };
  }
  const progress = progressOf(counts);
  if (progress !== undefined) return { type, status: "False", reason: ClusterReason.Progressing, message: progress };
  const unready = counts.objects.filter(generated => conditionOf(generated, ConditionType.Ready)?.status === "False");
  if (unready.length > 0) {
    const message = `${String(unready.length)} of ${count(counts.objects.length, "generated object")} ${are(unready.length)} not Ready: ${reasonsOf(unready)}. ${listCommand(object)}`;
    return { type, status: "False", reason: ClusterReason.ObjectsNotReady, message };
  }
  if (counts.stuck.length > 0)
    return { type, status: "False", reason: ClusterReason.ObjectsNotReady, message: stuckMessage(counts.stuck) };
  const message = `All ${count(counts.workloads, "selected workload")} in ${count(counts.namespaces, "namespace")} are protected.`;
  return { type, status: "True", reason: ClusterReason.AllProtected, message };
}

function progressOf(counts: Counts): string | undefined {
  if (counts.protected === counts.workloads)
    return counts.isSettled ? undefined : "Generated objects are being changed.";
  return `${String(counts.protected)} of ${count(counts.workloads, "selected workload")} ${are(counts.protected)} protected so far.`;
}

function isStuck({ metadata: { deletionTimestamp = "" } }: ControllerResilience, now: Date): boolean {
  return now.getTime() - Date.parse(deletionTimestamp) >= STUCK_AFTER_MS;
}

function stuckMessage(stuck: readonly ControllerResilience[]): string {
  return `The deletion of ${count(stuck.length, "generated object")} does not end: ${named(stuck.map(nameOf))}; see their condition Stalled.`;
}

function removalWaits(
  { metadata: { name }, status }: ClusterControllerResilience,
  { waiting, now }: Counts,
): Pick<ConditionUpdate, "reason" | "message"> {
  const value = permission(waiting.length, waitsSince(status?.conditions) ?? toSeconds(now));
  const message = `${count(waiting.length, "protected workload")} would lose protection: ${named(waiting)}. They stay protected. Correct the selectors or labels, or let them go: kubectl annotate ${CLUSTER_KIND.toLowerCase()} ${name} ${ALLOW_REMOVAL_ANNOTATION}=${value} --overwrite`;
  return { reason: ClusterReason.RemovalWaits, message };
}

function stalledOf(object: ClusterControllerResilience, counts: Counts): ConditionUpdate {
  const type = ConditionType.Stalled;
  const { failures, objects, stuck } = counts;
  if (counts.waiting.length > 0) return { ...removalWaits(object, counts), type, status: "True" };
  const refused = failures.find(({ failure }) => failure?.reason === "Refused")?.failure;
  if (refused !== undefined && !object.spec.suspend)
    return { type, status: "True", reason: refused.reason, message: `${failuresIn(failures)} ${refused.message}` };
  const stalled = objects.filter(generated => conditionOf(generated, type)?.status === "True");
  if (stalled.length + stuck.length === 0 || object.spec.suspend)
    return { type, status: "False", reason: "Idle", message: "No action required." };
  const message = `${String(stalled.length)} of ${count(objects.length, "generated object")} ${are(stalled.length)} Stalled: ${named(stalled.map(nameOf))}. ${listCommand(object)}`;
  const messages = [...(stalled.length > 0 ? [message] : []), ...(stuck.length > 0 ? [stuckMessage(stuck)] : [])];
  return { type, status: "True", reason: ClusterReason.ObjectsNotReady, message: messages.join(" ") };
}

/** What was not read may lack protection. */
function coveredOf(coverage: Coverage, { failures }: Counts): ConditionUpdate {
  const type = ConditionType.Covered;
  const open = coverage.counts.filter(({ protection }) => protection === "unprotected");
  const [unprotected, safe] = [countOf(coverage, "unprotected"), countOf(coverage, "protected")];
  const unread = failures.filter(({ isUnread }) => isUnread);
  const why = unread[0]?.failure;
  if (unprotected === 0 && why !== undefined)
    return { type, status: "Unknown", reason: why.reason, message: `${failuresIn(unread)} ${why.message}` };
  if (unprotected === 0) {
    const message = `Every workload that uses the API is protected (${String(safe)}) or excluded on purpose (${String(countOf(coverage, "excluded"))}).`;
    return { type, status: "True", reason: ClusterReason.AllProtected, message };
  }
  const all = coverage.counts.reduce((total, { count: number }) => total + number, 0);
  const reasons = open.map(({ reason, count: number }) => `${String(number)} ${reason}`).join(", ");
  const message = `${String(unprotected)} of ${count(all, "workload")} that use the API ${are(unprotected)} not protected (${reasons}), such as ${coverage.examples.join(", ")}.`;
  return { type, status: "False", reason: ClusterReason.Unprotected, message };
}

function excludedOf(shares: readonly NamespaceShare[]): ExcludedCount[] {
  const counts = new Map<string, number>();
  for (const { excluded } of shares)
    for (const [reason, number] of excluded)
      if (reason !== "DoesNotUseAPI") counts.set(reason, (counts.get(reason) ?? 0) + number);
  return [...counts].sort().map(([reason, number]) => ({ reason, count: number }));
}

function conflictsOf(results: readonly NamespaceResult[]): ClusterConflict[] {
  const conflicts = results.flatMap(({ namespace, share, failure }) => [
    ...(failure === undefined ? [] : [{ namespace, ...failure }]),
    ...[...(share?.overlaps ?? [])].map(([other, workloads]) => ({
      ...{ namespace, reason: "OtherClusterObject" as const },
      message: `The older ClusterControllerResilience ${other} protects ${named(workloads)}.`,
    })),
  ]);
  const severity = ({ reason }: ClusterConflict): number => (reason === "OtherClusterObject" ? 1 : 0);
  return conflicts
    .map(conflict => ({ ...conflict, message: cutText(conflict.message, MAX_CONFLICT_MESSAGE) }))
    .sort((a, b) => severity(a) - severity(b) || (a.namespace < b.namespace ? -1 : 1));
}

/** Of the selected workloads. */
function suggestionsOf(
  { status }: ClusterControllerResilience,
  results: readonly NamespaceResult[],
  unfollowed: Circumstances["unfollowed"],
): Pick<ClusterControllerResilienceStatus, "suggestions"> {
  const selected = new Set(
    results.flatMap(({ namespace, share }) => [...(share?.selected ?? [])].map(name => `${namespace}/${name}`)),
  );
  const suggestions = unfollowed?.filter(({ workload }) => selected.has(workload)).slice(0, MAX_SUGGESTIONS);
  const known = suggestions ?? status?.suggestions ?? [];
  return known.length === 0 ? {} : { suggestions: [...known] };
}

function failuresIn(failures: readonly NamespaceResult[]): string {
  return `In ${failures.length === 1 ? "namespace" : "namespaces"} ${named(failures.map(({ namespace }) => namespace))}:`;
}

function reasonsOf(objects: readonly ControllerResilience[]): string {
  const reasons = new Map<string, number>();
  for (const object of objects) {
    const reason = conditionOf(object, ConditionType.Ready)?.reason ?? "";
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  return [...reasons]
    .sort()
    .map(([reason, number]) => `${String(number)} ${reason}`)
    .join(", ");
}

function listCommand({ metadata }: ClusterControllerResilience): string {
  return `List them: kubectl get ${PLURAL} -A -l ${GENERATED_FOR_LABEL}=${metadata.name}`;
}

function conditionOf({ status }: ControllerResilience, type: string) {
  return status?.conditions?.find(condition => condition.type === type);
}

function nameOf({ metadata }: ControllerResilience): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function are(number: number): string {
  return number === 1 ? "is" : "are";
}

function named(names: readonly string[]): string {
  return firstOf(names, MAX_NAMED);
}

function sum<T>(items: readonly T[], valueOf: (item: T) => number): number {
  return items.reduce((total, item) => total + valueOf(item), 0);
}
