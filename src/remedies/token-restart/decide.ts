import type { Reason } from "../../api/conditions";
import type { RestartStatus, TokenRestartSpec } from "../../api/controller-resilience";
import type { Announcement, Decision } from "../../core/legacy-remedy";
import { isOpen } from "../../core/restarts/budget";
import { assess } from "./assess";
import type { Assessment } from "./assessment";
import { rejectedOf, type WorkloadCase } from "./candidates";
import { workloadId, type TokenRestartFacts, type WorkloadFacts } from "./facts";
import { coolingMs } from "./limits";
import { settleRestarts, settleUnwatched } from "./outcomes";
import { HEALTHY_INTERVAL_MS, SUSPICIOUS_INTERVAL_MS } from "../../logs/reading/read-schedule";
import { targetStatus } from "./target-status";
import { count, describeRecovery, describeUndecided, messageOfWorkloads } from "./wording";

/** Not even overdue reads bring a pass about more often. */
const MIN_RECHECK_MS = 1_000;

/** Worst first: the first of these among the workloads becomes the condition's reason. */
const BY_SEVERITY: readonly Reason[] = [
  "RestartsExhausted",
  "ServiceAccountMissing",
  "Rejected",
  "WouldRestart",
  "RestartBlocked",
  "RestartDeferred",
  "Restarting",
  "TargetNotFound",
  "Forbidden",
  "ObserveFailed",
  "Suspected",
  "NoPods",
  "Accepted",
];

interface Finding extends Omit<Assessment, "status"> {
  readonly status: Decision["status"];
}

/** What the facts amount to. Pure and total. */
export function decideTokens(facts: TokenRestartFacts, spec: TokenRestartSpec, now: Date): Decision {
  if (facts.invalidPattern !== undefined) return invalidPattern(facts.invalidPattern);
  const cases = facts.workloads.map(own => caseOf(own, facts, spec, now));
  const assessments = cases.map(given => assess(given));
  const findings = [...assessments, ...otherFindings(facts)].toSorted((a, b) => rank(a) - rank(b));
  const restarts = mergeHistory(facts, cases, now);
  const worst = findings[0] ?? nothingFound();
  // Unknown means that nothing is known for certain, so nothing is done.
  const intents = worst.status === "Unknown" ? [] : assessments.flatMap(({ intent }) => intent ?? []);
  return {
    status: worst.status,
    reason: worst.reason,
    message: messageOf(findings, facts),
    intents,
    recheckAfterMs: recheckAfter(facts, assessments, cases),
    progressing: assessments.some(({ isProgressing }) => isProgressing),
    ...stalledOf(findings),
    parts: { targets: cases.map((given, i) => targetStatus(given, assessments[i] ?? nothingFound())), restarts },
    announcements: announce(facts.restarts, restarts),
  };
}

function invalidPattern(message: string): Decision {
  const stalled = { reason: "InvalidPattern" as const, message };
  return { status: "False", reason: "InvalidPattern", message, intents: [], stalled };
}

function nothingFound(): Assessment {
  return { status: "True", reason: "Accepted", sentence: "Nothing is to be watched." };
}

function caseOf(own: WorkloadFacts, facts: TokenRestartFacts, spec: TokenRestartSpec, now: Date): WorkloadCase {
  const { kind, name } = own.workload;
  const previous = facts.previousTargets.find(target => target.kind === kind && target.name === name);
  const ofWorkload = facts.restarts.filter(entry => entry.workload === workloadId(own.workload));
  const strategy = { isRollout: spec.strategy === "RolloutRestart" };
  const settle = (entries: readonly RestartStatus[]): RestartStatus[] =>
    settleRestarts(entries, own, strategy, now.getTime());
  const settled = settle(ofWorkload);
  // A new generation is a person's word that it is worth trying again: what was used up is forgotten, and by how often the cooldown was
  // doubled, but no sooner than the cooldown itself is over, which is counted from it here and wherever else the restarts are known.
  const isForgiven = (previous?.exhaustedGeneration ?? Infinity) < facts.generation;
  const isForgotten = isForgiven && coolingMs(settled, spec, now) === 0;
  const history = isForgotten ? settle(ofWorkload.filter(entry => isOpen(entry))) : settled;
  const isCooling = isForgiven && !isForgotten;
  return { facts, own, spec, history, previous, isCooling, rejected: rejectedOf(own), now };
}

/** The entries of workloads that are no longer targets stay, but not open; order is kept. */
function mergeHistory(facts: TokenRestartFacts, cases: readonly WorkloadCase[], now: Date): RestartStatus[] {
  const settled = new Map(cases.map(given => [workloadId(given.own.workload), given.history]));
  const others = facts.restarts
    .filter(entry => !settled.has(entry.workload))
    .map(entry => settleUnwatched(entry, now.getTime()));
  return [...others, ...[...settled.values()].flat()].toSorted(
    (a, b) => (Date.parse(a.time) || 0) - (Date.parse(b.time) || 0),
  );
}

/** What there is to say beside the workloads: nodes of which nobody can tell who is to blame, targets that are missing, and what could not be read. */
function otherFindings(facts: TokenRestartFacts): Finding[] {
  const missing = facts.missingTargets.map((target): Finding => {
    return { status: "False", reason: "TargetNotFound", sentence: `There is no ${target} (yet).` };
  });
  const problems = facts.problems.map(({ forbidden, message }): Finding => {
    const reason = forbidden ? "Forbidden" : "ObserveFailed";
    return { status: "Unknown", reason, sentence: `Not everything could be read: ${message}.` };
  });
  const undecided = facts.undecided.map((node): Finding => {
    return { status: "False", reason: "Rejected", sentence: describeUndecided(node), isStalled: true };
  });
  return [...undecided, ...missing, ...problems];
}

function rank(finding: Finding): number {
  return BY_SEVERITY.indexOf(finding.reason);
}

function messageOf(findings: readonly Finding[], facts: TokenRestartFacts): string {
  const notable = findings.filter(({ reason }) => reason !== "Accepted");
  const pods = facts.workloads.reduce((sum, own) => sum + own.pods.length, 0);
  const all = `${count(facts.workloads.length, "workload")} (${count(pods, "pod")})`;
  const [only] = findings;
  const accepted =
    findings.length === 1 && only !== undefined ? only.sentence : `No pod of ${all} is persistently answered 401.`;
  return notable.length === 0 ? accepted : messageOfWorkloads(notable);
}

function recheckAfter(
  facts: TokenRestartFacts,
  assessments: readonly Assessment[],
  cases: readonly WorkloadCase[],
): number {
  const isClose =
    cases.some(({ history }) => history.some(entry => isOpen(entry))) ||
    assessments.some(({ reason }) => reason !== "Accepted" && reason !== "NoPods" && reason !== "RestartsExhausted");
  const intervalMs = isClose ? SUSPICIOUS_INTERVAL_MS : HEALTHY_INTERVAL_MS;
  const waits = assessments.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
  return Math.max(MIN_RECHECK_MS, Math.min(intervalMs, facts.nextReadInMs, ...waits));
}

function stalledOf(findings: readonly Finding[]): Pick<Decision, "stalled"> {
  const stalled = findings.filter(({ isStalled }) => isStalled);
  const [first] = stalled;
  if (first === undefined) return {};
  return { stalled: { reason: first.reason, message: messageOfWorkloads(stalled) } };
}

/** Outcomes that are new with this decision. */
function announce(before: readonly RestartStatus[], after: readonly RestartStatus[]): Announcement[] {
  return after.flatMap((entry): Announcement[] => {
    const previous = before.find(other => other.podUID === entry.podUID && other.time === entry.time);
    if (previous === undefined || previous.outcome === entry.outcome) return [];
    if (entry.outcome === "Recovered") {
      return [{ type: "Normal", reason: "PodRecovered", note: describeRecovery(entry) }];
    }
    if (entry.outcome !== "Ineffective") return [];
    const note = `Restarting pod ${entry.pod} of ${entry.workload} was not seen to help.`;
    return [{ type: "Warning", reason: "RestartIneffective", note }];
  });
}
