import { Cause } from "../../api/conditions";
import type { ControllerResilience, DaemonSetStatus } from "../../api/controller-resilience";
import { keyOf } from "../../core/text";
import type { ObjectInMode } from "../../core/remedy";
import type { Readers } from "../../core/readers";
import { isOpen } from "../../core/restarts";
import type { DaemonSetView, PodView, ServiceAccountView } from "../../core/views";
import type { PodLogReview, PodLogState, ReviewedPod } from "../../logs/pod-log-review";
import type { SandboxReview } from "../../logs/sandboxes/review";
import { describeTarget, listingOnce, readTarget } from "../kit/targets";
import { isWatched } from "./checks/watch";
import { holderOf, otherObjects } from "../kit/holder";
import { readFormerTrials } from "./trial/cleanup";
import { withProof } from "./trial/observe";
import { isOnTrial } from "./trial/strategy";
import { withTrialRights } from "./trial/rights";
import type { WatchedTimes } from "./trial/watched";
import { templatePlanOf, type Observed, type ObservedDaemonSet, type ObservedPod, type Spec } from "./observed";

/** Former DaemonSets that status keeps, in case they come back. */
const MAX_FORMER = 32;

/** A DaemonSet before its logs are read. */
interface WithoutLogs {
  readonly view: DaemonSetView;
  readonly account: ServiceAccountView | null;
  readonly record?: DaemonSetStatus;
  readonly pods: readonly PodView[];
}

/** What is read around a change. */
export interface Reviews {
  readonly logs: PodLogReview;
  readonly sandboxes: SandboxReview;
  readonly watched: WatchedTimes;
}

/** Reads the DaemonSets with their templates and pods, and logs where a change is planned or can be reverted. */
export async function observeDaemonSets(
  object: ObjectInMode,
  spec: Spec,
  readers: Readers,
  reviews: Reviews,
): Promise<Observed> {
  const { daemonSets: records = [], restarts = [] } = object.status ?? {};
  const { views, missingTargets } = await findDaemonSets(object, readers);
  const found: WithoutLogs[] = [];
  for (const view of views) found.push(await readDaemonSet(view, records, readers));
  const nowMs = readers.clock.now().getTime();
  const logged = found.filter(one => isWatched(one.record, spec, nowMs) || isChangeDue(one, spec));
  const states = await readStates(object, { found, logged }, readers, reviews);
  const names = new Set(views.map(view => view.name));
  const formerEntries = records.filter(record => !names.has(record.name)).slice(0, MAX_FORMER);
  const daemonSets: ObservedDaemonSet[] = [];
  const reading = { object, spec, readers, states, others: otherObjects(object, readers) };
  for (const one of found) daemonSets.push(await readRest(one, reading));
  return {
    mode: object.mode,
    generation: object.metadata.generation,
    daemonSets,
    missingTargets,
    isReviewing: logged.length > 0 || restarts.some(isOpen),
    staleTokens: found.some(one => isChangeDue(one, spec)) ? await readers.staleTokens() : null,
    formerEntries,
    formerTrials: await readFormerTrials(object.metadata.namespace, formerEntries, readers),
    restarts: restarts.filter(({ cause }) => cause === Cause.TokenTooLong),
    otherOpenRestarts: restarts.filter(entry => entry.cause !== Cause.TokenTooLong && isOpen(entry)),
  };
}

/** What the rest of one DaemonSet is read with. */
interface Reading {
  readonly object: ControllerResilience;
  readonly spec: Spec;
  readonly readers: Readers;
  readonly states: States;
  readonly others: ReturnType<typeof otherObjects>;
}

/** Reads what only matters before a change and during a trial. */
async function readRest(
  found: WithoutLogs,
  { object, spec, readers, states, others }: Reading,
): Promise<ObservedDaemonSet> {
  const { view } = found;
  const daemonSet = await withProof(withLogs(found, states), spec, readers);
  const isDue = isChangeDue(found, spec);
  if (!isDue && !isOnTrial(view)) return daemonSet;
  const holder = holderOf(view, object, await others());
  if (holder !== undefined) return { ...daemonSet, holder };
  return isDue ? withTrialRights(daemonSet, readers) : daemonSet;
}

async function findDaemonSets(
  object: ControllerResilience,
  readers: Readers,
): Promise<{ views: readonly DaemonSetView[]; missingTargets: string[] }> {
  const { namespace } = object.metadata;
  const views = new Map<string, DaemonSetView>();
  const missingTargets: string[] = [];
  const once = listingOnce(object.spec.targets, readers);
  for (const [index, target] of object.spec.targets.entries()) {
    if (target.kind !== "DaemonSet") continue;
    const workloads = await readTarget(target, namespace, once);
    for (const { name } of workloads) {
      const view = views.has(name) ? null : await readers.daemonSet(namespace, name);
      if (view !== null) views.set(name, view);
    }
    if (workloads.length === 0) missingTargets.push(describeTarget(target, index));
  }
  return { views: [...views.values()], missingTargets };
}

async function readDaemonSet(
  view: DaemonSetView,
  records: readonly DaemonSetStatus[],
  readers: Readers,
): Promise<WithoutLogs> {
  const account = await readers.serviceAccount(view.namespace, view.serviceAccountName);
  const pods = (await readers.pods(view.namespace)).filter(({ owner }) => owner?.uid === view.uid);
  const record = recordOf(view, records);
  return { view, account, pods, ...(record && { record }) };
}

/** Of a predecessor with the same name only a revert counts: with the same template the change would do harm again. */
function recordOf({ name, uid }: DaemonSetView, records: readonly DaemonSetStatus[]): DaemonSetStatus | undefined {
  const record = records.find(one => one.name === name);
  if (record?.uid === undefined || record.uid === uid) return record;
  const { outcome, fingerprint } = record;
  return outcome === "Reverted" && fingerprint !== undefined ? { name, outcome, fingerprint } : undefined;
}

/** The template must change. */
function isChangeDue(found: WithoutLogs, spec: Spec): boolean {
  return templatePlanOf(withLogs(found, NO_STATES), spec).kind === "Change";
}

/** @param logged the DaemonSets whose logs and Events matter now */
async function readStates(
  object: ObjectInMode,
  { found, logged }: { readonly found: readonly WithoutLogs[]; readonly logged: readonly WithoutLogs[] },
  readers: Readers,
  { logs, sandboxes, watched }: Reviews,
): Promise<States> {
  const key = keyOf(object);
  const pods = logged.flatMap(one => one.pods);
  const active = found.filter(({ view }) => object.mode === "Enforce" && !view.skip);
  const nowMs = readers.clock.now().getTime();
  const uids = active.map(({ view }) => view.uid);
  return {
    logs: await logs.review(key, pods, readers),
    sandboxes: await sandboxes.review(key, pods, readers),
    watched: watched.note(key, uids, nowMs),
  };
}

/** States by uid of the pod. */
interface States {
  readonly logs: ReadonlyMap<string, ReviewedPod>;
  readonly sandboxes: ReadonlyMap<string, PodLogState>;
  /** By uid of the DaemonSet. */
  readonly watched: ReadonlyMap<string, number>;
}

const NO_STATES: States = { logs: new Map(), sandboxes: new Map(), watched: new Map() };

function withLogs(found: WithoutLogs, states: States): ObservedDaemonSet {
  const { view, account, record, pods } = found;
  const watchedSinceMs = states.watched.get(view.uid);
  return {
    view,
    ...(watchedSinceMs !== undefined && { watchedSinceMs }),
    ...(account?.automount !== undefined && { automount: account.automount }),
    lacksServiceAccount: account === null || account.deletedAtMs !== undefined,
    ...(record && { record }),
    pods: pods.map(pod => ({
      pod,
      ...stateOf(pod, states),
      isOlderThanServiceAccount: account !== null && pod.createdAtMs < account.createdAtMs,
    })),
  };
}

const UNREAD: ReviewedPod = { state: "unread", readMs: -Infinity };

/** Worst first. */
const WORST: readonly PodLogState[] = ["persistent", "suspected", "unreadable", "unread", "quiet"];

/** A network plugin that is answered 401 logs nothing in its agent, so the worse of both states counts. */
function stateOf({ uid }: PodView, states: States): Pick<ObservedPod, "logState" | "logReadMs" | "sandboxState"> {
  const { state: logState, readMs: logReadMs } = states.logs.get(uid) ?? UNREAD;
  const sandboxState = states.sandboxes.get(uid);
  if (sandboxState === undefined) return { logState, logReadMs };
  const worst = WORST.find(state => state === logState || state === sandboxState) ?? logState;
  return { logState: worst, logReadMs, sandboxState };
}
