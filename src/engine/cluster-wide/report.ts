import type {
  ClusterConflict,
  ClusterControllerResilience,
  ClusterControllerResilienceStatus,
  KindSuggestion,
} from "../../api/cluster-controller-resilience";
import type { ControllerResilience, StatusCondition } from "../../api/controller-resilience";
import { ClusterReason, ConditionType } from "../../api/conditions";
import { ALLOW_REMOVAL_ANNOTATION, CLUSTER_KIND, GENERATED_FOR_LABEL, PLURAL } from "../../api/names";
import { type ConditionUpdate, nextConditions } from "../../core/status";
import { count, cutText, firstOf } from "../../core/text";
import { apiVersionOf, KINDS } from "../../core/kinds";
import type { EventRecord } from "../../core/ports";
import { modeOf, whyObserved } from "../../core/remedy";
import { toSeconds } from "../../core/time";
import { isWaiting, permission, waitsSince } from "./brake";
import { type Coverage, countOf } from "./coverage";
import { MAX_TARGETS } from "./generated";
import { type NamespaceShare, tally } from "./plan";

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

/** What stopped the work for one ClusterControllerResilience in one namespace. */
export interface NamespaceFailure {
  /** The API server refuses a write, or fails for long, so a person has to act; else it is tried again. */
  readonly isRefused: boolean;
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
  found: readonly NamespaceResult[],
  coverage: Coverage,
  { now, observes = false, waiting = [], unfollowed }: Circumstances,
): ClusterControllerResilienceStatus {
  const results = found.map(withLimit);
  const shares = results.flatMap(({ share }) => (share === undefined ? [] : [share]));
  const inside = shares.filter(({ exclusion }) => exclusion === null);
  const byHand = reasonsIn(inside).get("HandWritten") ?? 0;
  const conflicts = conflictsOf(results);
  const counts: Counts = {
    namespaces: inside.length,
    workloads: byHand + sum(inside, ({ selected }) => selected.size),
    protected: byHand + sum(inside, share => share.protected),
    objects: shares.flatMap(share => share.objects),
    isSettled: shares.every(share => share.isSettled),
    failures: results.filter(isFailed).toSorted((a, b) => Number(b.failure.isRefused) - Number(a.failure.isRefused)),
    stuck: shares.flatMap(share => share.ending).filter(generated => isStuck(generated, now)),
    ...{ observes, waiting, now },
  };
  return {
    observedGeneration: object.metadata.generation,
    namespaces: counts.namespaces,
    enforced: observes ? 0 : counts.objects.filter(one => modeOf(one) === "Enforce" && !one.spec.suspend).length,
    workloads: counts.workloads,
    protected: counts.protected,
    objects: counts.objects.length,
    excluded: [...reasonsIn(shares)].sort().map(([reason, number]) => ({ reason, count: number })),
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

interface Counts {
  readonly namespaces: number;
  readonly workloads: number;
  readonly protected: number;
  readonly objects: readonly ControllerResilience[];
  /** Nothing is left to be written. */
  readonly isSettled: boolean;
  /** Those first that need a person. */
  readonly failures: readonly Failed[];
  /** Generated objects whose deletion does not end. */
  readonly stuck: readonly ControllerResilience[];
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
function withMode(ready: ConditionUpdate, { observes }: Counts): ConditionUpdate {
  const why = observes ? ` Only observed: ${whyObserved("OperatorObserves")}.` : "";
  return { ...ready, message: `${ready.message}${why}` };
}

function readyOf(object: ClusterControllerResilience, counts: Counts): ConditionUpdate {
  const { namespaces, workloads, protected: safe, objects, stuck } = counts;
  if (counts.waiting.length > 0) return notReady(removalWaits(object, counts));
  if (counts.failures.length > 0) return notReady(failureIn(counts.failures));
  const nowhere =
    namespaces === 0
      ? "spec.namespaceSelector selects no namespace."
      : `spec.workloads selects no workload in ${count(namespaces, "namespace")}.`;
  if (workloads === 0) return notReady({ reason: ClusterReason.TargetNotFound, message: nowhere });
  const selected = count(workloads, "selected workload");
  const soFar =
    safe === workloads
      ? "Generated objects are being changed."
      : `${safe} of ${selected} ${are(safe)} protected so far.`;
  if (safe !== workloads || !counts.isSettled) return notReady({ reason: ClusterReason.Progressing, message: soFar });
  const unready = objects.filter(generated => conditionOf(generated, ConditionType.Ready)?.status === "False");
  const some = `${unready.length} of ${count(objects.length, "generated object")} ${are(unready.length)} not Ready`;
  const details = unready.length > 0 ? `${some}: ${reasonsOf(unready)}. ${listCommand(object)}` : stuckMessage(stuck);
  if (unready.length + stuck.length > 0) return notReady({ reason: ClusterReason.ObjectsNotReady, message: details });
  const message = `All ${selected} in ${count(namespaces, "namespace")} are protected.`;
  return { type: ConditionType.Ready, status: "True", reason: ClusterReason.AllProtected, message };
}

function notReady(words: Pick<ConditionUpdate, "reason" | "message">): ConditionUpdate {
  return { type: ConditionType.Ready, status: "False", ...words };
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
  if (failures[0]?.failure.isRefused === true && !object.spec.suspend)
    return { type, status: "True", ...failureIn(failures) };
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
  const [unprotected, safe] = [countOf(coverage, "unprotected"), countOf(coverage, "protected")];
  const excluded = countOf(coverage, "excluded");
  const unread = failures.filter(({ isUnread }) => isUnread);
  if (unprotected === 0 && unread.length > 0) return { type, status: "Unknown", ...failureIn(unread) };
  if (unprotected === 0) {
    const message = `Every workload that uses the API is protected (${String(safe)}) or excluded on purpose (${String(excluded)}).`;
    return { type, status: "True", reason: ClusterReason.AllProtected, message };
  }
  const all = unprotected + safe + excluded;
  const reasons = listed([...coverage.counts.unprotected].sort());
  const message = `${String(unprotected)} of ${count(all, "workload")} that use the API ${are(unprotected)} not protected (${reasons}), such as ${coverage.examples.join(", ")}.`;
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
  unfollowed: Circumstances["unfollowed"],
): Pick<ClusterControllerResilienceStatus, "suggestions"> {
  const selected = new Set(
    results.flatMap(({ namespace, share }) => [...(share?.selected ?? [])].map(name => `${namespace}/${name}`)),
  );
  const suggestions = unfollowed?.filter(({ workload }) => selected.has(workload)).slice(0, MAX_SUGGESTIONS);
  const known = suggestions ?? status?.suggestions ?? [];
  return known.length === 0 ? {} : { suggestions: [...known] };
}

type Failed = NamespaceResult & Required<Pick<NamespaceResult, "failure">>;

function isFailed(result: NamespaceResult): result is Failed {
  return result.failure !== undefined;
}

/** Names the namespaces, with the failure in the first one. */
function failureIn(failures: readonly Failed[]): Pick<ConditionUpdate, "reason" | "message"> {
  const { isRefused = false, message = "" } = failures[0]?.failure ?? {};
  const where = `In ${failures.length === 1 ? "namespace" : "namespaces"} ${named(failures.map(({ namespace }) => namespace))}:`;
  return { reason: isRefused ? ClusterReason.Refused : ClusterReason.Progressing, message: `${where} ${message}` };
}

function reasonsOf(objects: readonly ControllerResilience[]): string {
  return listed([...tally(objects.map(object => conditionOf(object, ConditionType.Ready)?.reason ?? ""))].sort());
}

function listed(counts: readonly (readonly [reason: string, count: number])[]): string {
  return counts.map(([reason, number]) => `${String(number)} ${reason}`).join(", ");
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
