import type { Decision } from "../../core/remedy";

const STATUSES = ["True", "False", "Unknown"];
const VERBS = ["create", "apply", "patch", "delete", "evict"];
const PARTS = ["targets", "restarts", "bindings", "daemonSets", "flows"];
const OUTCOMES = ["Requested", "Restarted", "Recovered", "Ineffective"];
const LEVELS = ["Normal", "Warning"];

type Bag = Record<string, unknown>;

/**
 * The decision as plain data of its own, after a look at everything that the engine relies on: a remedy with a bug must
 * hurt nobody but itself.
 *
 * @throws TypeError that says what is wrong
 */
export function checkedDecision(decision: unknown): Decision {
  // A copy by JSON, since that is what will be sent: no cycles, no live objects, no undefined.
  const copy: unknown = JSON.parse(JSON.stringify(decision ?? null));
  if (!isBag(copy)) throw new TypeError("expected a decision to be an object");
  for (const [field, isRight] of Object.entries(FIELDS)) {
    if (!isRight(copy[field])) throw new TypeError(`expected another ${field} in a decision`);
  }
  const checked = copy as unknown as Decision;
  if (checked.status === "Unknown" && checked.intents.length > 0) {
    throw new TypeError("expected no intents in a decision that is Unknown");
  }
  return checked;
}

const FIELDS: Record<string, (value: unknown) => boolean> = {
  status: value => STATUSES.includes(value as string),
  reason: isText,
  message: value => typeof value === "string",
  intents: value => isListOf(value, isIntent),
  // JSON makes null of Infinity, which means the timed pass.
  recheckAfterMs: optional(value => value === null || typeof value === "number"),
  stalled: optional(value => isBag(value) && isText(value["reason"]) && typeof value["message"] === "string"),
  needsCleanup: optional(value => typeof value === "boolean"),
  announcements: optional(value => isListOf(value, isAnnouncement)),
  parts: optional(isParts),
};

function isIntent(value: Bag): boolean {
  const target = value["target"];
  const named = isBag(target) && isText(target["apiVersion"]) && isText(target["kind"]) && isText(target["name"]);
  const told = isText(value["why"]) && isText(value["eventReason"]);
  const claimed = optional(isClaim)(value["restart"]) && optional(isRenewal)(value["renewal"]);
  return named && told && VERBS.includes(value["verb"] as string) && claimed;
}

function isRenewal(value: unknown): boolean {
  if (!isBag(value) || typeof value["generation"] !== "number") return false;
  return isText(value["expiryTime"]) && !Number.isNaN(Date.parse(value["expiryTime"]));
}

function isClaim(value: unknown): boolean {
  if (!isBag(value) || !isBag(value["limits"])) return false;
  const { cooldownMs, maxRestarts, maxRestartsWindowMs } = value["limits"];
  const limits = [cooldownMs, maxRestarts, maxRestartsWindowMs];
  return [value["workload"], value["pod"], value["podUID"]].every(isText) && limits.every(n => typeof n === "number");
}

function isAnnouncement(value: Bag): boolean {
  return LEVELS.includes(value["type"] as string) && isText(value["reason"]) && typeof value["note"] === "string";
}

function isParts(value: unknown): boolean {
  if (!isBag(value)) return false;
  const restarts = value["restarts"];
  const known = Object.entries(value).every(([part, list]) => PARTS.includes(part) && isListOf(list, () => true));
  return known && (restarts === undefined || isListOf(restarts, isRestart));
}

function isRestart(value: Bag): boolean {
  const time = value["time"];
  const named = isText(value["pod"]) && isText(value["workload"]) && isText(value["cause"]);
  return named && isText(time) && !Number.isNaN(Date.parse(time)) && OUTCOMES.includes(value["outcome"] as string);
}

function isBag(value: unknown): value is Bag {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isListOf(value: unknown, isRight: (element: Bag) => boolean): boolean {
  return Array.isArray(value) && value.every(element => isBag(element) && isRight(element));
}

function optional(isRight: (value: unknown) => boolean): (value: unknown) => boolean {
  return value => value === undefined || isRight(value);
}
