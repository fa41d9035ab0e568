import { type Rest, RESTS_MS } from "../../core/readers";
import { parseDuration } from "../../core/time";
import type { PodView, WorkloadView } from "../../core/views";
import { findStalls } from "../../logs/detector";
import {
  NO_TRACE,
  PERSISTENT,
  persistenceOf,
  type PersistenceRule,
  type UnauthorizedTrace,
} from "../../logs/persistence";
import { watchedContainers } from "../../logs/reading/log-watch";
import { deniedOf, LEASE_LOST, REFUSED, THROTTLED } from "../../logs/traces";
import type { TargetPods } from "../kit/targets";
import { type Denial, denialsOf, describeLost, idOf, type LostBinding } from "./denials";
import type { Pass, PodLogs, Scope } from "./observed";
import { accuse, note, type Sign } from "./reasons";

// What the logs of the pods show: 401s, 403s, 429s and lost Leases.

/** A lost Lease may come after none of them; it is found within five minutes, or when the program restarts. */
const REST: Rest = { as: "dozing", wokenBy: ["401", "403", "429"] };

/** A log that rests is read twice in this time, in milliseconds. */
const READ_WITHIN_MS = 2 * RESTS_MS.dozing;

/** By topic, of one container. */
type Topics = ReadonlyMap<string, UnauthorizedTrace>;

function ruleOf({ spec }: Pass): PersistenceRule {
  const forMs = parseDuration(spec.for);
  return { ...PERSISTENT, windowMs: Math.max(PERSISTENT.windowMs, 3 * forMs), minDurationMs: forMs };
}

/** Wants the logs of the pods to be read. */
export async function wantLogs(targets: readonly TargetPods[], pass: Pass): Promise<void> {
  const { readers, memory, problems } = pass;
  const watched = targets.flatMap(({ pods }) => pods.flatMap(({ view }) => watchedContainers(view)));
  const search = { find: findStalls, rule: ruleOf(pass), rest: REST };
  await memory.logs.want(readers, watched, search);
  const errors = watched.flatMap(item => memory.logs.finding(item).error ?? []);
  problems.push(...new Map(errors.map(error => [error.message, error])).values());
}

/** Returns what the logs of a pod show. What others are denied, or tenants that a pod acts for, does not count. */
export function logsOf(pod: PodView, workload: WorkloadView, lost: readonly LostBinding[], pass: Pass): PodLogs {
  const { evidence } = pass.spec;
  const nowMs = pass.readers.clock.now().getTime();
  const logs = containerLogs(pod, workload, pass);
  const denials = logs.flatMap(log => denialsOf(log, lost, { rule: ruleOf(pass), nowMs }));
  const [loss] = logs.flatMap(log => lossCauseOf(log, nowMs) ?? []);
  return {
    isRead: logs.every(({ readMs = -Infinity }) => nowMs - readMs < READ_WITHIN_MS),
    isUnread: logs.some(({ readMs, error, isNew }) => readMs === undefined && error === undefined && !isNew),
    has401: logs.some(log => log.has401),
    recent: logs.flatMap(({ topics }) => recentIn(topics, nowMs)),
    isThrottled: logs.some(({ topics }) => isThrottled(topics, nowMs)),
    denials: evidence.includes("Forbidden") ? denials : [],
    loss: evidence.includes("LeaderLoss") ? loss : undefined,
  };
}

function containerLogs(pod: PodView, { logsForeign401s = false }: WorkloadView, { memory }: Pass) {
  // A proxy logs denials of its users, too.
  const isOwn = (topic: string): boolean => {
    const { namespace = pod.namespace, name = pod.serviceAccountName } = deniedOf(topic)?.serviceAccount ?? {};
    return namespace === pod.namespace && name === pod.serviceAccountName;
  };
  return watchedContainers(pod).map(item => {
    const { topics: all, persistence, ...finding } = memory.logs.finding(item);
    const topics: Topics = new Map(Array.from(all).filter(([topic]) => isOwn(topic)));
    return { ...finding, ...item, topics, has401: persistence.state !== "quiet" && !logsForeign401s };
  });
}

function recentIn(topics: Topics, nowMs: number): string[] {
  const rule = { ...PERSISTENT, minDurationMs: 0, occasions: 1 };
  const recent = Array.from(topics).filter(([, trace]) => persistenceOf(trace, rule, nowMs).state !== "quiet");
  return recent.map(([topic]) => topic);
}

/** One is part of a normal day, and a holder without seats gets one for nearly every renewal, which client-go tries every 2 s. */
function isThrottled(topics: Topics, nowMs: number): boolean {
  const rule = { ...PERSISTENT, minDurationMs: 0 };
  return persistenceOf(topics.get(REFUSED) ?? NO_TRACE, rule, nowMs).state === "persistent";
}

/** Losses within this time, in milliseconds, that show that it does not come to work. */
const LOSSES = 3;
const LOSSES_WINDOW_MS = 3_600_000;

/** Records about one loss: a client tries for some seconds, says so, exits, and starts again. */
const ONE_LOSS_MS = 60_000;

/** Records that explain a loss are this close to it. */
const NEAR_MS = 60_000;

/** Returns why a container loses its Lease, as far as its log shows, if it did {@link LOSSES} or more times in the last hour. */
function lossCauseOf(
  { topics, has401 }: { readonly topics: Topics; readonly has401: boolean },
  nowMs: number,
): string | undefined {
  const starts = lossStarts(topics.get(LEASE_LOST)).filter(ms => nowMs - ms < LOSSES_WINDOW_MS && ms <= nowMs);
  if (starts.length < LOSSES) return undefined;
  const near = Array.from(topics).filter(([, { occasions }]) =>
    occasions.some(({ startMs, endMs }) => {
      return startMs <= nowMs && starts.some(ms => startMs - NEAR_MS <= ms && ms <= endMs + NEAR_MS);
    }),
  );
  const isNear = (isTopic: (topic: string) => boolean): boolean => near.some(([topic]) => isTopic(topic));
  if (isNear(isOfLeases)) return "its requests for Leases get 403 responses; restore its permissions on Leases";
  if (has401) return "its requests get 401 responses; tokenRestart heals that";
  return isNear(topic => topic === THROTTLED || topic === REFUSED)
    ? "its log shows that its requests are throttled; flowIsolation keeps other clients away from its Leases"
    : "its log names no denial: another may have taken it, or the API server or the network is slow";
}

function lossStarts(trace = NO_TRACE): number[] {
  const starts: number[] = [];
  let lastMs = -Infinity;
  for (const { startMs, endMs } of trace.occasions) {
    if (startMs - lastMs > ONE_LOSS_MS) starts.push(startMs);
    lastMs = Math.max(lastMs, endMs);
  }
  return starts;
}

/** Reports whether a topic is that of denied requests for Leases. */
export function isOfLeases(topic: string): boolean {
  return deniedOf(topic)?.resource === "leases";
}

/** Reports whether the log shows that requests of the pod fail just now, so that it can't renew a Lease. */
export function showsFailure({ has401, recent }: PodLogs): boolean {
  return has401 || recent.some(topic => topic === LEASE_LOST || isOfLeases(topic));
}

/** What the logs show. */
export function signsOfLogs(scope: Scope): Sign[] {
  const losses = scope.pods.flatMap(({ view: { name, uid }, logs: { loss } }): Sign[] => {
    if (loss === undefined) return [];
    const sentence = `Pod ${name} lost its Lease ${LOSSES} or more times in an hour: ${loss}.`;
    return [accuse("LeadershipLost", { pod: name, podUID: uid }, sentence, scope)];
  });
  const denials = denialsIn(scope);
  const [first, ...rest] = denials.filter(({ isNew }) => !isNew);
  const more = rest.length === 0 ? "" : `, and ${rest.length} more`;
  const normal = `${scope.id} may not ${first?.what}${more}, as long as its log goes back; this may be normal.`;
  const accusing = denials.filter(({ isNew }) => isNew).map(denial => accuseOf(denial, scope));
  return [...accusing, ...losses, ...(first === undefined ? [] : [note(normal)])];
}

/** A denial, and the binding that had allowed it, as an entry of status names it. */
type KnownDenial = Denial & { readonly known: string | undefined };

/** The persistent denials of a workload, one for each request, however many pods make it: the earliest that accuses it, else the earliest. */
function denialsIn({ id, pods, observed }: Scope): KnownDenial[] {
  const entries = observed.previous.filter(({ workload }) => workload === id);
  const all = pods
    .flatMap(({ logs }) => logs.denials)
    .map(denial => {
      const entry = entries.find(({ denied }) => denied === denial.what);
      return { ...denial, known: entry?.lost, isNew: denial.isNew || entry !== undefined };
    });
  const ranked = all.toSorted((a, b) => Number(a.isNew) - Number(b.isNew) || b.sinceMs - a.sinceMs);
  const last = new Map(ranked.map(denial => [denial.what, denial]));
  return [...last.values()].toSorted((a, b) => (a.what < b.what ? -1 : 1));
}

/** What had allowed it may be known from an earlier process, or be restored while the 403s are still recent. */
function accuseOf({ what, account, lost: binding, known }: KnownDenial, scope: Scope): Sign {
  const lost = binding === undefined ? known : idOf(binding);
  const why = binding === undefined ? `${known} had allowed it (perhaps it is back)` : describeLost(binding, account);
  const unknown = `no lost binding of ServiceAccount ${account} is known. Check its bindings and roles`;
  const sentence = `${scope.id} may no longer ${what}: ${lost === undefined ? unknown : `${why}. Restore it`}; a restart cannot help.`;
  return accuse("AccessLost", { denied: what, ...(lost !== undefined && { lost }) }, sentence, scope);
}
