import type { BindingRenewalSpec, BindingStatus } from "../../api/controller-resilience";
import { LATEST_EXPIRY_ANNOTATION } from "../../api/names";
import type { Intent, ObjectRef } from "../../core/intent";
import type { EventRequest } from "../../core/remedy";
import { shellWord } from "../../core/text";
import type { BindingView } from "../../core/views";
import type { Finding } from "../kit/finding";
import type { LivingBinding, ObservedBindings } from "./observe";
import type { Reason } from "./reasons";
import { type Renewal, type Schedule, timeOf } from "./schedule";

// What a plan says of one binding, what it writes, and what it says of one that is gone. Pure.

const RBAC = "rbac.authorization.k8s.io/v1";

/** A binding that exists, with what its plan depends on besides. */
export interface BindingCase extends LivingBinding {
  readonly mode: ObservedBindings["mode"];
  readonly spec: BindingRenewalSpec;
  /** By the operator's clock, or by an API server's that is ahead. */
  readonly nowMs: number;
}

/** One that expires. */
export interface ExpiringCase extends BindingCase {
  readonly schedule: Schedule;
  /** What a renewal would write now; undefined before the first warning, and if no later time can be written. */
  readonly renewal: Renewal | undefined;
}

/** What a plan decides for one binding. It holds unless the outcome of its renewal says otherwise. */
export interface BindingFinding extends Finding<Reason> {
  /** The entry of status.bindings. */
  readonly entry?: BindingStatus;
  /** The state before, in status. */
  readonly before?: State;
  /** Its intent renews this binding. */
  readonly renews?: ExpiringCase;
  /** Times at which the finding changes without a write, in milliseconds since the epoch. */
  readonly nextMs?: readonly number[];
}

type State = BindingStatus["state"];

/**
 * The reason of the condition, and the Event, once per change to the state. Status holds it, so there is one Event whichever replica leads. In a state
 * with a Warning the binding is not renewed, and a person must act.
 */
const STATES: Readonly<Record<State, readonly [Reason, event?: readonly [EventRequest["type"], string]]>> = {
  Current: ["Current"],
  ExpiringSoon: ["Current", ["Normal", "BindingExpiringSoon"]],
  Skipped: ["Current"],
  Never: ["Current"],
  Refused: ["BindingRefused", ["Warning", "BindingRefused"]],
  Malformed: ["MalformedExpiry", ["Warning", "BindingMalformed"]],
  Ended: ["AccessEnded", ["Warning", "BindingNotRenewed"]],
  NotRequested: ["RenewalNotRequested", ["Warning", "BindingExpiringSoon"]],
  Contested: ["Contested", ["Warning", "BindingContested"]],
  Forbidden: ["Forbidden", ["Warning", "BindingRenewalForbidden"]],
  Revoked: ["AccessEnded", ["Warning", "BindingRevoked"]],
  Expired: ["AccessEnded", ["Warning", "BindingExpired"]],
};

/** What to say of a binding in this state. */
export function tell(known: BindingCase, state: State, sentence: string): BindingFinding {
  const [reason, event] = STATES[state];
  const isProblem = event?.[0] === "Warning";
  const { record } = known;
  return {
    status: isProblem ? "False" : "True",
    reason,
    sentence,
    isStalled: isProblem,
    entry: entryOf(known, state),
    ...(record && { before: record.state }),
  };
}

/** The Event of a change to another state. */
export function eventsOf({ entry, before, sentence }: BindingFinding): EventRequest[] {
  const [, event] = STATES[entry?.state ?? "Current"];
  if (entry === undefined || event === undefined || entry.state === before) return [];
  const { kind, namespace, name, uid } = entry;
  const about = { apiVersion: RBAC, kind, ...(namespace && { namespace }), name, ...(uid && { uid }) };
  return [{ type: event[0], reason: event[1], note: sentence, about }];
}

/** Reports whether the operator is going to renew a binding in this state, if that is requested. */
export function isRenewed(state: State): boolean {
  return state === "Current" || state === "ExpiringSoon";
}

/** The entry of status in this state. */
export function entryOf(known: BindingCase, state: State): BindingStatus {
  const { kind, namespace, name, uid, roleRef } = known.view;
  const { lastRenewalTime } = known.record ?? {};
  return {
    kind,
    name,
    ...(namespace === "" ? {} : { namespace }),
    uid,
    state,
    role: `${roleRef.kind}/${roleRef.name}`,
    ...timesIn(known, isRenewed(state)),
    ...(lastRenewalTime === undefined ? {} : { lastRenewalTime }),
  };
}

function timesIn({ requested, schedule, memory }: BindingCase, isRenewed: boolean): Partial<BindingStatus> {
  const latestMs = Math.max(memory.latestMs, schedule?.atMs ?? -Infinity);
  const latest = Number.isFinite(latestMs) ? { latestExpiryTime: timeOf(latestMs) } : {};
  if (schedule === undefined) return latest;
  const { atMs, renewAtMs, convention } = schedule;
  const renewTime = requested && isRenewed ? { renewTime: timeOf(renewAtMs) } : {};
  return { expiryTime: timeOf(atMs), ...renewTime, ...latest, source: convention.key };
}

/**
 * Completes the finding of a renewal that is due and cannot be made. The binding still gives access; no wait is for ever: a person must act in
 * time.
 */
export function unrenewed(
  finding: BindingFinding,
  { renewAtMs, stalledAtMs }: Schedule,
  nowMs: number,
): BindingFinding {
  const waiting = { ...finding, reason: "Renewing", isProgressing: true } as const;
  if (nowMs < stalledAtMs) return waiting;
  const advice = `It has been due since ${timeOf(renewAtMs)}: mend that, or renew the binding by hand.`;
  return { ...waiting, status: "False", sentence: `${finding.sentence} ${advice}`, isStalled: true };
}

/** What to report for a binding that is gone. The operator never recreates access. */
export function planGone(record: BindingStatus, listed: boolean, goneMs: number): BindingFinding {
  const { expiryTime = "", source = "", state: before } = record;
  const isRevoked = before === "Revoked" || (before !== "Expired" && !(goneMs >= Date.parse(expiryTime)));
  const what = isRevoked
    ? `was deleted before its expiry at ${expiryTime}`
    : `expired at ${expiryTime} and was deleted`;
  const entry: BindingStatus = { ...record, state: isRevoked ? "Revoked" : "Expired" };
  delete entry.renewTime;
  return {
    // The author of the spec still asks for a named binding, so its absence is a problem. Another one is no longer needed.
    status: listed ? "False" : "True",
    reason: "AccessEnded",
    sentence: `${nameOf(record)} ${what}; the operator never recreates access. If it is still needed, create it, and give it an end again${source && ` (${source})`}: ${creationOf(record)}.`,
    isStalled: listed,
    entry,
    before,
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

/** `RoleBinding edit expires at 2025-01-31T00:00:00Z (janitor/ttl)`. */
export function clauseOf({ view, schedule }: ExpiringCase): string {
  return `${nameOf(view)} expires at ${timeOf(schedule.atMs)} (${schedule.convention.key})`;
}

/** Notes the latest expiry on the binding. */
export function buildNote(view: BindingView, latest: string): Intent {
  const change = { place: "annotations", key: LATEST_EXPIRY_ANNOTATION, value: latest } as const;
  const why = `${nameOf(view)}: its latest expiry, ${latest}, is noted; an earlier one counts as a revocation.`;
  // A tool may take the note away each time.
  const leadsTo = { of: view.uid, state: latest };
  return { ...buildPatch(view, [change], { why, eventReason: "BindingExpiryNoted" }), leadsTo };
}

/** Writes values into the metadata of a binding, with its uid and resourceVersion as preconditions. */
export function buildPatch(
  { kind, namespace, name, uid, resourceVersion }: BindingView,
  changes: Renewal["changes"],
  words: Pick<Intent, "why" | "eventReason">,
): Intent {
  const metadata: Partial<Record<"labels" | "annotations", Record<string, string>>> = {};
  for (const { place, key, value } of changes) metadata[place] = { ...metadata[place], [key]: value };
  const target: ObjectRef = { apiVersion: RBAC, kind, ...(namespace && { namespace }), name, uid, resourceVersion };
  return { verb: "patch", target, body: { metadata }, ...words };
}
