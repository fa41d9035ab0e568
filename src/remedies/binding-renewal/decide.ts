import { Reason } from "../../api/conditions";
import type { BindingStatus } from "../../api/controller-resilience";
import type { Announcement, Decision } from "../../core/remedy";
import { timeOf } from "./build";
import { bindingId, type BindingRenewalFacts, type Spec } from "./facts";
import { bySeverity, type Finding } from "./finding";
import { assessGone, isRecorded } from "./gone";
import { assessLiving } from "./living";
import { renewUntilMs } from "./schedule";

/** Writes of one pass; what is left is done in the next. */
const MAX_WRITES = 20;
/** When there is more to write. */
const NEXT_WRITES_MS = 1_000;
/** Not even what is overdue brings a pass about more often. */
const MIN_RECHECK_MS = 1_000;
/** The end of all renewals is told of a week ahead, whatever warnBefore says of single bindings. */
const ENDING_SOON_MS = 7 * 24 * 3_600_000;
/** Revocations that status remembers; beyond it the oldest go, and those bindings are unknown then, hence never restored either. */
const MAX_REVOKED = 64;
/** Findings that the message tells of. */
const MAX_SENTENCES = 5;

/** What the facts amount to. Pure and total. */
export function decideBindings(facts: BindingRenewalFacts, spec: Spec, now: Date): Decision {
  const nowMs = now.getTime();
  const findings = [
    ...facts.living.map(binding => assessLiving(binding, facts, spec, nowMs)),
    ...facts.gone.filter(({ record }) => isRecorded(record)).map(gone => assessGone(gone, facts, spec, nowMs)),
    ...absences(facts),
  ].toSorted(bySeverity);
  const worst = findings[0] ?? nothingFound();
  const intents = findings.flatMap(({ intent }) => intent ?? []);
  const stalled = findings.find(({ isStalled }) => isStalled);
  return {
    status: worst.status,
    reason: worst.reason,
    message: messageOf(findings.length === 0 ? [worst] : findings),
    intents: intents.slice(0, MAX_WRITES),
    ...recheckOf(findings, spec, nowMs, intents.length > MAX_WRITES),
    ...(stalled === undefined ? {} : { stalled: { reason: stalled.reason, message: stalled.sentence } }),
    parts: { bindings: entriesOf(facts, findings) },
    announcements: [...findings.flatMap(({ announcement }) => announcement ?? []), ...endingSoon(facts, spec, nowMs)],
  };
}

function nothingFound(): Finding {
  const sentence = "No binding with an expiry gives rights to a ServiceAccount of the targets.";
  return { status: "True", reason: Reason.NoBindings, sentence };
}

function absences({ absent, missingTargets }: BindingRenewalFacts): Finding[] {
  return [
    ...absent.map(({ kind, name }): Finding => {
      const sentence = `There is no ${kind} ${name} (yet).`;
      return { status: "False", reason: Reason.BindingNotFound, sentence };
    }),
    ...missingTargets.map((target): Finding => {
      return { status: "False", reason: Reason.TargetNotFound, sentence: `There is no ${target} (yet).` };
    }),
  ];
}

function messageOf(findings: readonly Finding[]): string {
  const shown = findings.slice(0, MAX_SENTENCES).map(({ sentence }) => sentence);
  const rest = findings.length - shown.length;
  return [...shown, ...(rest > 0 ? [`status.bindings tells of ${rest} more.`] : [])].join(" ");
}

function recheckOf(
  findings: readonly Finding[],
  spec: Spec,
  nowMs: number,
  isMore: boolean,
): Pick<Decision, "recheckAfterMs"> {
  if (isMore) return { recheckAfterMs: NEXT_WRITES_MS };
  const untilMs = renewUntilMs(spec);
  const times = [...findings.flatMap(({ nextMs }) => nextMs ?? []), untilMs - ENDING_SOON_MS, untilMs];
  const nextMs = Math.min(...times.filter(ms => ms > nowMs));
  return Number.isFinite(nextMs) ? { recheckAfterMs: Math.max(MIN_RECHECK_MS, nextMs - nowMs) } : {};
}

/** The next to expire first, so that these are what a status that grows too large keeps. */
function entriesOf(facts: BindingRenewalFacts, findings: readonly Finding[]): BindingStatus[] {
  const entries = [...findings.flatMap(({ entry }) => entry ?? []), ...facts.kept];
  const revoked = entries.filter(({ state }) => state === "Revoked").toSorted((a, b) => order(b, a));
  const forgotten = new Set(revoked.slice(MAX_REVOKED));
  return entries.filter(entry => !forgotten.has(entry)).toSorted(order);
}

function order(a: BindingStatus, b: BindingStatus): number {
  return keyOf(a) < keyOf(b) ? -1 : 1;
}

/** RFC 3339 in UTC sorts as text; what has no expiry comes last. */
function keyOf(entry: BindingStatus): string {
  return `${entry.expiryTime ?? "~"} ${bindingId(entry)}`;
}

function endingSoon(facts: BindingRenewalFacts, spec: Spec, nowMs: number): Announcement[] {
  const untilMs = renewUntilMs(spec);
  if (facts.living.length === 0 || nowMs < untilMs - ENDING_SOON_MS || nowMs >= untilMs) return [];
  const note = `spec.bindingRenewal.renewUntil is ${timeOf(untilMs)}: from then on no binding is renewed. Review the access, then set a later date.`;
  return [{ type: "Warning", reason: "RenewalEndsSoon", note }];
}
