import type { BindingStatus } from "../../../api/controller-resilience";
import { timeOf } from "../record";
import type { BindingFinding } from "./finding";

// A write that waits, as because its role cannot be read: unknown means no action, but no wait is for ever. Pure.

/** A person must act after this time, or after a third of the time that is left for the write, if that is less. */
const STALLED_AFTER_MS = 3_600_000;

/** The wait for the next try is as long as the wait so far, within these limits. */
const RETRY_MS = { least: 10_000, most: 300_000 };

/** A write that waits. */
interface Wait {
  /** When the write was due. */
  readonly dueMs: number;
  /** When it is too late for it. */
  readonly endMs: number;
  readonly nowMs: number;
}

/** When a person must act, in milliseconds since the epoch. */
export function stalledFrom({ dueMs, endMs }: Pick<Wait, "dueMs" | "endMs">): number {
  return dueMs + Math.min(STALLED_AFTER_MS, (endMs - dueMs) / 3);
}

/** The finding for a binding whose role cannot be read: the renewal waits, and after a while a person must act. */
export function waitForRole(binding: string, role: string, { dueMs, endMs, nowMs }: Wait): BindingFinding {
  const stalledMs = stalledFrom({ dueMs, endMs });
  const retryMs = Math.min(RETRY_MS.most, Math.max(RETRY_MS.least, nowMs - dueMs));
  const progress = { isProgressing: true, nextMs: [nowMs + retryMs, stalledMs] };
  if (nowMs >= stalledMs) {
    const sentence =
      `${binding}; the renewal has been due since ${timeOf(dueMs)}, but the operator cannot read ${role}. ` +
      "It binds no role unread, because the role may allow too much; find out why the read fails, or " +
      "renew the binding by hand.";
    return { ...progress, status: "False", reason: "RoleUnread", sentence, isStalled: true };
  }
  const sentence = `${binding}; the renewal waits until the operator can read ${role}.`;
  return { ...progress, status: "True", reason: "Renewing", sentence };
}

type Refusal = "Refused" | "Forbidden";

/** Reports whether the last review refused the binding. */
export function isRefusal(state: BindingStatus["state"] | undefined): state is Refusal {
  return state === "Refused" || state === "Forbidden";
}

/** One failed read neither ends a refusal nor announces it again. */
export function stillRefused(binding: string, role: string, entry: BindingStatus): BindingFinding {
  return {
    status: "False",
    reason: entry.state === "Refused" ? "BindingRefused" : "RenewalForbidden",
    sentence: `${binding} and is not renewed, as before; the operator cannot read ${role}.`,
    entry,
    isStalled: true,
  };
}
