import { Cause } from "../../api/conditions";
import type { ControllerResilience, DaemonSetStatus } from "../../api/controller-resilience";
import type { Problem } from "../../core/errors";
import type { Intent } from "../../core/intent";
import type { ObjectInMode } from "../../core/remedy";
import type { Readers, Right } from "../../core/readers";
import { toSeconds } from "../../core/time";
import { isOpen } from "../../restarts/history";
import type { DaemonSetView, PodView } from "../../core/views";
import { changeHolderOf, otherObjects } from "../../restarts/holder";
import { withAudiences } from "../kit/pods";
import { unlessUnreadable } from "../kit/problems";
import { findTargets, requestNumberOf } from "../kit/targets";
import { isWatched } from "./harm";
import { type PodLogState, type ReviewedPod, worstOf } from "./review";
import {
  activePodsOf,
  buildRelease,
  isBounded,
  type Observed,
  type ObservedDaemonSet,
  type ObservedPod,
  type Spec,
  templateInputOf,
  isOnTrial,
} from "./subject";
import { planTemplate } from "./template/plan";
import { firstPodOf, isNodeAgent, tokenDiedMs } from "./trial";

/** Former DaemonSets that status keeps, in case they come back; first those whose trial has to be ended. */
const MAX_FORMER = 32;

/** What is read around a change, of each pod by uid. */
export interface Reviews {
  readonly logs: (pods: readonly PodView[]) => Promise<ReadonlyMap<string, ReviewedPod>>;
  readonly sandboxes: (pods: readonly PodView[]) => Promise<ReadonlyMap<string, PodLogState>>;
}

/** Reads the DaemonSets with their templates and pods, and logs where a change is planned or can be reverted. */
export async function observeDaemonSets(
  object: ObjectInMode,
  spec: Spec,
  readers: Readers,
  reviews: Reviews,
): Promise<Observed> {
  const { namespace } = object.metadata;
  const { daemonSets: records = [], restarts = [] } = object.status ?? {};
  const { views, missing } = await findTargets(object.spec.targets, { namespace, readers, kind: "DaemonSet" });
  const found: ObservedDaemonSet[] = [];
  const nowMs = readers.clock.now().getTime();
  for (const name of new Set([...views, ...heldTrials(object)].map(one => one.name))) {
    const view = await readView(namespace, name, readers);
    if (view !== null) found.push(await readDaemonSet(view, recordOf(view, records, nowMs), spec, readers));
  }
  const logged = found.filter(one => isWatched(one.record, spec, nowMs) || isChangeDue(one));
  const others = otherObjects(object, readers);
  const holderOf: HolderOf = async view => changeHolderOf(view, object, await others());
  const daemonSets: ObservedDaemonSet[] = [];
  for (const one of await reviewed(found, logged, reviews))
    daemonSets.push(await withRest(one, spec, readers, holderOf));
  const names = new Set(found.map(({ view }) => view.name));
  const formerEntries = records
    .filter(record => !names.has(record.name))
    .toSorted((a, b) => Number(b.outcome === "Trial") - Number(a.outcome === "Trial"))
    .slice(0, MAX_FORMER);
  const onTrial = formerEntries.filter(({ outcome }) => outcome === "Trial").map(({ name }) => name);
  return {
    mode: object.mode,
    generation: requestNumberOf(object, "tokenLifetime"),
    daemonSets,
    missingTargets: missing,
    isReviewing: logged.length > 0 || restarts.some(isOpen),
    rotatedMs: logged.length === 0 ? undefined : (await readers.keyRotation())?.changedMs,
    formerEntries,
    formerTrials: await readTrials(namespace, onTrial, formerEntries, readers),
    restarts: restarts.filter(({ cause }) => cause === Cause.TokenTooLong),
    otherOpenRestarts: restarts.filter(entry => entry.cause !== Cause.TokenTooLong && isOpen(entry)),
  };
}

/** In Observe mode no trial is ended, so it is told of also if it is no target any more. */
function heldTrials({ mode, status }: ObjectInMode): readonly DaemonSetStatus[] {
  return mode === "Enforce" ? [] : (status?.daemonSets ?? []).filter(({ outcome }) => outcome === "Trial");
}

/** Without the audiences of the API server a record of a change could not be understood. */
async function readView(namespace: string, name: string, readers: Readers): Promise<DaemonSetView | null> {
  const [view, apiAudiences] = [await readers.daemonSet(namespace, name), await readers.apiAudiences()];
  return view && { ...view, apiAudiences };
}

async function readDaemonSet(
  view: DaemonSetView,
  record: DaemonSetStatus | undefined,
  spec: Spec,
  readers: Readers,
): Promise<ObservedDaemonSet> {
  const account = await readers.serviceAccount(view.namespace, view.serviceAccountName);
  const pods = (await readers.pods(view.namespace)).filter(({ owner }) => owner?.uid === view.uid);
  const known = {
    view,
    ...(account?.automount !== undefined && { automount: account.automount }),
    ...(record && { record }),
  };
  return {
    ...known,
    templatePlan: planTemplate(templateInputOf(known), spec, record?.previous),
    lacksServiceAccount: account === null || account.deletedAtMs !== undefined,
    pods: pods.map(pod => ({
      ...{ pod: withAudiences(pod, view.apiAudiences), logState: "unread", logReadMs: -Infinity },
      isOlderThanServiceAccount: account !== null && pod.createdAtMs < account.createdAtMs,
    })),
  };
}

/** Of a predecessor with the same name only a revert counts: with the same template the change would do harm again. */
function recordOf({ name, uid }: DaemonSetView, records: readonly DaemonSetStatus[], nowMs: number) {
  const record = records.find(one => one.name === name);
  if (record?.uid === undefined || record.uid === uid) return record && withPastTimes(record, nowMs);
  const { outcome, fingerprint } = record;
  return outcome === "Reverted" && fingerprint !== undefined ? { name, outcome, fingerprint } : undefined;
}

/** What a clock that was ahead has stamped happened now. */
function withPastTimes(record: DaemonSetStatus, nowMs: number): DaemonSetStatus {
  const past = { ...record };
  for (const time of ["appliedTime", "waitStartTime"] as const)
    if (Date.parse(past[time] ?? "") > nowMs) past[time] = toSeconds(new Date(nowMs));
  return past;
}

/** The template must change. */
function isChangeDue({ templatePlan }: ObservedDaemonSet): boolean {
  return templatePlan.kind === "Change";
}

/**
 * Adds what logs and Events say.
 *
 * @param logged the DaemonSets whose logs and Events matter now
 */
async function reviewed(
  found: readonly ObservedDaemonSet[],
  logged: readonly ObservedDaemonSet[],
  { logs, sandboxes }: Reviews,
): Promise<ObservedDaemonSet[]> {
  const pods = logged.flatMap(one => one.pods.map(({ pod }) => pod));
  const [states, sandboxStates] = [await logs(pods), await sandboxes(pods)];
  return found.map(one => ({
    ...one,
    pods: one.pods.map(pod => withStates(pod, states.get(pod.pod.uid), sandboxStates.get(pod.pod.uid))),
  }));
}

/** A network plugin that is answered 401 logs nothing in its agent, so the worse of both states counts. */
function withStates(pod: ObservedPod, log?: ReviewedPod, sandboxState?: PodLogState): ObservedPod {
  const { state, readMs } = log ?? { state: pod.logState, readMs: pod.logReadMs };
  if (sandboxState === undefined) return { ...pod, logState: state, logReadMs: readMs };
  return { ...pod, logState: worstOf([state, sandboxState]), logReadMs: readMs, sandboxState };
}

/** Returns the other ControllerResilience that has the DaemonSet. */
type HolderOf = (view: DaemonSetView) => Promise<string | undefined>;

/** Reads what only matters before a change and during a trial. */
async function withRest(
  reviewedSet: ObservedDaemonSet,
  spec: Spec,
  readers: Readers,
  holderOf: HolderOf,
): Promise<ObservedDaemonSet> {
  const daemonSet = await withProof(reviewedSet, spec, readers);
  const isDue = isChangeDue(daemonSet);
  if (!isDue && !isOnTrial(daemonSet.view)) return daemonSet;
  const holder = await holderOf(daemonSet.view);
  if (holder !== undefined) return { ...daemonSet, holder };
  return isDue ? { ...daemonSet, missingRights: await missingRightsOf(daemonSet, readers) } : daemonSet;
}

/** A right that is missed in the middle of a trial leaves updateStrategy OnDelete in place, so rights are read before. */
async function missingRightsOf(daemonSet: ObservedDaemonSet, readers: Readers): Promise<readonly Right[]> {
  const { namespace } = daemonSet.view;
  const eviction: Right = { apiGroup: "", resource: "pods/eviction", verb: "create", namespace };
  const list: Right = { apiGroup: "", resource: "pods", verb: "list" };
  const rights = isNodeAgent(daemonSet) ? [eviction, list] : [eviction];
  const answers = await Promise.all(rights.map(right => readers.may(right)));
  return rights.filter((_, index) => answers[index] !== true);
}

/** Reads whether pods have started on the node of the first agent with the shorter token, if that is what the next step waits for. */
async function withProof(daemonSet: ObservedDaemonSet, spec: Spec, readers: Readers): Promise<ObservedDaemonSet> {
  const first = firstPodOf(daemonSet, spec);
  const node = first?.pod.nodeName;
  if (first === undefined || node === undefined || !isAwaited(daemonSet, spec)) return daemonSet;
  const sinceMs = tokenDiedMs(first, spec);
  if (readers.clock.now().getTime() < sinceMs) return daemonSet;
  const proof = await proofOn(node, sinceMs, readers);
  const pods = daemonSet.pods.map(one => (one.pod.uid === first.pod.uid ? { ...one, ...proof } : one));
  return { ...daemonSet, pods };
}

function isAwaited(daemonSet: ObservedDaemonSet, spec: Spec): boolean {
  return isNodeAgent(daemonSet) && activePodsOf(daemonSet).some(({ pod }) => !isBounded(pod, spec));
}

/** Without the right to read the node's pods there is no proof. */
async function proofOn(
  node: string,
  sinceMs: number,
  readers: Readers,
): Promise<Pick<ObservedPod, "hasSandboxStarted" | "isNodeForbidden">> {
  const problems: Problem[] = [];
  const pods = await unlessUnreadable(() => readers.podsOnNode(node), problems);
  if (problems.some(({ forbidden }) => forbidden)) return { isNodeForbidden: true };
  return pods?.some(pod => hasStartedSince(pod, sinceMs)) === true ? { hasSandboxStarted: true } : {};
}

/** A network plugin has set up the pod's network since that time. */
function hasStartedSince({ hostNetwork, createdAtMs, volumesReadyMs, containers }: PodView, sinceMs: number): boolean {
  if (hostNetwork === true || createdAtMs < sinceMs) return false;
  return volumesReadyMs !== undefined || containers.some(({ startedAtMs }) => startedAtMs !== undefined);
}

/** Restores a DaemonSet on trial that is no target any more. */
export function buildTrialEnd(daemonSet: Observed["formerTrials"][number]): Intent {
  return buildRelease(daemonSet, "The trial ends, because the object does not ask for shorter tokens any more.");
}

/** Ends the trials of an object that is being deleted or has no tokenLifetime block any more: OnDelete would hold up all updates. */
export async function endTrials(object: ControllerResilience, readers: Readers): Promise<Intent[]> {
  const { namespace } = object.metadata;
  const records = object.status?.daemonSets ?? [];
  // Status may have been written without the list.
  const { views } = await findTargets(object.spec.targets, { namespace, readers, kind: "DaemonSet" });
  const names = [...records, ...views].map(({ name }) => name);
  const trials = await readTrials(namespace, names, records, readers);
  if (trials.length === 0) return [];
  const others = await otherObjects(object, readers)();
  return trials.filter(({ view }) => changeHolderOf(view, object, others) === undefined).map(buildTrialEnd);
}

async function readTrials(
  namespace: string,
  names: readonly string[],
  records: readonly DaemonSetStatus[],
  readers: Readers,
): Promise<Observed["formerTrials"]> {
  const found: Observed["formerTrials"][number][] = [];
  for (const name of new Set(names)) {
    const view = await readView(namespace, name, readers);
    const record = records.find(one => one.name === name);
    if (view !== null && isOnTrial(view)) found.push({ view, ...(record && { record }) });
  }
  return found;
}
