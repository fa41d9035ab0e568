import { Cause } from "../../api/conditions";
import type { RestartStatus } from "../../api/controller-resilience";
import { isCreatedAfter, isOfCause, isOpen, settleOpenRestarts } from "../../core/restarts";
import { isBySandbox, isRejected, type ObservedPod, type ObservedWorkload } from "./observed";
import { isObservable, isRejectedAgain, isRejectedFor, judge, type Verdict } from "./successor";

// Outcomes of the restarts in status. Pure: history in, history out. The rules for an executed restart differ from those of
// token-lifetime: the pod was rejected, so its restart stays open while the successor is not Ready, which proves nothing about the token.

/** A pod that still exists after this time was not replaced, such as one of a DaemonSet with the update strategy OnDelete. */
const NOT_REPLACED_MS = 600_000;

/** A restart whose effect is unknown for this long counts as ineffective, so that it does not delay others forever. */
const UNKNOWN_MS = 600_000;

/** Without an identifiable successor (the workload was scaled down), all pods must be healthy for this long. */
const NO_SUCCESSOR_MS = 120_000;

/** What settles a restart, besides the pods. */
interface SettleRule {
  /** A restart did not help if its successor is rejected again within this time. */
  readonly relapseMs: number;
  readonly nowMs: number;
}

/**
 * Settles the entries of one workload by its pods. A restart that rests on logs alone, and after which the successor's requests are rejected
 * again within `relapseMs`, did not help.
 */
export function settleRestarts(
  entries: readonly RestartStatus[],
  workload: ObservedWorkload,
  { relapseMs, nowMs }: SettleRule,
): RestartStatus[] {
  const context: Context = { workload, nowMs, taken: new Set<string>() };
  const evidence = {
    wasExecuted: (entry: RestartStatus) => !exists(entry, workload),
    outcomeOf: (entry: RestartStatus) => outcomeOf(entry, context),
  };
  const settled = settleOpenRestarts(entries, evidence, nowMs);
  const relapsed = new Set(workload.pods.map(pod => relapsedRestart(pod, settled, nowMs - relapseMs)));
  return settled.map(entry => (relapsed.has(entry) ? { ...entry, outcome: "Ineffective" } : entry));
}

/** The last restart before a rejected pod was created: the pod is its successor, or it had the same chance to be accepted. */
function relapsedRestart(
  pod: ObservedPod,
  history: readonly RestartStatus[],
  sinceMs: number,
): RestartStatus | undefined {
  const isUnproven = isRejected(pod) && pod.proof === undefined;
  const { createdAtMs, nodeName } = pod.view;
  const last = history.findLast(
    entry =>
      isSameEvidence(entry, pod) && isCreatedAfter(createdAtMs, entry) && (entry.nodeName ?? nodeName) === nodeName,
  );
  const seemedToHelp = last?.outcome === "Recovered" || last?.outcome === "Replaced";
  return isUnproven && seemedToHelp && Date.parse(last.time) >= sinceMs ? last : undefined;
}

function isSameEvidence({ cause }: RestartStatus, pod: ObservedPod): boolean {
  const expected = isBySandbox(pod) ? Cause.CniCredentialRejected : Cause.Unknown;
  return isOfCause({ cause }, { cause: expected });
}

interface Context {
  readonly workload: ObservedWorkload;
  readonly nowMs: number;
  /** Uids of successors that are counted for an earlier restart. */
  readonly taken: Set<string>;
}

function outcomeOf(entry: RestartStatus, context: Context): RestartStatus["outcome"] {
  if (exists(entry, context.workload))
    return context.nowMs - Date.parse(entry.time) >= NOT_REPLACED_MS ? "Ineffective" : entry.outcome;
  return outcomeBy(successorsOf(entry, context), entry, context);
}

function outcomeBy(
  successors: readonly ObservedPod[],
  entry: RestartStatus,
  context: Context,
): RestartStatus["outcome"] {
  if (successors.some(pod => isRejectedAgain(pod, entry))) return "Ineffective";
  const effect = effectOf(entry, successors, context);
  if (effect !== undefined) return effect;
  const isUnobservable = successors.every(pod => !isObservable(pod, entry));
  // A few failed sandboxes keep such a restart open for no longer than a missing observation does.
  const isUndecided = entry.cause === Cause.CniCredentialRejected && successors.every(({ view }) => view.ready);
  return isUnobservable || isUndecided ? settleUnwatched(entry, context.nowMs).outcome : entry.outcome;
}

/** Settles an entry without any pod to compare it with, such as an entry of a former target. */
export function settleUnwatched(entry: RestartStatus, nowMs: number): RestartStatus {
  const isExpired = isOpen(entry) && nowMs - Date.parse(entry.time) >= UNKNOWN_MS;
  return isExpired ? { ...entry, outcome: "Ineffective" } : entry;
}

/** Whether the restart helped; undefined: not known yet. */
function effectOf(
  entry: RestartStatus,
  successors: readonly ObservedPod[],
  context: Context,
): "Recovered" | "Replaced" | undefined {
  const { workload, nowMs } = context;
  const verdict = (pod: ObservedPod): Verdict => judge(pod, entry, nowMs);
  if (successors.length > 0) return together(successors.map(verdict));
  if (nowMs - Date.parse(entry.time) < NO_SUCCESSOR_MS) return undefined;
  const present = workload.pods.filter(pod => pod.view.deletedAtMs === undefined);
  const isWhole = present.length >= workload.view.replicas;
  return isWhole && !present.some(pod => isRejectedFor(pod, entry)) ? together(present.map(verdict)) : undefined;
}

function together(verdicts: readonly Verdict[]): "Recovered" | "Replaced" | undefined {
  if (verdicts.includes("undecided")) return undefined;
  return verdicts.includes("silent") ? "Replaced" : "Recovered";
}

/** One pod, with the same name in a StatefulSet, on the same node in a DaemonSet. */
function successorsOf(entry: RestartStatus, { workload, taken }: Context): ObservedPod[] {
  const younger = workload.pods.filter(
    ({ view }) =>
      view.deletedAtMs === undefined && view.uid !== entry.podUID && isCreatedAfter(view.createdAtMs, entry),
  );
  const [first] = younger
    .filter(({ view }) => canReplace(view, entry, workload) && !taken.has(view.uid))
    .sort(({ view: a }, { view: b }) => a.createdAtMs - b.createdAtMs || (a.uid < b.uid ? -1 : 1));
  if (first === undefined) return [];
  taken.add(first.view.uid);
  return [first];
}

/** Entries of earlier versions have no node. */
function canReplace(
  { name, nodeName }: ObservedPod["view"],
  entry: RestartStatus,
  { view }: ObservedWorkload,
): boolean {
  if (view.kind === "StatefulSet") return name === entry.pod;
  return entry.nodeName === undefined || nodeName === entry.nodeName;
}

function exists({ podUID }: RestartStatus, { pods }: ObservedWorkload): boolean {
  return pods.some(({ view }) => view.uid === podUID && view.deletedAtMs === undefined);
}
