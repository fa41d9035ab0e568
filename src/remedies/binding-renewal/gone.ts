import { Reason } from "../../api/conditions";
import type { BindingStatus } from "../../api/controller-resilience";
import type { Announcement } from "../../core/remedy";
import { buildRestore, nameOf, refOfGone, timeOf, withoutRenewTime } from "./build";
import type { BindingRenewalFacts, GoneBinding, Spec } from "./facts";
import type { Finding } from "./finding";
import { ruleOf } from "./rights";
import { planRestore, renewUntilMs } from "./schedule";
import { isListed, refusalOf } from "./scope";

interface Case {
  readonly gone: GoneBinding;
  readonly record: BindingStatus;
  readonly facts: BindingRenewalFacts;
  readonly spec: Spec;
  readonly nowMs: number;
  readonly listed: boolean;
}

type Check = (given: Case) => Finding | undefined;

/** The first that has something to say decides. */
const CHECKS: readonly Check[] = [
  // It went before its time: somebody wanted that.
  revoked,
  // The author does not want it back.
  notRestored,
  // It could not be renewed either.
  refused,
  // A right is missing.
  forbidden,
  // Observe only reports.
  wouldRestore,
];

/** Whether status tells enough of a binding that is gone to say more of it; else it is as if it had never been seen. */
export function isRecorded({ expiryTime, roleRef, subjects }: BindingStatus): boolean {
  return expiryTime !== undefined && roleRef !== undefined && subjects !== undefined;
}

/** What is to be said and done about a binding that has vanished. Pure and total. */
export function assessGone(gone: GoneBinding, facts: BindingRenewalFacts, spec: Spec, nowMs: number): Finding {
  const { record } = gone;
  const given = { gone, record, facts, spec, nowMs, listed: isListed(spec, record.kind, record.name) };
  for (const check of CHECKS) {
    const finding = check(given);
    if (finding !== undefined) return finding;
  }
  return restore(given);
}

function revoked(given: Case): Finding | undefined {
  const { record, nowMs, listed } = given;
  const expiryMs = Date.parse(record.expiryTime ?? "");
  if (record.state !== "Revoked" && !(nowMs < expiryMs)) return undefined;
  const note = `${nameOf(record)} was deleted before its expiry at ${record.expiryTime ?? ""}, which is taken for a revocation: it stays away until somebody creates it.`;
  return {
    // A listed one is still asked for, in Git perhaps; one that was found by itself was taken away on purpose, and all is well.
    status: listed ? "False" : "True",
    reason: Reason.Revoked,
    sentence: note,
    entry: { ...withoutRenewTime(record), state: "Revoked" },
    isStalled: listed,
    ...announcedOnce(record, "Revoked", { type: "Warning", reason: "BindingRevoked", note }),
  };
}

function notRestored({ record, spec, nowMs }: Case): Finding | undefined {
  const untilMs = renewUntilMs(spec);
  const isOver = planRestore(record, spec, { nowMs, latestMs: untilMs }) === undefined;
  if (spec.restoreExpired && !isOver) return undefined;
  const why = !spec.restoreExpired
    ? "spec.bindingRenewal.restoreExpired is false"
    : Number.isFinite(untilMs)
      ? `spec.bindingRenewal.renewUntil is ${timeOf(untilMs)}`
      : "status does not tell for how long it lived; spec.bindingRenewal.extendBy may help";
  return over(record, `${vanished(record)} and is not restored: ${why}.`, spec.restoreExpired);
}

function refused({ record, facts, listed }: Case): Finding | undefined {
  const why = refusalOf(record, facts, listed);
  return why === undefined ? undefined : over(record, `${vanished(record)} and is not restored: it ${why}.`, false);
}

function over(record: BindingStatus, sentence: string, isEnded: boolean): Finding {
  return {
    status: "False",
    reason: isEnded ? Reason.RenewalEnded : Reason.Expired,
    sentence,
    entry: { ...withoutRenewTime(record), state: "Expired" },
    isStalled: true,
    ...announcedOnce(record, "Expired", { type: "Warning", reason: "BindingExpired", note: sentence }),
  };
}

function forbidden({ gone, record }: Case): Finding | undefined {
  if (gone.lacks.length === 0) return undefined;
  const sentence = `${vanished(record)} and can't be restored: the operator's ServiceAccount lacks ${gone.lacks.map(ruleOf).join(" and ")}.`;
  return { status: "False", reason: Reason.RenewalForbidden, sentence, entry: record, isStalled: true };
}

function wouldRestore(given: Case): Finding | undefined {
  if (given.facts.mode === "Enforce") return undefined;
  const sentence = `${vanished(given.record)} and would be restored now.`;
  return { ...restore(given), status: "False", reason: Reason.WouldRenew, sentence };
}

function restore({ record, spec, nowMs }: Case): Finding {
  const renewal = planRestore(record, spec, { nowMs, latestMs: renewUntilMs(spec) });
  const sentence = vanished(record);
  // `notRestored` has answered where there is none.
  if (renewal === undefined) return over(record, `${sentence}.`, true);
  const until = timeOf(renewal.expiryMs);
  return {
    status: "True",
    reason: Reason.Current,
    sentence: `${sentence} and is restored until ${until}.`,
    entry: record,
    intent: buildRestore(
      record,
      renewal,
      `${sentence}; created again with the same role and subjects, until ${until}.`,
    ),
  };
}

function vanished(record: BindingStatus): string {
  return `${nameOf(record)} vanished at or after its expiry at ${record.expiryTime ?? ""}`;
}

/** Told when it comes into that state, which status remembers. */
function announcedOnce(
  record: BindingStatus,
  state: BindingStatus["state"],
  words: Omit<Announcement, "about">,
): { announcement?: Announcement } {
  return record.state === state ? {} : { announcement: { ...words, about: refOfGone(record) } };
}
