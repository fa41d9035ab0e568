import type { BindingStatus } from "../../api/controller-resilience";
import type { Announcement, Decision } from "../../core/legacy-remedy";
import { joinSentences } from "../kit/summarize";
import { each, type Steps } from "../../core/slices";
import { timeOf } from "./build";
import { bindingId, isFinal, type BindingRenewalFacts, type Spec } from "./facts";
import { bySeverity, type Finding } from "./finding";
import { assessGone } from "./gone";
import { assessLiving } from "./living";

/** Writes of one pass; what is left is done in the next. Far more than a namespace has, and far less than would hold up a pass. */
const MAX_WRITES = 100;
/** When there is more to write, each minute begins elsewhere, so that writes that keep failing don't keep the others from their turn. */
const TURN_MS = 60_000;
/** Not even what is overdue brings a pass about more often. */
const MIN_RECHECK_MS = 1_000;
/** Bindings that are gone for good and that status remembers; beyond it the oldest go, and are never restored either. */
const MAX_FINAL = 64;

/** Events of one pass, each of which is written twice; the sink holds 200. */
const MAX_ANNOUNCED = 50;

/** What the facts amount to: there may be hundreds, and each takes a step. Pure and total. */
export function* decideBindings(facts: BindingRenewalFacts, spec: Spec, now: Date): Steps<Decision> {
  const nowMs = now.getTime();
  const living = yield* each(facts.living, binding => assessLiving(binding, facts, spec, nowMs));
  const gone = yield* each(facts.gone, one => assessGone(one, facts, spec, nowMs));
  const findings = [...living, ...gone, ...absences(facts), ...crowding(facts)].toSorted(bySeverity);
  const worst = findings[0] ?? nothingFound();
  const stalled = findings.find(({ isStalled }) => isStalled);
  return {
    status: worst.status,
    reason: worst.reason,
    message: messageOf(findings.length === 0 ? [worst] : findings),
    intents: inTurn(
      findings.flatMap(({ intent }) => intent ?? []),
      nowMs,
    ),
    ...recheckOf(findings, nowMs),
    ...(stalled === undefined ? {} : { stalled: { reason: stalled.reason, message: stalled.sentence } }),
    parts: { bindings: entriesOf(facts, findings) },
    announcements: announcementsOf(findings),
  };
}

function nothingFound(): Finding {
  const sentence = "No binding with an expiry gives rights to a ServiceAccount of the targets.";
  return { status: "True", reason: "NoBindings", sentence };
}

function absences({ absent, missingTargets }: BindingRenewalFacts): Finding[] {
  return [
    ...absent.map(({ kind, name }): Finding => {
      const sentence = `There is no ${kind} ${name} (yet).`;
      return { status: "False", reason: "BindingNotFound", sentence };
    }),
    ...missingTargets.map((target): Finding => {
      return { status: "False", reason: "TargetNotFound", sentence: `There is no ${target} (yet).` };
    }),
  ];
}

function crowding({ unplaced: { count, firstExpiryMs } }: BindingRenewalFacts): Finding[] {
  if (count === 0) return [];
  const next = firstExpiryMs === undefined ? "" : `, the next of which expires at ${timeOf(firstExpiryMs)},`;
  const sentence = `status.bindings has no room for ${count} more${next} and nothing is done for them: spread the targets over several objects, or name in spec.bindingRenewal.bindings those that matter.`;
  return [{ status: "False", reason: "TooManyBindings", sentence, isStalled: true }];
}

/** What nobody would read is not told one by one; status has all of it. */
function announcementsOf(findings: readonly Finding[]): Announcement[] {
  const all = findings.flatMap(({ announcements }) => announcements ?? []);
  const [first, ...others] = all.slice(MAX_ANNOUNCED);
  if (first === undefined) return all;
  const note = `The same or the like holds for ${others.length + 1} more bindings: status.bindings tells of them.`;
  return [...all.slice(0, MAX_ANNOUNCED), { type: first.type, reason: first.reason, note }];
}

function messageOf(findings: readonly Finding[]): string {
  return joinSentences(
    findings.map(({ sentence }) => sentence),
    rest => `status.bindings tells of ${rest} more.`,
  );
}

function inTurn<T>(intents: readonly T[], nowMs: number): readonly T[] {
  if (intents.length <= MAX_WRITES) return intents;
  const first = (Math.floor(nowMs / TURN_MS) * MAX_WRITES) % intents.length;
  return [...intents.slice(first), ...intents.slice(0, first)].slice(0, MAX_WRITES);
}

function recheckOf(findings: readonly Finding[], nowMs: number): Pick<Decision, "recheckAfterMs"> {
  const times = findings.flatMap(({ nextMs }) => nextMs ?? []);
  const nextMs = Math.min(...times.filter(ms => ms > nowMs));
  return Number.isFinite(nextMs) ? { recheckAfterMs: Math.max(MIN_RECHECK_MS, nextMs - nowMs) } : {};
}

/** The next to expire first and what is gone for good last: a status that grows too large is cut from its end. */
function entriesOf(facts: BindingRenewalFacts, findings: readonly Finding[]): BindingStatus[] {
  const entries = [...findings.flatMap(({ entry }) => entry ?? []), ...facts.kept].toSorted(order);
  const final = entries.filter(isFinal);
  return [...entries.filter(entry => !isFinal(entry)), ...final.slice(-MAX_FINAL)];
}

function order(a: BindingStatus, b: BindingStatus): number {
  return keyOf(a) < keyOf(b) ? -1 : 1;
}

/** RFC 3339 in UTC sorts as text; what has no expiry comes last. */
function keyOf(entry: BindingStatus): string {
  return `${entry.expiryTime ?? "~"} ${bindingId(entry)}`;
}
