import type {
  ClusterConflict,
  ClusterControllerResilience,
  ClusterControllerResilienceStatus,
  KindSuggestion,
} from "../../api/cluster-controller-resilience";
import type { ControllerResilience, StatusCondition } from "../../api/controller-resilience";
import { ClusterReason, ConditionType } from "../../api/conditions";
import { ALLOW_REMOVAL_ANNOTATION, CLUSTER_KIND, GENERATED_FOR_LABEL, PLURAL } from "../../api/names";
import { type ConditionUpdate, nextConditions, progressUpdates, type Words } from "../../core/status";
import { count, cutText, firstOf } from "../../core/text";
import { apiVersionOf, KINDS } from "../../core/kinds";
import type { EventRecord } from "../../core/ports";
import { modeOf, whyObserved } from "../../core/remedy";
import { toSeconds } from "../../core/time";
import { isWaiting, permission, waitsSince } from "./brake";
import type { WorkloadProtection } from "./coverage";
import { isBeingDeleted, MAX_TARGETS } from "./generated";
import { type NamespaceShare, tally } from "./plan";
import type { NamespaceResult } from "./results";

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

/** When, and in which mode of the operator. */
export interface Circumstances {
  readonly now: Date;
  /** The operator runs with `--mode=Observe`. */
  readonly observes: boolean;
  /** Workloads that stay protected until a person allows to remove them, as `namespace/Deployment/web`. */
  readonly waiting: readonly string[];
  /** Of all workloads of the cluster. */
  readonly protections: readonly WorkloadProtection[];
  /** Kinds that no stallDetection follows, of any workload. Absent: not known yet, so that status keeps what it has. */
  readonly unfollowed: readonly KindSuggestion[] | undefined;
}

/** Returns the status of a ClusterControllerResilience. Pure. */
export function clusterStatus(
  object: ClusterControllerResilience,
  found: readonly NamespaceResult[],
  circumstances: Circumstances,
): ClusterControllerResilienceStatus {
  const { now, observes, waiting } = circumstances;
  const { generation: observedGeneration } = object.metadata;
  const results = found.map(withLimit);
  const sum = addUp(results, circumstances);
  const { namespaces, workloads, objects } = sum;
  const conflicts = conflictsOf(results);
  return {
    ...{ observedGeneration, namespaces },
    enforced: observes ? 0 : objects.filter(one => modeOf(one) === "Enforce" && !one.spec.suspend).length,
    ...{ workloads, protected: sum.protected, objects: objects.length },
    excluded: [...reasonsIn(sum.shares)].sort().map(([reason, number]) => ({ reason, count: number })),
    conflicts: conflicts.slice(0, MAX_CONFLICTS),
    conflictsTotal: conflicts.length,
    ...suggestionsOf(object, results, circumstances),
    conditions: nextConditions(previousOf(object, waiting), conditionsOf(object, sum), observedGeneration, now),
  };
}

/** What does not fit into the object of a namespace needs a person. */
function withLimit(result: NamespaceResult): NamespaceResult {
  const { share, failure } = result;
  const left = share?.isSettled === true ? share.selected.size - share.protected : 0;
  if (left === 0 || failure !== undefined) return result;
  const message = `${count(left, "selected workload")} ${are(left)} unprotected, since a generated object lists at most ${MAX_TARGETS}; name some in an object of your own, or leave them out.`;
  return { ...result, failure: { isRefused: true, message } };
}

/** A permission names the time at which workloads began to wait, so Stalled for another reason does not count as earlier. */
function previousOf({ status }: ClusterControllerResilience, waiting: readonly string[]): readonly StatusCondition[] {
  const conditions = status?.conditions ?? [];
  return conditions.filter(one => one.type !== ConditionType.Stalled || isWaiting(one) === waiting.length > 0);
}

type Sum = ReturnType<typeof addUp>;

/** What the namespaces amount to. */
function addUp(results: readonly NamespaceResult[], circumstances: Circumstances) {
  const shares = results.flatMap(({ share }) => share ?? []);
  const inside = shares.filter(({ exclusion }) => exclusion === null);
  const byHand = reasonsIn(inside).get("HandWritten") ?? 0;
  const objects = shares.flatMap(share => share.objects);
  return {
    ...{ ...circumstances, shares, namespaces: inside.length },
    workloads: inside.reduce((sum, { selected }) => sum + selected.size, byHand),
    protected: inside.reduce((sum, share) => sum + share.protected, byHand),
    objects: objects.filter(object => !isBeingDeleted(object)),
    /** Generated objects whose deletion does not end. */
    stuck: objects.filter(object => isStuck(object, circumstances.now)),
    /** Nothing is left to be written. */
    isSettled: shares.every(share => share.isSettled),
    /** Those first that need a person. */
    failures: results
      .flatMap(({ namespace, failure }) => (failure === undefined ? [] : [{ namespace, ...failure }]))
      .toSorted((a, b) => Number(b.isRefused) - Number(a.isRefused)),
  };
}

function isStuck({ metadata: { deletionTimestamp = "" } }: ControllerResilience, now: Date): boolean {
  return now.getTime() - Date.parse(deletionTimestamp) >= STUCK_AFTER_MS;
}

function conditionsOf(object: ClusterControllerResilience, sum: Sum): ConditionUpdate[] {
  const ready = readyOf(object, sum);
  const progress = ready.reason === ClusterReason.Progressing ? ready : undefined;
  return [ready, coveredOf(sum), ...progressUpdates(progress, stalledOf(object, sum))];
}

function readyOf(object: ClusterControllerResilience, sum: Sum): ConditionUpdate {
  const type = ConditionType.Ready;
  if (object.spec.suspend)
    return { type, status: "Unknown", reason: "Suspended", message: "Suspended: spec.suspend is true." };
  const problem = removalWaits(object, sum) ?? failureIn(sum.failures) ?? gapIn(sum) ?? unreadyIn(object, sum);
  const where = `${count(sum.workloads, "selected workload")} in ${count(sum.namespaces, "namespace")}`;
  const words = problem ?? { reason: ClusterReason.AllProtected, message: `All ${where} are protected.` };
  // As on the generated objects: what wins over their mode shows nowhere else.
  const why = sum.observes ? ` Only observed: ${whyObserved("OperatorObserves")}.` : "";
  return { type, status: problem ? "False" : "True", reason: words.reason, message: `${words.message}${why}` };
}

/** What is not selected, or not protected yet. */
function gapIn({ namespaces, workloads, protected: safe, isSettled }: Sum): Words | undefined {
  const nowhere =
    namespaces === 0
      ? "spec.namespaceSelector selects no namespace."
      : `spec.workloads selects no workload in ${count(namespaces, "namespace")}.`;
  if (workloads === 0) return { reason: ClusterReason.TargetNotFound, message: nowhere };
  const left = `${safe} of ${count(workloads, "selected workload")} ${are(safe)} protected so far.`;
  if (safe === workloads && isSettled) return undefined;
  const message = safe === workloads ? "Generated objects are being changed." : left;
  return { reason: ClusterReason.Progressing, message };
}

function unreadyIn(object: ClusterControllerResilience, { objects, stuck }: Sum): Words | undefined {
  const unready = objects.flatMap(one => conditionOf(one, ConditionType.Ready, "False") ?? []);
  if (unready.length + stuck.length === 0) return undefined;
  const reasons = listed([...tally(unready.map(({ reason }) => reason))].sort());
  const some = `${unready.length} of ${count(objects.length, "generated object")} ${are(unready.length)} not Ready`;
  const message = unready.length > 0 ? `${some}: ${reasons}. ${listCommand(object)}` : stuckMessage(stuck);
  return { reason: ClusterReason.ObjectsNotReady, message };
}

/** Returns what a person has to do. */
function stalledOf(object: ClusterControllerResilience, sum: Sum): Words | undefined {
  const { failures, objects, stuck, waiting } = sum;
  if (waiting.length > 0) return removalWaits(object, sum);
  if (object.spec.suspend) return undefined;
  if (failures[0]?.isRefused === true) return failureIn(failures);
  const stalled = objects.filter(one => conditionOf(one, ConditionType.Stalled, "True"));
  if (stalled.length + stuck.length === 0) return undefined;
  const some = `${stalled.length} of ${count(objects.length, "generated object")} ${are(stalled.length)} Stalled`;
  const message = `${some}: ${named(stalled.map(nameOf))}. ${listCommand(object)}`;
  const messages = [...(stalled.length > 0 ? [message] : []), ...(stuck.length > 0 ? [stuckMessage(stuck)] : [])];
  return { reason: ClusterReason.ObjectsNotReady, message: messages.join(" ") };
}

function stuckMessage(stuck: readonly ControllerResilience[]): string {
  return `The deletion of ${count(stuck.length, "generated object")} does not end: ${named(stuck.map(nameOf))}; see their condition Stalled.`;
}

function removalWaits(
  { metadata: { name }, status }: ClusterControllerResilience,
  { waiting, now }: Sum,
): Words | undefined {
  if (waiting.length === 0) return undefined;
  const value = permission(waiting.length, waitsSince(status?.conditions) ?? toSeconds(now));
  const message = `${count(waiting.length, "protected workload")} would lose protection: ${named(waiting)}. They stay protected. Correct the selectors or labels, or let them go: kubectl annotate ${CLUSTER_KIND.toLowerCase()} ${name} ${ALLOW_REMOVAL_ANNOTATION}=${value} --overwrite`;
  return { reason: ClusterReason.RemovalWaits, message };
}

/** What was not read may lack protection. */
function coveredOf({ protections, failures }: Sum): ConditionUpdate {
  const type = ConditionType.Covered;
  const unread = failureIn(failures.filter(({ isUnread }) => isUnread));
  const unprotected = protections.filter(({ protection }) => protection === "unprotected");
  if (unprotected.length === 0 && unread) return { type, status: "Unknown", ...unread };
  if (unprotected.length === 0) {
    const safe = protections.filter(({ protection }) => protection === "protected").length;
    const message = `Every workload that uses the API is protected (${safe}) or excluded on purpose (${protections.length - safe}).`;
    return { type, status: "True", reason: ClusterReason.AllProtected, message };
  }
  const reasons = listed([...tally(unprotected.map(({ reason }) => reason))].sort());
  // Sorted, since namespaces are looked at in another order by each leader.
  const examples = unprotected.map(({ workload }) => workload).sort();
  const message = `${unprotected.length} of ${count(protections.length, "workload")} that use the API ${are(unprotected.length)} not protected (${reasons}), such as ${examples.slice(0, MAX_NAMED).join(", ")}.`;
  return { type, status: "False", reason: ClusterReason.Unprotected, message };
}

function reasonsIn(shares: readonly NamespaceShare[]): Map<string, number> {
  return tally(shares.flatMap(({ excluded }) => [...excluded.values()]));
}

function conflictsOf(results: readonly NamespaceResult[]): ClusterConflict[] {
  const conflicts = results.flatMap(({ namespace, share, failure }) => [
    ...(failure?.isRefused === true ? [{ namespace, reason: "Refused" as const, message: failure.message }] : []),
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
  { unfollowed }: Circumstances,
): Pick<ClusterControllerResilienceStatus, "suggestions"> {
  const selected = new Set(
    results.flatMap(({ namespace, share }) => Array.from(share?.selected ?? [], name => `${namespace}/${name}`)),
  );
  const found = unfollowed?.filter(({ workload }) => selected.has(workload)).slice(0, MAX_SUGGESTIONS);
  const suggestions = found ?? status?.suggestions ?? [];
  return suggestions.length === 0 ? {} : { suggestions: [...suggestions] };
}

/** Names the namespaces, with the failure in the first one. */
function failureIn(failures: Sum["failures"]): Words | undefined {
  const [first] = failures;
  if (first === undefined) return undefined;
  const names = named(failures.map(({ namespace }) => namespace));
  const where = `In ${failures.length === 1 ? "namespace" : "namespaces"} ${names}:`;
  const reason = first.isRefused ? ClusterReason.Refused : ClusterReason.Progressing;
  return { reason, message: `${where} ${first.message}` };
}

function listed(counts: readonly (readonly [reason: string, count: number])[]): string {
  return counts.map(([reason, number]) => `${String(number)} ${reason}`).join(", ");
}

function listCommand({ metadata }: ClusterControllerResilience): string {
  return `List them: kubectl get ${PLURAL} -A -l ${GENERATED_FOR_LABEL}=${metadata.name}`;
}

function conditionOf({ status: found }: ControllerResilience, type: string, status: "True" | "False") {
  return found?.conditions?.find(condition => condition.type === type && condition.status === status);
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

/** Reasons of Stalled that no Event of a generated object tells. */
const OWN: readonly string[] = [ClusterReason.Refused, ClusterReason.RemovalWaits];

/** Returns the Event when a person has to act on this object, and when that has ended. A generated object that is Stalled has its own. Pure. */
export function eventOf(
  { metadata: { name, uid }, status: before }: ClusterControllerResilience,
  { conditions = [] }: ClusterControllerResilienceStatus,
): EventRecord | undefined {
  const problem = problemIn(conditions);
  if ((problem === undefined) === (problemIn(before?.conditions) === undefined)) return undefined;
  const regarding = { apiVersion: apiVersionOf(KINDS[CLUSTER_KIND]), kind: CLUSTER_KIND, name, uid };
  if (problem !== undefined)
    return { regarding, action: "Protect", type: "Warning", reason: problem.reason, note: problem.message };
  const note = conditions.find(({ type }) => type === ConditionType.Ready)?.message ?? "";
  return { regarding, action: "Protect", type: "Normal", reason: "NoLongerStalled", note };
}

function problemIn(conditions: readonly StatusCondition[] = []): StatusCondition | undefined {
  return conditions.find(({ type, reason }) => type === ConditionType.Stalled && OWN.includes(reason));
}
