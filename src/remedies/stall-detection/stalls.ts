import type { StallStatus } from "../../api/controller-resilience";
import { toSeconds } from "../../core/time";
import { type Denial, describeDenial } from "./denials";
import { isReleased, staleLeases } from "./lease-judge";
import { leaseId } from "./leases";
import { LOSSES } from "./logs";
import type { ObservedPod, Scope } from "./observed";
import { stuckKinds } from "./progress";
import type { Finding } from "./reasons";

// What shows that a workload is stalled. Pure.

/** One piece of evidence: what people read, and what status keeps. */
export interface Stall {
  readonly finding: Finding;
  readonly entry: StallStatus;
}

/** The evidence by what is said of it. */
const EVIDENCE = {
  LeaseNotRenewed: "Lease",
  AccessLost: "Forbidden",
  ProgressStopped: "Progress",
  QueueStuck: "Metrics",
  WatchesDead: "Metrics",
  LeadershipLost: "LeaderLoss",
} as const satisfies Partial<Record<Finding["reason"], StallStatus["evidence"]>>;

/** What is said, of what, and the sentence. */
type Sign = readonly [
  reason: keyof typeof EVIDENCE,
  of: Omit<StallStatus, "workload" | "evidence" | "since">,
  sentence: string,
];

/** All evidence against a workload. */
export function stallsOf(scope: Scope): Stall[] {
  const { pods } = scope;
  const signs = [
    ...pods.flatMap(notRenewed),
    ...denied(scope),
    ...stuckKinds(scope).map(({ id, sentence }): Sign => ["ProgressStopped", { object: id }, sentence]),
    ...pods.flatMap(idle),
    ...pods.flatMap(losses),
  ];
  return signs.map(([reason, of, sentence]) => ({
    finding: { status: "False", reason, sentence, isStalled: true },
    entry: entryOf(EVIDENCE[reason], of, scope),
  }));
}

/** What two entries about the same have in common. */
const IDENTITY = ["evidence", "workload", "podUID", "lease", "denied", "object"] as const;

/** An entry keeps the time at which it was first found. */
function entryOf(evidence: StallStatus["evidence"], of: Sign[1], { id, observed, now }: Scope): StallStatus {
  const entry: StallStatus = { workload: id, evidence, since: toSeconds(now), ...of };
  const before = observed.previous.find(one => IDENTITY.every(field => one[field] === entry[field]));
  return { ...entry, since: before?.since ?? entry.since };
}

function notRenewed({ view: { name, uid }, leases, logs }: ObservedPod): Sign[] {
  // A log with 401s makes certain what a Lease alone suggests.
  const lostIt = leases.some(({ isConfirmed }) => isConfirmed) ? ", and its log shows that it lost it" : "";
  const confirmation = logs.has401 ? ", and its requests get 401 responses" : lostIt;
  return staleLeases(leases).map(({ track }): Sign => {
    const id = leaseId(track);
    const what = isReleased(track)
      ? `released Lease ${id}, and no pod has taken it since`
      : `holds Lease ${id} and no longer renews it`;
    const of = { pod: name, podUID: uid, lease: id, leaseVersion: track.resourceVersion };
    return ["LeaseNotRenewed", of, `Pod ${name} ${what}${confirmation}.`];
  });
}

function idle({ view: { name, uid }, idle: shown }: ObservedPod): Sign[] {
  return shown === undefined ? [] : [[shown.reason, { pod: name, podUID: uid }, shown.sentence]];
}

function losses({ view: { name, uid }, logs: { loss } }: ObservedPod): Sign[] {
  if (loss === undefined) return [];
  const sentence = `Pod ${name} lost its Lease ${LOSSES} or more times in an hour: ${loss}.`;
  return [["LeadershipLost", { pod: name, podUID: uid }, sentence]];
}

/** One for each denied request, however many pods make it. What had allowed it may be known from an earlier process. */
function denied(scope: Scope): Sign[] {
  const accusing = denialsIn(scope).filter(({ isNew }) => isNew);
  return accusing.map((denial): Sign => {
    const { what, lost: { kind, name } = {}, known } = denial;
    const lost = kind === undefined ? known?.lost : `${kind} ${name}`;
    const sentence = describeDenial(denial, scope.id, known?.lost);
    return ["AccessLost", { denied: what, ...(lost !== undefined && { lost }) }, sentence];
  });
}

/** The persistent denials of a workload, one for each request, with its entry: the earliest that accuses it, else the earliest. */
function denialsIn({ id, pods, observed }: Scope): (Denial & { readonly known: StallStatus | undefined })[] {
  const entries = observed.previous.filter(({ workload }) => workload === id);
  const all = pods
    .flatMap(({ logs }) => logs.denials)
    .map(denial => {
      const known = entries.find(entry => entry.denied === denial.what);
      return { ...denial, known, isNew: denial.isNew || known !== undefined };
    });
  const ranked = all.toSorted((a, b) => Number(a.isNew) - Number(b.isNew) || b.sinceMs - a.sinceMs);
  const last = new Map(ranked.map(denial => [denial.what, denial]));
  return [...last.values()].toSorted((a, b) => (a.what < b.what ? -1 : 1));
}

/** Requests that have been denied as long as the log goes back: perhaps the normal life of the program. */
export function notesOnDenials(scope: Scope): string[] {
  const [first, ...rest] = denialsIn(scope).filter(({ isNew }) => !isNew);
  if (first === undefined) return [];
  const more = rest.length === 0 ? "" : `, and ${rest.length} more`;
  return [`${scope.id} may not ${first.what}${more}, as long as its log goes back; this may be normal.`];
}
