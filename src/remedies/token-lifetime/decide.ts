import type { Reason } from "../../api/conditions";
import type { DaemonSetStatus } from "../../api/controller-resilience";
import type { Intent } from "../../core/intent";
import type { Decision } from "../../core/legacy-remedy";
import { joinSentences } from "../kit/summarize";
import { decideAdmission, ownPairs, removeObsolete, settleReplacements, withKnownPair } from "./admission";
import { assess } from "./assess";
import type { Assessment } from "./assessment";
import { caseOf } from "./case";
import type { Spec, TokenLifetimeFacts } from "./facts";

/** Worst first: the first of these among the DaemonSets becomes the condition's reason. */
const BY_SEVERITY: readonly Reason[] = [
  "Reverting",
  "Reverted",
  "FieldContested",
  "NameTaken",
  "AdmissionUnavailable",
  "AdmissionIneffective",
  "RolloutStuck",
  "OnDeleteStrategy",
  "OwnMount",
  "WindowsNodes",
  "WouldChange",
  "Rolling",
  "Replacing",
  "Planned",
  "Waiting",
  "TargetNotFound",
  "DefaultTokenLeft",
  "AutomountOff",
  "LeftAlone",
  "Bounded",
  "NoDaemonSets",
];

/** Where several are hindered, each minute is another one's turn. */
const TURN_MS = 60_000;

type Finding = Omit<Assessment, "entry">;

/** What the facts amount to. Pure and total. */
export function decideDaemonSets(facts: TokenLifetimeFacts, spec: Spec, now: Date): Decision {
  const nowMs = now.getTime();
  const restarts = settleReplacements(facts, spec, nowMs);
  const { assessments, obsolete } = assessAll({ ...facts, restarts }, spec, nowMs);
  const findings: Finding[] = [...assessments, ...facts.missingTargets.map(missing)].toSorted(bySeverity);
  const worst = findings[0] ?? none();
  const stalled = findings.find(({ isStalled }) => isStalled);
  const urgent = assessments.filter(({ entry }) => entry.outcome === "Reverting");
  const changes = assessments.filter(({ intents = [], entry }) => intents.length > 0 && entry.outcome !== "Reverting");
  const [next, ...later] = inTurn(changes, facts, nowMs);
  // Harm is taken back at once; changes are made one at a time, the next when this one has replaced its pods.
  const intents = [...urgent, ...(next === undefined ? [] : [next])].flatMap(assessment => assessment.intents ?? []);
  const daemonSets = entriesOf(
    assessments.map(one => (later.includes(one) ? stillHindered(one, facts) : one)),
    facts,
  );
  return {
    status: worst.status,
    reason: worst.reason,
    message: messageOf(findings.length === 0 ? [worst] : findings),
    intents: [...intents, ...obsolete],
    ...recheckOf(assessments, facts),
    progressing: findings.some(({ isProgressing }) => isProgressing),
    ...(stalled === undefined ? {} : { stalled: { reason: stalled.reason, message: stalled.sentence } }),
    needsCleanup: isToBeCleanedUp(daemonSets, intents, facts),
    parts: { daemonSets, restarts },
  };
}

/** Each DaemonSet the way that the spec asks for, and the policies that are not needed any more. */
function assessAll(
  facts: TokenLifetimeFacts,
  spec: Spec,
  nowMs: number,
): { assessments: readonly Assessment[]; obsolete: readonly Intent[] } {
  if (spec.via === "Admission") return decideAdmission(facts, spec, nowMs);
  const assessments = facts.daemonSets.map(own => assess(caseOf(own, facts, spec, nowMs)));
  return { assessments, obsolete: removeObsolete([], facts) };
}

/** Of the DaemonSets that are there, and of those that were. */
function entriesOf(assessments: readonly Assessment[], facts: TokenLifetimeFacts): DaemonSetStatus[] {
  const known = new Map(facts.daemonSets.map(({ view, record }) => [view.name, record?.policy]));
  return [
    ...assessments.map(({ entry }) => withKnownPair(entry, known.get(entry.name), facts)),
    ...facts.kept.map(({ policy, ...rest }) => withKnownPair(unhindered(rest), policy, facts)),
  ];
}

/** Of one that is gone only its policy is left to be taken away, which has its turn in every pass. */
function unhindered(entry: DaemonSetStatus): DaemonSetStatus {
  const copy = { ...entry };
  delete copy.hindrance;
  return copy;
}

/** A pair is there, or about to be; or it was made, and nobody can see whether it still is. */
function isToBeCleanedUp(
  daemonSets: readonly DaemonSetStatus[],
  intents: readonly Intent[],
  facts: TokenLifetimeFacts,
): boolean {
  if (facts.admission === null) return daemonSets.some(({ policy }) => policy !== undefined);
  return ownPairs(facts).length > 0 || intents.some(({ verb }) => verb === "create");
}

/** Whatever was hindered the last time lets the others go first; what all were, each has its turn in. */
function inTurn(changes: readonly Assessment[], facts: TokenLifetimeFacts, nowMs: number): Assessment[] {
  const hindered = changes.filter(({ entry }) => hindranceOf(entry, facts) !== undefined);
  const first = hindered.length === 0 ? 0 : Math.floor(nowMs / TURN_MS) % hindered.length;
  return [
    ...changes.filter(change => !hindered.includes(change)),
    ...hindered.slice(first),
    ...hindered.slice(0, first),
  ];
}

/** What is not tried now is as it was after its last try. */
function stillHindered(assessment: Assessment, facts: TokenLifetimeFacts): Assessment {
  const hindrance = hindranceOf(assessment.entry, facts);
  return hindrance === undefined ? assessment : { ...assessment, entry: { ...assessment.entry, hindrance } };
}

/** In Observe mode nothing is tried, so nothing would ever be over; and what was tried for another generation was another change. */
function hindranceOf({ name }: DaemonSetStatus, facts: TokenLifetimeFacts): DaemonSetStatus["hindrance"] {
  const record = facts.daemonSets.find(({ view }) => view.name === name)?.record;
  return facts.mode === "Enforce" && record?.generation === facts.generation ? record.hindrance : undefined;
}

function bySeverity(a: Finding, b: Finding): number {
  return BY_SEVERITY.indexOf(a.reason) - BY_SEVERITY.indexOf(b.reason);
}

function missing(target: string): Finding {
  return { status: "False", reason: "TargetNotFound", sentence: `There is no ${target} (yet).` };
}

function none(): Finding {
  return { status: "True", reason: "NoDaemonSets", sentence: "No DaemonSet is among the targets." };
}

function messageOf(findings: readonly Finding[]): string {
  return joinSentences(
    findings.map(({ sentence }) => sentence),
    rest => `status.daemonSets tells of ${rest} more.`,
  );
}

function recheckOf(assessments: readonly Assessment[], facts: TokenLifetimeFacts): Pick<Decision, "recheckAfterMs"> {
  const times = [...assessments.flatMap(({ recheckAfterMs }) => recheckAfterMs ?? []), facts.nextReadInMs];
  const nextMs = Math.min(...times);
  return Number.isFinite(nextMs) ? { recheckAfterMs: Math.max(1_000, nextMs) } : {};
}
