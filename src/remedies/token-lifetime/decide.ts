import { Reason } from "../../api/conditions";
import type { Decision } from "../../core/remedy";
import { joinSentences } from "../../core/sentences";
import { assess } from "./assess";
import type { Assessment } from "./assessment";
import { RESTORED } from "./build";
import { caseOf } from "./case";
import type { Spec, TokenLifetimeFacts } from "./facts";

/** Worst first: the first of these among the DaemonSets becomes the condition's reason. */
const BY_SEVERITY: readonly Reason[] = [
  Reason.Reverting,
  Reason.Reverted,
  Reason.FieldContested,
  Reason.RolloutStuck,
  Reason.OnDeleteStrategy,
  Reason.OwnMount,
  Reason.WindowsNodes,
  Reason.WouldChange,
  Reason.Rolling,
  Reason.Planned,
  Reason.Waiting,
  Reason.TargetNotFound,
  Reason.DefaultTokenLeft,
  Reason.AutomountOff,
  Reason.LeftAlone,
  Reason.Bounded,
  Reason.NoDaemonSets,
];

type Finding = Omit<Assessment, "entry">;

/** What the facts amount to. Pure and total. */
export function decideDaemonSets(facts: TokenLifetimeFacts, spec: Spec, now: Date): Decision {
  if (spec.via === "Admission") return notYet();
  const nowMs = now.getTime();
  const assessments = facts.daemonSets.map(own => assess(caseOf(own, facts, spec, nowMs)));
  const findings: Finding[] = [...assessments, ...facts.missingTargets.map(missing)].toSorted(bySeverity);
  const worst = findings[0] ?? none();
  const stalled = findings.find(({ isStalled }) => isStalled);
  const intents = assessments.flatMap(({ intent }) => intent ?? []);
  const changes = intents.filter(({ eventReason }) => eventReason !== RESTORED);
  return {
    status: worst.status,
    reason: worst.reason,
    message: messageOf(findings.length === 0 ? [worst] : findings),
    // Harm is taken back at once; changes are made one at a time, the next when this one has replaced its pods.
    intents: [...intents.filter(({ eventReason }) => eventReason === RESTORED), ...changes.slice(0, 1)],
    ...recheckOf(assessments, facts, changes.length > 1),
    progressing: findings.some(({ isProgressing }) => isProgressing),
    ...(stalled === undefined ? {} : { stalled: { reason: stalled.reason, message: stalled.sentence } }),
    parts: { daemonSets: [...assessments.map(({ entry }) => entry), ...facts.kept] },
  };
}

function notYet(): Decision {
  const message =
    "spec.tokenLifetime.via is Admission, but this version of the operator can change templates only: nothing is done for it.";
  return { status: "Unknown", reason: Reason.NotImplemented, message, intents: [] };
}

function bySeverity(a: Finding, b: Finding): number {
  return BY_SEVERITY.indexOf(a.reason) - BY_SEVERITY.indexOf(b.reason);
}

function missing(target: string): Finding {
  return { status: "False", reason: Reason.TargetNotFound, sentence: `There is no ${target} (yet).` };
}

function none(): Finding {
  return { status: "True", reason: Reason.NoDaemonSets, sentence: "No DaemonSet is among the targets." };
}

function messageOf(findings: readonly Finding[]): string {
  return joinSentences(
    findings.map(({ sentence }) => sentence),
    rest => `status.daemonSets tells of ${rest} more.`,
  );
}

function recheckOf(
  assessments: readonly Assessment[],
  facts: TokenLifetimeFacts,
  isMore: boolean,
): Pick<Decision, "recheckAfterMs"> {
  const times = [...assessments.flatMap(({ recheckAfterMs }) => recheckAfterMs ?? []), facts.nextReadInMs];
  const nextMs = isMore ? 1_000 : Math.min(...times);
  return Number.isFinite(nextMs) ? { recheckAfterMs: Math.max(1_000, nextMs) } : {};
}
