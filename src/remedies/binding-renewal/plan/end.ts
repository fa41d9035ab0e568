import { refOf } from "../intents";
import { timeOf } from "../record";
import { renewUntilMs } from "../schedule";
import { nameOf } from "../wording";
import type { LivingCase } from "./excluded";
import type { BindingFinding } from "./finding";

/** The end of all renewals is reported a week ahead, whatever warnBefore says of single expiries. */
const ENDS_SOON_MS = 7 * 24 * 3_600_000;

/** Adds an Event, once per date, when renewUntil is near. */
export function withEnd(
  finding: BindingFinding,
  { binding, nowMs, spec }: Pick<LivingCase, "binding" | "nowMs" | "spec">,
): BindingFinding {
  const untilMs = renewUntilMs(spec);
  const nextMs = [...(finding.nextMs ?? []), untilMs - ENDS_SOON_MS, untilMs];
  const isNear = nowMs >= untilMs - ENDS_SOON_MS && nowMs < untilMs;
  if (!isNear || finding.entry === undefined) return { ...finding, nextMs };
  const announcedEnd = timeOf(untilMs);
  if (finding.entry.announcedEnd === announcedEnd) return { ...finding, nextMs };
  const note = `${nameOf(binding.view)} is not renewed after ${announcedEnd}: spec.bindingRenewal.renewUntil. Review the access, then set a later date.`;
  const event = { type: "Warning", reason: "RenewalEndsSoon", note, about: refOf(binding.view) } as const;
  return {
    ...finding,
    entry: { ...finding.entry, announcedEnd },
    events: [...(finding.events ?? []), event],
    nextMs,
  };
}
