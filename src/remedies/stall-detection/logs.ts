import { type Rest, RESTS_MS } from "../../core/readers";
import { parseDuration } from "../../core/time";
import type { PodView, WorkloadView } from "../../core/views";
import { PERSISTENT, persistenceOf, type PersistenceRule, type UnauthorizedTrace } from "../../logs/persistence";
import { type Watched, watchedContainers } from "../../logs/reading/log-watch";
import { findStalls } from "../../logs/detector";
import { deniedOf, type DeniedRequest, LEASE_LOST, REFUSED, THROTTLED } from "../../logs/traces";
import type { TargetPods } from "../kit/targets";
import type { LostBinding } from "./lost-bindings";
import type { ContainerLog, ObservedWorkload, Pass } from "./observed";

// What the logs of the pods show: 403s that began while the program ran, and lost Leases. A program that probes for optional APIs is denied from
// its start on, and goes on working.

/** A lost Lease may come after none of them; it is found within five minutes, or when the program restarts. */
const REST: Rest = { as: "dozing", wokenBy: ["401", "403", "429"] };

/** A log that rests is read twice in this time, in milliseconds. */
const READ_WITHIN_MS = 2 * RESTS_MS.dozing;

/** Wants the logs of the pods to be read, and adds what was found in them. What others are denied, or tenants that a pod acts for, does not count. */
export async function withLogs(targets: readonly TargetPods[], pass: Pass): Promise<ObservedWorkload[]> {
  const { spec, readers, memory, problems } = pass;
  const rule = denialRule(parseDuration(spec.for));
  const watched = targets.flatMap(({ pods }) => pods.flatMap(({ view }) => watchedContainers(view)));
  const search = { windowMs: PERSISTENT.windowMs, find: findStalls, rule, rest: REST };
  await memory.logs.want(readers, watched, search);
  const nowMs = readers.clock.now().getTime();
  const logOf = (item: Watched, { logsForeign401s = false }: WorkloadView): ContainerLog => {
    const { topics: all, searchedFromMs, persistence, readMs = -Infinity, error, isNew } = memory.logs.finding(item);
    if (error !== undefined && !problems.some(({ message }) => message === error.message)) problems.push(error);
    const topics = new Map(Array.from(all).filter(([topic]) => isOwn(topic, item.pod)));
    const has401 = persistence.state !== "quiet" && !logsForeign401s;
    const isRead = nowMs - readMs < READ_WITHIN_MS;
    const isUnread = readMs === -Infinity && error === undefined && !isNew;
    return { ...item, topics, has401, isRead, isUnread, ...(searchedFromMs === undefined ? {} : { searchedFromMs }) };
  };
  return targets.map(({ view, pods }) => {
    const logsOf = (pod: PodView): ContainerLog[] => watchedContainers(pod).map(item => logOf(item, view));
    return { view, pods: pods.map(pod => ({ ...pod, leads: true, leases: [], logs: logsOf(pod.view) })) };
  });
}

/** 403s that begin earlier in the life of a container, or in the part of its log that was read, may have been there before. */
const BEGAN_AFTER_MS = 600_000;

/** A binding that went this long before the first 403 that is known may be the cause; also one that the operator saw a little later. */
const LOST_BEFORE_MS = 3_600_000;
const LOST_AFTER_MS = 60_000;

/** A request of a pod that the API server persistently answers 403. */
export interface Denial {
  readonly pod: PodView;
  readonly request: DeniedRequest;
  /** The first 403 that is known. */
  readonly sinceMs: number;
  /** What had allowed it, as far as the operator saw. */
  readonly lost?: LostBinding;
  /** False: it has been there since the program started, as far as is known, so it may be its normal life. */
  readonly isNew: boolean;
}

/** When 403s are persistent. */
export function denialRule(forMs: number): PersistenceRule {
  return { ...PERSISTENT, windowMs: Math.max(PERSISTENT.windowMs, 3 * forMs), minDurationMs: forMs };
}

/** Returns the persistent denials of a container's own ServiceAccount. */
export function denialsOf(log: ContainerLog, lost: readonly LostBinding[], forMs: number, nowMs: number): Denial[] {
  const rule = denialRule(forMs);
  return Array.from(log.topics).flatMap(([topic, trace]): Denial[] => {
    const request = deniedOf(topic);
    const sinceMs = trace.occasions[0]?.startMs;
    if (request === undefined || sinceMs === undefined) return [];
    if (persistenceOf(trace, rule, nowMs).state !== "persistent") return [];
    const isStartKnown = trace.isStartUnknown !== true;
    const cause = isStartKnown ? lostBefore(request, sinceMs, lost) : undefined;
    const isNew = cause !== undefined || (isStartKnown && hasBegun(log, sinceMs, trace.skippedUntilMs));
    return [{ pod: log.pod, request, sinceMs, isNew, ...(cause && { lost: cause }) }];
  });
}

/** A proxy logs denials of its users, too. */
function isOwn(topic: string, pod: PodView): boolean {
  const { namespace = pod.namespace, name = pod.serviceAccountName } = deniedOf(topic)?.serviceAccount ?? {};
  return namespace === pod.namespace && name === pod.serviceAccountName;
}

function hasBegun(
  { container, searchedFromMs = Infinity }: ContainerLog,
  sinceMs: number,
  skippedUntilMs = 0,
): boolean {
  return sinceMs >= Math.max(container.startedAtMs ?? Infinity, searchedFromMs, skippedUntilMs) + BEGAN_AFTER_MS;
}

/** The last binding of the ServiceAccount that went before the denials began, and that could have allowed the request. */
function lostBefore(request: DeniedRequest, sinceMs: number, lost: readonly LostBinding[]): LostBinding | undefined {
  const { namespace, name } = request.serviceAccount;
  return lost
    .filter(({ serviceAccounts }) => serviceAccounts.includes(`${namespace}/${name}`))
    .filter(binding => binding.kind === "ClusterRoleBinding" || binding.namespace === request.namespace)
    .filter(({ atMs }) => atMs >= sinceMs - LOST_BEFORE_MS && atMs <= sinceMs + LOST_AFTER_MS)
    .toSorted((a, b) => b.atMs - a.atMs)[0];
}

/** Returns a request for messages, such as `list pods in namespace web`. */
export function describeRequest({ verb, resource, group, namespace }: DeniedRequest): string {
  const what = group === "" ? resource : `${resource}.${group}`;
  return `${verb} ${what} ${namespace === undefined ? "in the cluster" : `in namespace ${namespace}`}`;
}

/** Losses within this time, in milliseconds, that show that it does not come to work. */
export const LOSSES = 3;
const LOSSES_WINDOW_MS = 3_600_000;

/** Records about one loss: a client tries for some seconds, says so, exits, and starts again. */
const ONE_LOSS_MS = 60_000;

/** Records that explain a loss are this close to it. */
const NEAR_MS = 60_000;

/** Why a program loses its Lease, as far as its log shows. */
export type LossCause = "Throttled" | "Denied" | "Unauthorized" | "Unknown";

/** Returns why a container loses its Lease, if it did {@link LOSSES} or more times in the last hour. */
export function lossCauseOf(log: ContainerLog, nowMs: number): LossCause | undefined {
  const starts = lossStarts(log.topics.get(LEASE_LOST)).filter(ms => nowMs - ms < LOSSES_WINDOW_MS && ms <= nowMs);
  if (starts.length < LOSSES) return undefined;
  const isNear = ([topic, { occasions }]: readonly [string, UnauthorizedTrace], isTopic: typeof isOfLeases): boolean =>
    isTopic(topic) &&
    occasions.some(({ startMs, endMs }) => {
      return startMs <= nowMs && starts.some(ms => startMs - NEAR_MS <= ms && ms <= endMs + NEAR_MS);
    });
  const traces = [...log.topics];
  if (traces.some(trace => isNear(trace, isOfLeases))) return "Denied";
  if (log.has401) return "Unauthorized";
  return traces.some(trace => isNear(trace, isOfThrottling)) ? "Throttled" : "Unknown";
}

function isOfLeases(topic: string): boolean {
  return deniedOf(topic)?.resource === "leases";
}

function isOfThrottling(topic: string): boolean {
  return topic === THROTTLED || topic === REFUSED;
}

function lossStarts(trace: UnauthorizedTrace | undefined): number[] {
  const starts: number[] = [];
  let lastMs = -Infinity;
  for (const { startMs, endMs } of trace?.occasions ?? []) {
    if (startMs - lastMs > ONE_LOSS_MS) starts.push(startMs);
    lastMs = Math.max(lastMs, endMs);
  }
  return starts;
}

/** Reports whether the log shows that requests of the pod fail just now, so that it can't renew a Lease. */
export function showsFailure(log: ContainerLog, nowMs: number): boolean {
  return log.has401 || hasRecent(log, topic => topic === LEASE_LOST || isOfLeases(topic), nowMs);
}

/** Reports whether the API server answers requests for Leases 403 just now. A restart can't help then. */
export function isDeniedLeases(log: ContainerLog, nowMs: number): boolean {
  return hasRecent(log, isOfLeases, nowMs);
}

/**
 * Reports whether the API server refuses requests of the pod with 429 just now, several times lately: one is part of a normal day, and a
 * holder without seats gets one for nearly every renewal, which client-go tries every 2 s. Delays by the client's own limit do not count.
 */
export function isThrottled({ topics }: ContainerLog, nowMs: number): boolean {
  const trace = topics.get(REFUSED);
  return trace !== undefined && persistenceOf(trace, denialRule(0), nowMs).state === "persistent";
}

/** Reports whether the log has had a record of such a topic lately. */
export function hasRecent({ topics }: ContainerLog, isTopic: (topic: string) => boolean, nowMs: number): boolean {
  const rule = { ...denialRule(0), occasions: 1 };
  return Array.from(topics).some(
    ([topic, trace]) => isTopic(topic) && persistenceOf(trace, rule, nowMs).state !== "quiet",
  );
}
