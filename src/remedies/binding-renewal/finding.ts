import type { BindingStatus } from "../../api/controller-resilience";
import { LATEST_EXPIRY_ANNOTATION } from "../../api/names";
import type { Intent, ObjectRef } from "../../core/intent";
import type { EventRequest } from "../../core/remedy";
import { shellWord } from "../../core/text";
import type { BindingView } from "../../core/views";
import type { Finding } from "../kit/finding";
import type { Reason } from "./reasons";
import { type Renewal, timeOf } from "./schedule";

// What a plan says of one binding, what it writes, and what it says of one that is gone. Pure.

const RBAC = "rbac.authorization.k8s.io/v1";

/** What a plan decides for one binding. It holds unless the outcome of its renewal says otherwise. */
export interface BindingFinding extends Finding<Reason> {
  /** The entry of status.bindings. */
  readonly entry?: BindingStatus;
  readonly renewal?: PlannedRenewal;
  readonly events?: readonly EventRequest[];
  /** Times at which the finding changes without a write, in milliseconds since the epoch. */
  readonly nextMs?: readonly number[];
}

/** The renewal of one binding. */
export interface PlannedRenewal {
  readonly view: BindingView;
  readonly expiryTime: string;
  /** The first clause of its messages: which binding, and when it expires. */
  readonly clause: string;
  /** Since when it is due, and from when on a person must act if it is not made, in milliseconds since the epoch. */
  readonly dueMs: number;
  readonly stalledMs: number;
}

/**
 * Completes the finding of a renewal that is due and cannot be made. The binding still gives access; no wait is for ever: a person must act in
 * time.
 */
export function unrenewed(
  finding: BindingFinding,
  { dueMs, stalledMs }: Pick<PlannedRenewal, "dueMs" | "stalledMs">,
  nowMs: number,
): BindingFinding {
  const waiting = { ...finding, reason: "Renewing", isProgressing: true } as const;
  if (nowMs < stalledMs) return { ...waiting, status: "True" };
  const advice = `It has been due since ${timeOf(dueMs)}: mend that, or renew the binding by hand.`;
  return { ...waiting, status: "False", sentence: `${finding.sentence} ${advice}`, isStalled: true };
}

/** What to report for a binding that is gone. The operator never recreates access. */
export function planGone(record: BindingStatus, listed: boolean, goneMs: number): BindingFinding {
  const { kind, name, namespace, expiryTime = "", state: before } = record;
  const isRevoked = before === "Revoked" || (before !== "Expired" && !(goneMs >= Date.parse(expiryTime)));
  const what = isRevoked
    ? `was deleted before its expiry at ${expiryTime}`
    : `expired at ${expiryTime} and was deleted`;
  const sentence = `${nameOf(record)} ${what}; the operator never recreates access. If it is still needed: ${creationOf(record)}.`;
  const state = isRevoked ? "Revoked" : "Expired";
  const entry = { ...record, state } as const;
  delete (entry as Partial<BindingStatus>).renewTime;
  const about = { apiVersion: RBAC, kind, ...(namespace === undefined ? {} : { namespace }), name };
  const event = { type: "Warning", reason: `Binding${state}`, note: sentence, about } as const;
  return {
    // The author of the spec still asks for a named binding, so its absence is a problem. Another one is no longer needed.
    status: listed ? "False" : "True",
    reason: "AccessEnded",
    sentence,
    entry,
    isStalled: listed,
    ...(before === state ? {} : { events: [event] }),
  };
}

/** The command that creates a binding like this one; without its subjects, which status does not have. */
function creationOf({ kind, name, namespace, role = "" }: BindingStatus): string {
  const within = namespace === undefined ? "" : ` --namespace ${namespace}`;
  const [roleKind = "", ...roleName] = role.split("/");
  const of = role === "" ? "" : ` --${roleKind.toLowerCase()} ${shellWord(roleName.join("/"))}`;
  return `kubectl create ${kind.toLowerCase()} ${shellWord(name)}${within}${of} --serviceaccount NAMESPACE:NAME`;
}

/** `RoleBinding edit`. Odd names are quoted as for a shell. */
export function nameOf({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind} ${shellWord(name)}`;
}

/** Notes the latest expiry on the binding. */
export function buildNote(view: BindingView, latest: string): Intent {
  const change = { place: "annotations", key: LATEST_EXPIRY_ANNOTATION, value: latest } as const;
  const why = `${nameOf(view)}: its latest expiry, ${latest}, is noted; an earlier one counts as a revocation.`;
  // A tool may take the note away each time.
  const leadsTo = { of: view.uid, state: latest };
  return { ...buildPatch(view, [change], why), eventReason: "BindingExpiryNoted", leadsTo };
}

export function buildPatch(view: BindingView, changes: Renewal["changes"], why: string) {
  const metadata: Partial<Record<"labels" | "annotations", Record<string, string>>> = {};
  for (const { place, key, value } of changes) metadata[place] = { ...metadata[place], [key]: value };
  return { verb: "patch", target: refOf(view), body: { metadata }, why } as const;
}

/** The object, with uid and resourceVersion as preconditions. */
export function refOf({ kind, namespace, name, uid, resourceVersion }: BindingView): ObjectRef {
  return { apiVersion: RBAC, kind, ...(namespace === "" ? {} : { namespace }), name, uid, resourceVersion };
}
