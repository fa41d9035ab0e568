import { Cause } from "../../api/conditions";
import type { ControllerResilience, DaemonSetStatus } from "../../api/controller-resilience";
import { ForbiddenError, TransientError } from "../../core/errors";
import type { Intent } from "../../core/intent";
import { keyOf } from "../../core/text";
import type { ObjectInMode } from "../../core/remedy";
import type { Key } from "../../core/ports";
import type { Readers, Right } from "../../core/readers";
import { isOpen } from "../../core/restarts";
import type { DaemonSetView, PodView, ServiceAccountView } from "../../core/views";
import type { PodLogReview, PodLogState, ReviewedPod } from "../../logs/pod-log-review";
import type { SandboxReview } from "../../logs/sandboxes";
import { changeHolderOf, otherObjects } from "../kit/holder";
import { describeTarget, listingOnce, readTarget } from "../kit/targets";
import { isWatched } from "./harm";
import {
  activePodsOf,
  buildRelease,
  type DaemonSetFinding,
  entryOf,
  isBounded,
  isRelease,
  nameOf,
  type Observed,
  type ObservedDaemonSet,
  type ObservedPod,
  type Spec,
  type Subject,
  templatePlanOf,
  isOnTrial,
} from "./subject";
import { firstPodOf, isNodeAgent, tokenDiedMs } from "./trial";

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
  const holder = changeHolderOf(view, object, await others())?.name;
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

/** Reads whether pods have started on the node of the first agent with the shorter token, if that is what the next step waits for. */
export async function withProof(
  daemonSet: ObservedDaemonSet,
  spec: Spec,
  readers: Readers,
): Promise<ObservedDaemonSet> {
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
  try {
    const pods = await readers.podsOnNode(node);
    return pods.some(pod => hasStartedSince(pod, sinceMs)) ? { hasSandboxStarted: true } : {};
  } catch (error) {
    if (error instanceof ForbiddenError) return { isNodeForbidden: true };
    if (error instanceof TransientError) return {};
    throw error;
  }
}

/** A network plugin has set up the pod's network since that time. */
function hasStartedSince({ hostNetwork, createdAtMs, volumesReadyMs, containers }: PodView, sinceMs: number): boolean {
  if (hostNetwork === true || createdAtMs < sinceMs) return false;
  return volumesReadyMs !== undefined || containers.some(({ startedAtMs }) => startedAtMs !== undefined);
}

// A right that is missed in the middle of a trial leaves the DaemonSet with updateStrategy OnDelete, so rights are checked before.

/** Adds the rights that the operator lacks for a trial that is about to begin. */
export async function withTrialRights(
  daemonSet: ObservedDaemonSet,
  readers: Pick<Readers, "may">,
): Promise<ObservedDaemonSet> {
  const rights = rightsFor(daemonSet);
  const answers = await Promise.all(rights.map(right => readers.may(right)));
  const missingRights = rights.filter((_, index) => answers[index] !== true);
  return missingRights.length === 0 ? daemonSet : { ...daemonSet, missingRights };
}

function rightsFor(daemonSet: ObservedDaemonSet): readonly Right[] {
  const { namespace } = daemonSet.view;
  const eviction: Right = { apiGroup: "", resource: "pods/eviction", verb: "create", namespace };
  return isNodeAgent(daemonSet) ? [eviction, { apiGroup: "", resource: "pods", verb: "list" }] : [eviction];
}

/** The operator could not finish a trial, so it begins none. */
export function lacksRights(subject: Subject): DaemonSetFinding | undefined {
  const missing = subject.daemonSet.missingRights ?? [];
  if (missing.length === 0 || isRelease(subject)) return undefined;
  const message = `the operator may not ${missing.map(describe).join(" and ")}; grant that`;
  return {
    status: "False",
    reason: "Waiting",
    sentence: `${nameOf(subject)} unchanged: the operator lacks a right for the trial on one node.`,
    entry: { ...entryOf(subject, "Waiting"), hindrance: { reason: "Forbidden", message } },
    isStalled: true,
  };
}

function describe({ verb, resource, namespace }: Right): string {
  return `${verb} ${resource} ${namespace === undefined ? "in all namespaces" : `in namespace ${namespace}`}`;
}

/** A pass without a successor for this long ends the watch, in milliseconds. */
const MAX_GAP_MS = 300_000;

/** Since when this process has watched each DaemonSet without a gap. What happened before is not known. */
export interface WatchedTimes {
  /** Returns the times by uid; DaemonSets of the object that are not named are not watched any more. */
  note(key: Key, uids: readonly string[], nowMs: number): ReadonlyMap<string, number>;
  /** Forgets a deleted object. */
  forget(key: Key): void;
}

interface Watched {
  readonly sinceMs: ReadonlyMap<string, number>;
  readonly lastMs: number;
}

export function createWatchedTimes(): WatchedTimes {
  const watches = new Map<Key, Watched>();
  return {
    note(key, uids, nowMs): ReadonlyMap<string, number> {
      const known = watches.get(key);
      const isCurrent = known !== undefined && nowMs - known.lastMs <= MAX_GAP_MS;
      const sinceMs = new Map(uids.map(uid => [uid, (isCurrent ? known.sinceMs.get(uid) : undefined) ?? nowMs]));
      watches.set(key, { sinceMs, lastMs: nowMs });
      return sinceMs;
    },

    forget: key => void watches.delete(key),
  };
}

const WHY = "The trial ends, because the object does not ask for shorter tokens any more.";

/** DaemonSets on trial that are no target any more. */
export async function readFormerTrials(
  namespace: string,
  former: readonly DaemonSetStatus[],
  readers: Readers,
): Promise<Observed["formerTrials"]> {
  const names = former.filter(({ outcome }) => outcome === "Trial").map(({ name }) => name);
  return readTrials(namespace, names, former, readers);
}

/** Restores a former target. */
export function buildTrialEnd(daemonSet: Observed["formerTrials"][number]): Intent {
  return buildRelease(daemonSet, WHY);
}

/** Ends the trials of an object that is being deleted or has no tokenLifetime block any more: OnDelete would hold up all updates. */
export async function endTrials(object: ControllerResilience, readers: Readers): Promise<Intent[]> {
  const { namespace } = object.metadata;
  const records = object.status?.daemonSets ?? [];
  const names = new Set(records.map(({ name }) => name));
  // Status may have been written without the list.
  for (const target of object.spec.targets.filter(({ kind }) => kind === "DaemonSet")) {
    for (const { name } of await readTarget(target, namespace, readers)) names.add(name);
  }
  const trials = await readTrials(namespace, [...names], records, readers);
  if (trials.length === 0) return [];
  const others = await otherObjects(object, readers)();
  return trials.filter(({ view }) => changeHolderOf(view, object, others) === undefined).map(buildTrialEnd);
}

async function readTrials(
  namespace: string,
  names: readonly string[],
  records: readonly DaemonSetStatus[],
  readers: Readers,
): Promise<Pick<ObservedDaemonSet, "view" | "record">[]> {
  const found: Pick<ObservedDaemonSet, "view" | "record">[] = [];
  for (const name of names) {
    const view = await readers.daemonSet(namespace, name);
    const record = records.find(one => one.name === name);
    if (view !== null && isOnTrial(view)) found.push({ view, ...(record && { record }) });
  }
  return found;
}
