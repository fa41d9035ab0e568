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
import { isOwnedBy, withAudiences } from "../kit/pods";
import { unlessUnreadable } from "../kit/problems";
import { findTargets, requestNumberOf } from "../kit/targets";
import { type PodLogState, type ReviewedPod, worstOf } from "./review";
import {
  buildRelease,
  type FormerDaemonSet,
  isOnTrial,
  isWatched,
  type Observed,
  type ObservedDaemonSet,
  type ObservedPod,
  type Spec,
} from "./subject";
import { isDue, planTemplate } from "./template/plan";
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
  const logged = found.filter(one => isWatched(one.record, spec, nowMs) || isDue(one.plan));
  const others = otherObjects(object, readers);
  const holderOf: HolderOf = async view => changeHolderOf(view, object, await others());
  const daemonSets: ObservedDaemonSet[] = [];
  for (const one of await reviewed(found, logged, reviews))
    daemonSets.push(await withRest(one, spec, readers, holderOf));
  const names = new Set(found.map(({ view }) => view.name));
  return {
    mode: object.mode,
    generation: requestNumberOf(object, "tokenLifetime"),
    daemonSets,
    missingTargets: missing,
    isReviewing: logged.length > 0 || restarts.some(isOpen),
    rotatedMs: logged.length === 0 ? undefined : (await readers.keyRotation())?.changedMs,
    former: await readFormer(
      namespace,
      records.filter(record => !names.has(record.name)),
      readers,
    ),
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
  const pods = (await readers.pods(view.namespace)).filter(pod => isOwnedBy(pod, view));
  return {
    view,
    record,
    plan: planTemplate({ ...view, automount: account?.automount }, spec, record?.previous),
    lacksServiceAccount: account === null || account.deletedAtMs !== undefined,
    pods: pods.map(pod => ({
      ...{ ...withAudiences(pod, view.apiAudiences), logState: "unread", logReadMs: -Infinity },
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
  const pods = logged.flatMap(one => one.pods);
  const [states, sandboxStates] = [await logs(pods), await sandboxes(pods)];
  return found.map(one => ({
    ...one,
    pods: one.pods.map(pod => withStates(pod, states.get(pod.uid), sandboxStates.get(pod.uid))),
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
  daemonSet: ObservedDaemonSet,
  spec: Spec,
  readers: Readers,
  holderOf: HolderOf,
): Promise<ObservedDaemonSet> {
  const { view, plan } = daemonSet;
  if (!isDue(plan) && !isOnTrial(view)) return daemonSet;
  const holder = await holderOf(view);
  if (holder !== undefined) return { ...daemonSet, holder };
  if (isDue(plan)) return { ...daemonSet, missingRights: await missingRightsOf(daemonSet, readers) };
  return { ...daemonSet, nodeProof: await nodeProofOf(daemonSet, spec, readers) };
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

/** Whether pods have started on the node of the first agent with the shorter token; without the right to read them there is no proof. */
async function nodeProofOf(
  daemonSet: ObservedDaemonSet,
  spec: Spec,
  readers: Readers,
): Promise<ObservedDaemonSet["nodeProof"]> {
  const first = firstPodOf(daemonSet, spec);
  if (!isNodeAgent(daemonSet) || first?.nodeName === undefined) return undefined;
  const { nodeName } = first;
  const sinceMs = tokenDiedMs(first, spec);
  if (readers.clock.now().getTime() < sinceMs) return undefined;
  const problems: Problem[] = [];
  const pods = await unlessUnreadable(() => readers.podsOnNode(nodeName), problems);
  if (problems.some(({ forbidden }) => forbidden)) return "Forbidden";
  return pods?.some(pod => hasStartedSince(pod, sinceMs)) === true ? "Started" : undefined;
}

/** A network plugin has set up the pod's network since that time. */
function hasStartedSince({ hostNetwork, createdAtMs, volumesReadyMs, containers }: PodView, sinceMs: number): boolean {
  if (hostNetwork === true || createdAtMs < sinceMs) return false;
  return volumesReadyMs !== undefined || containers.some(({ startedAtMs }) => startedAtMs !== undefined);
}

/** Restores a DaemonSet on trial that is no target any more. */
export function buildTrialEnd(trial: DaemonSetView, record: DaemonSetStatus | undefined): Intent {
  return buildRelease(trial, record, "The trial ends, because the object does not ask for shorter tokens any more.");
}

/** Ends the trials of an object that is being deleted or has no tokenLifetime block any more: OnDelete would hold up all updates. */
export async function endTrials(object: ControllerResilience, readers: Readers): Promise<Intent[]> {
  const { namespace } = object.metadata;
  const records = object.status?.daemonSets ?? [];
  // Status may have been written without the list.
  const { views } = await findTargets(object.spec.targets, { namespace, readers, kind: "DaemonSet" });
  const names = new Set([...records, ...views].map(({ name }) => name));
  const trials: DaemonSetView[] = [];
  for (const name of names) trials.push(...(await readTrial(namespace, name, readers)));
  if (trials.length === 0) return [];
  const others = await otherObjects(object, readers)();
  return trials
    .filter(view => changeHolderOf(view, object, others) === undefined)
    .map(view =>
      buildTrialEnd(
        view,
        records.find(({ name }) => name === view.name),
      ),
    );
}

async function readFormer(
  namespace: string,
  records: readonly DaemonSetStatus[],
  readers: Readers,
): Promise<FormerDaemonSet[]> {
  const isTrial = ({ outcome }: DaemonSetStatus): boolean => outcome === "Trial";
  const kept = records.toSorted((a, b) => Number(isTrial(b)) - Number(isTrial(a))).slice(0, MAX_FORMER);
  const former: FormerDaemonSet[] = [];
  for (const record of kept) {
    const [trial] = isTrial(record) ? await readTrial(namespace, record.name, readers) : [];
    former.push({ record, trial });
  }
  return former;
}

async function readTrial(namespace: string, name: string, readers: Readers): Promise<DaemonSetView[]> {
  const view = await readView(namespace, name, readers);
  return view !== null && isOnTrial(view) ? [view] : [];
}
