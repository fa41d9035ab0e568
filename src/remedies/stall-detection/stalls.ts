import type { StallDetectionSpec, StallStatus } from "../../api/controller-resilience";
import { toSeconds } from "../../core/time";
import { isReleased, staleLeases } from "./lease-judge";
import { leaseId } from "./leases";
import { type Denial, denialsOf, describeRequest, type LossCause, LOSSES, lossesOf } from "./logs";
import type { LostBinding } from "./lost-bindings";
import type { ObservedPod, Scope } from "./observed";
import { workloadId } from "../../restarts/claims";
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
    ...(has("Forbidden") ? denied(scope) : []),
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
  return newDenials(scope).map(denial => {
    const what = describeRequest(denial.request);
    const lost = denial.lost && `${denial.lost.kind} ${denial.lost.name}`;
    const entry = entryOf("Forbidden", { denied: what, ...(lost === undefined ? {} : { lost }) }, scope);
    return { entry, finding: accusation("AccessLost", describeDenial(denial, entry.lost, scope)) };
  });
}

function newDenials(scope: Scope): Denial[] {
  const { workload, observed } = scope;
  const known = new Set(
    observed.previous
      .filter(({ evidence, workload: id }) => evidence === "Forbidden" && id === workloadId(workload.view))
      .map(entry => entry.denied),
  );
  const isAccused = (one: Denial): boolean => one.isNew || known.has(describeRequest(one.request));
  return byRequest(denialsIn(scope).filter(isAccused));
}

function denialsIn({ workload, observed, forMs, now }: Scope): Denial[] {
  const logs = workload.pods.flatMap(pod => pod.logs);
  return logs.flatMap(log => denialsOf(log, observed.lost, forMs, now.getTime()));
}

/** The earliest of each request. */
function byRequest(denials: readonly Denial[]): Denial[] {
  const found = new Map<string, Denial>();
  for (const denial of denials.toSorted((a, b) => a.sinceMs - b.sinceMs)) {
    const what = describeRequest(denial.request);
    if (!found.has(what)) found.set(what, denial);
  }
  return [...found.values()].toSorted((a, b) => (describeRequest(a.request) < describeRequest(b.request) ? -1 : 1));
}

/** Requests that have been denied as long as the log goes back: perhaps the normal life of the program. */
export function oldDenials(scope: Scope): string[] {
  if (!scope.spec.evidence.includes("Forbidden")) return [];
  const accused = new Set(newDenials(scope).map(({ request }) => describeRequest(request)));
  const others = byRequest(denialsIn(scope)).map(({ request }) => describeRequest(request));
  return others.filter(what => !accused.has(what));
}

const CAUSES: Readonly<Record<LossCause, string>> = {
  Throttled: "its log shows that its requests are throttled; flowIsolation keeps other clients away from its Leases",
  Denied: "its requests for Leases get 403 responses; restore its permissions on Leases",
  Unauthorized: "its requests get 401 responses; tokenRestart heals that",
  Unknown: "its log names no denial: another may have taken it, or the API server or the network is slow",
};

function leaderLosses(pod: ObservedPod, scope: Scope): Stall[] {
  const [losses] = pod.logs.flatMap(log => lossesOf(log, scope.now.getTime()) ?? []);
  if (losses === undefined) return [];
  const { name, uid } = pod.view;
  const sentence = `Pod ${name} lost its Lease ${LOSSES} or more times in an hour: ${CAUSES[losses.cause]}.`;
  return [
    {
      entry: entryOf("LeaderLoss", { pod: name, podUID: uid }, scope),
      finding: accusation("LeadershipLost", sentence),
    },
  ];
}

function accusation(reason: Reason, sentence: string): Finding {
  return { status: "False", reason, sentence, isStalled: true };
}

/** An entry keeps the time at which it was first found. */
function entryOf(
  evidence: StallStatus["evidence"],
  fields: Omit<StallStatus, "workload" | "evidence" | "since">,
  { workload, observed, now }: Scope,
): StallStatus {
  const id = workloadId(workload.view);
  const { podUID, lease, denied: what, object } = fields;
  const before = observed.previous.find(
    one =>
      one.evidence === evidence &&
      one.workload === id &&
      one.podUID === podUID &&
      one.lease === lease &&
      one.denied === what &&
      one.object === object,
  );
  const lost = fields.lost ?? before?.lost;
  return {
    workload: id,
    evidence,
    since: before?.since ?? toSeconds(now),
    ...fields,
    ...(lost === undefined ? {} : { lost }),
  };
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
