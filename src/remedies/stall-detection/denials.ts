import type { ContainerView, PodView } from "../../core/views";
import { persistenceOf, type PersistenceRule, type UnauthorizedTrace } from "../../logs/persistence";
import { deniedOf, type DeniedRequest } from "../../logs/topics";
import type { LostBinding } from "./lost-bindings";

// 403s that began while the program ran. Pure. A program that probes for optional APIs is denied from its start on, and goes on working.

/** 403s that begin earlier in the life of a container, or in the part of its log that was read, may have been there before. */
const BEGAN_AFTER_MS = 600_000;

/** A binding that went this long before the first 403 that is known may be the cause; also one that the operator saw a little later. */
const LOST_BEFORE_MS = 3_600_000;
const LOST_AFTER_MS = 60_000;

/** The log of one container. */
export interface ContainerLog {
  readonly pod: PodView;
  readonly container: ContainerView;
  readonly topics: ReadonlyMap<string, UnauthorizedTrace>;
  /** Absent: it was not read yet. */
  readonly searchedFromMs?: number;
  readonly has401: boolean;
}

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
  return { occasions: 3, windowMs: Math.max(900_000, 3 * forMs), minDurationMs: forMs };
}

/** Returns the persistent denials of a container's own ServiceAccount. */
export function denialsOf(log: ContainerLog, lost: readonly LostBinding[], forMs: number, nowMs: number): Denial[] {
  const rule = denialRule(forMs);
  return Array.from(log.topics).flatMap(([topic, trace]): Denial[] => {
    const request = deniedOf(topic);
    const sinceMs = trace.occasions[0]?.startMs;
    if (request === undefined || sinceMs === undefined || !isOwn(request, log.pod)) return [];
    if (persistenceOf(trace, rule, nowMs).state !== "persistent") return [];
    const isStartKnown = trace.isStartUnknown !== true;
    const cause = isStartKnown ? causeOf(request, sinceMs, lost) : undefined;
    const isNew = cause !== undefined || (isStartKnown && hasBegun(log, sinceMs));
    return [{ pod: log.pod, request, sinceMs, isNew, ...(cause && { lost: cause }) }];
  });
}

/** A proxy logs denials of its users, too. */
function isOwn({ serviceAccount: { namespace, name } }: DeniedRequest, pod: PodView): boolean {
  return namespace === pod.namespace && name === pod.serviceAccountName;
}

function hasBegun({ container, searchedFromMs = Infinity }: ContainerLog, sinceMs: number): boolean {
  return sinceMs >= Math.max(container.startedAtMs ?? Infinity, searchedFromMs) + BEGAN_AFTER_MS;
}

/** The last binding of the ServiceAccount that went before the denials began, and that could have allowed the request. */
function causeOf(request: DeniedRequest, sinceMs: number, lost: readonly LostBinding[]): LostBinding | undefined {
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
