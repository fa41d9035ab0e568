import type { StallDetectionSpec, StallStatus } from "../../api/controller-resilience";
import { toSeconds } from "../../core/time";
import { workloadId } from "../../core/text";
import { isReleased, staleLeases } from "./lease-judge";
import { leaseId } from "./leases";
import { type Denial, denialsOf, describeRequest, type LossCause, lossCauseOf, LOSSES } from "./logs";
import type { LostBinding } from "./lost-bindings";
import type { ObservedPod, Scope } from "./observed";
import { stuckKinds } from "./progress";
import type { Finding, Reason } from "./reasons";

// What shows that a workload is stalled. Pure.

/** One piece of evidence: what people read, and what status keeps. */
export interface Stall {
  readonly finding: Finding;
  readonly entry: StallStatus;
}

/** All evidence against a workload. */
export function stallsOf(scope: Scope): Stall[] {
  const { spec, workload } = scope;
  const has = (evidence: StallDetectionSpec["evidence"][number]): boolean => spec.evidence.includes(evidence);
  return [
    ...workload.pods.flatMap(pod => notRenewed(pod, scope)),
    ...denied(scope),
    ...stuckKinds(scope).map(({ id, sentence }): Stall => {
      return { entry: entryOf("Progress", { object: id }, scope), finding: accusation("ProgressStopped", sentence) };
    }),
    ...workload.pods.flatMap(pod => idleStall(pod, scope)),
    ...(has("LeaderLoss") ? workload.pods.flatMap(pod => leaderLosses(pod, scope)) : []),
  ];
}

function notRenewed(pod: ObservedPod, scope: Scope): Stall[] {
  return staleLeases(pod.leases, scope.forMs).map(held => {
    const id = leaseId(held.track);
    const fields = { pod: pod.view.name, podUID: pod.view.uid, lease: id, leaseVersion: held.track.resourceVersion };
    const entry = entryOf("Lease", fields, scope);
    const what = isReleased(held.track)
      ? `released Lease ${id}, and no pod has taken it since`
      : `holds Lease ${id} and no longer renews it`;
    const sentence = `Pod ${pod.view.name} ${what}${describeConfirmation(pod)}.`;
    return { entry, finding: accusation("LeaseNotRenewed", sentence) };
  });
}

function idleStall({ view, idle }: ObservedPod, scope: Scope): Stall[] {
  if (idle === undefined) return [];
  const entry = entryOf("Metrics", { pod: view.name, podUID: view.uid }, scope);
  return [{ entry, finding: accusation(idle.reason, idle.sentence) }];
}

/** A log with 401s makes certain what a Lease alone suggests. */
function describeConfirmation({ logs, leases }: ObservedPod): string {
  if (logs.some(({ has401 }) => has401)) return ", and its requests get 401 responses";
  return leases.some(({ isConfirmed }) => isConfirmed) ? ", and its log shows that it lost it" : "";
}

/** One entry for each denied request, however many pods make it. */
function denied(scope: Scope): Stall[] {
  return denialsIn(scope).flatMap((denial): Stall[] => {
    const { what } = denial;
    if (!denial.isNew) return [];
    const lost = denial.lost && `${denial.lost.kind} ${denial.lost.name}`;
    const entry = entryOf("Forbidden", { denied: what, ...(lost === undefined ? {} : { lost }) }, scope);
    return [{ entry, finding: accusation("AccessLost", describeDenial(denial, entry.lost, scope)) }];
  });
}

/** The persistent denials of a workload, one for each request: the earliest that accuses it, else the earliest. */
function denialsIn({ spec, workload, observed, forMs, now }: Scope): (Denial & { readonly what: string })[] {
  if (!spec.evidence.includes("Forbidden")) return [];
  const known = observed.previous.filter(({ workload: id }) => id === workloadId(workload.view));
  const logs = workload.pods.flatMap(pod => pod.logs);
  const all = logs
    .flatMap(log => denialsOf(log, observed.lost, forMs, now.getTime()))
    .map(denial => {
      const what = describeRequest(denial.request);
      return { ...denial, what, isNew: denial.isNew || known.some(entry => entry.denied === what) };
    });
  const ranked = all.toSorted((a, b) => Number(a.isNew) - Number(b.isNew) || b.sinceMs - a.sinceMs);
  const last = new Map(ranked.map(denial => [denial.what, denial]));
  return [...last.values()].toSorted((a, b) => (a.what < b.what ? -1 : 1));
}

/** Requests that have been denied as long as the log goes back: perhaps the normal life of the program. */
export function oldDenials(scope: Scope): string[] {
  return denialsIn(scope).flatMap(({ isNew, what }) => (isNew ? [] : [what]));
}

const CAUSES: Readonly<Record<LossCause, string>> = {
  Throttled: "its log shows that its requests are throttled; flowIsolation keeps other clients away from its Leases",
  Denied: "its requests for Leases get 403 responses; restore its permissions on Leases",
  Unauthorized: "its requests get 401 responses; tokenRestart heals that",
  Unknown: "its log names no denial: another may have taken it, or the API server or the network is slow",
};

function leaderLosses(pod: ObservedPod, scope: Scope): Stall[] {
  const [cause] = pod.logs.flatMap(log => lossCauseOf(log, scope.now.getTime()) ?? []);
  if (cause === undefined) return [];
  const { name, uid } = pod.view;
  const sentence = `Pod ${name} lost its Lease ${LOSSES} or more times in an hour: ${CAUSES[cause]}.`;
  const entry = entryOf("LeaderLoss", { pod: name, podUID: uid }, scope);
  return [{ entry, finding: accusation("LeadershipLost", sentence) }];
}

function accusation(reason: Reason, sentence: string): Finding {
  return { status: "False", reason, sentence, isStalled: true };
}

/** What two entries about the same have in common. */
const IDENTITY = ["evidence", "workload", "podUID", "lease", "denied", "object"] as const;

/** An entry keeps the time at which it was first found, and what had allowed a request. */
function entryOf(
  evidence: StallStatus["evidence"],
  fields: Omit<StallStatus, "workload" | "evidence" | "since">,
  { workload, observed, now }: Scope,
): StallStatus {
  const entry: StallStatus = { workload: workloadId(workload.view), evidence, since: toSeconds(now), ...fields };
  const before = observed.previous.find(one => IDENTITY.every(field => one[field] === entry[field]));
  const lost = fields.lost ?? before?.lost;
  return { ...entry, since: before?.since ?? entry.since, ...(lost !== undefined && { lost }) };
}

/** What happened, what had allowed it, and what to do. `known` is what an earlier process saw: kind and name. */
function describeDenial(denial: Denial, known: string | undefined, scope: Scope): string {
  const { request, lost } = denial;
  const account = `ServiceAccount ${request.serviceAccount.name}`;
  const what = `${workloadId(scope.workload.view)} may no longer ${describeRequest(request)}`;
  const why = lost === undefined ? known && `${known} had allowed it` : describeLost(lost, account);
  const unknown = `no lost binding of ${account} is known. Check its bindings and roles`;
  return `${what}: ${why === undefined ? unknown : `${why}. Restore it`}; a restart cannot help.`;
}

function describeLost({ kind, name, role, how, atMs }: LostBinding, account: string): string {
  const at = toSeconds(new Date(atMs));
  const past = how === "deleted" ? `was deleted at ${at}` : `no longer names ${account} since ${at}`;
  return `${kind} ${name} (${role}) ${past}`;
}
