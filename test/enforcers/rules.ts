// When a binding is due, by the published rules of the enforcers. Written from these rules, and deliberately not from the code of
// src/remedies/binding-renewal: an enforcer with the operator's mistakes would not detect them.
//
//   kube-janitor         README of codeberg.org/hjacobs/kube-janitor
//   Kyverno              kyverno.io/docs/guides/ttl-cleanup, and pkg/controllers/ttl of v1.19
//   this project's own   docs/api.md
import type { Binding } from "../cluster/client";
import { janitorDuration, kyvernoDuration } from "./durations";

/** The label or annotation that declares the expiry of a binding. */
export const EXPIRY = {
  janitorTtl: "janitor/ttl",
  janitorExpires: "janitor/expires",
  kyverno: "cleanup.kyverno.io/ttl",
  ownExpiresAt: "controller-resilience.io/expires-at",
  ownSeconds: "controller-resilience.io/expiration-seconds",
} as const;

/** When an enforcer would delete a binding, and why. */
export interface Deadline {
  /** The label or annotation that declares it. */
  readonly key: string;
  readonly dueMs: number;
}

type Rule = (value: string, binding: Binding) => number | "never" | undefined;

interface Convention {
  readonly key: string;
  readonly in: "labels" | "annotations";
  /** kube-janitor ignores cluster-scoped objects. */
  readonly clusterScoped: boolean;
  readonly rule: Rule;
}

const conventions: readonly Convention[] = [
  { key: EXPIRY.janitorTtl, in: "annotations", clusterScoped: false, rule: fromCreation(janitorDuration) },
  { key: EXPIRY.janitorExpires, in: "annotations", clusterScoped: false, rule: janitorMoment },
  {
    key: EXPIRY.kyverno,
    in: "labels",
    clusterScoped: true,
    rule: (value, binding) => fromCreation(kyvernoDuration)(value, binding) ?? kyvernoMoment(value),
  },
  { key: EXPIRY.ownExpiresAt, in: "annotations", clusterScoped: true, rule: rfc3339 },
  { key: EXPIRY.ownSeconds, in: "annotations", clusterScoped: true, rule: fromCreation(wholeSeconds) },
];

/** All deadlines of a binding, the earliest first. Invalid values have none, since the enforcers ignore them. */
export function deadlinesOf(binding: Binding): Deadline[] {
  return conventions
    .flatMap(({ key, in: where, clusterScoped, rule }) => {
      const value = binding.metadata[where]?.[key];
      if (value === undefined || (!clusterScoped && binding.metadata.namespace === undefined)) return [];
      const dueMs = rule(value, binding);
      return typeof dueMs === "number" ? [{ key, dueMs }] : [];
    })
    .sort((a, b) => a.dueMs - b.dueMs);
}

/** When the first enforcer deletes a binding; Infinity if none ever does. */
export function dueMs(binding: Binding): number {
  return deadlinesOf(binding)[0]?.dueMs ?? Infinity;
}

function createdMs(binding: Binding): number {
  return Date.parse(binding.metadata.creationTimestamp);
}

function fromCreation(parse: (value: string) => number | "never" | undefined): Rule {
  return (value, binding) => {
    const ms = parse(value);
    return typeof ms === "number" ? createdMs(binding) + ms : ms;
  };
}

function wholeSeconds(value: string): number | undefined {
  return /^\d{1,15}$/.test(value) ? Number(value) * 1000 : undefined;
}

function janitorMoment(value: string): number | undefined {
  return utc(/^(\d{4})-(\d{1,2})-(\d{1,2})(?:T(\d{1,2}):(\d{1,2})(?::(\d{1,2})Z)?)?$/.exec(value));
}

function kyvernoMoment(value: string): number | undefined {
  return utc(/^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2})(\d{2})(\d{2})Z)?$/.exec(value));
}

function rfc3339(value: string): number | undefined {
  const found = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(\.\d+)?(?:Z|([+-])(\d{2}):(\d{2}))$/.exec(value);
  const moment = utc(found);
  if (!found || moment === undefined) return undefined;
  const [fraction = "0", sign = "+", hours = "0", minutes = "0"] = found.slice(7);
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return moment + Number(fraction) * 1000 - (sign === "-" ? -offsetMs : offsetMs);
}

/** Year, month, day, hour, minute, second, as matched; undefined for an invalid time: 30 February, 25 o'clock. */
function utc(found: RegExpExecArray | null): number | undefined {
  if (!found) return undefined;
  // Missing parts mean midnight.
  const parts = found.slice(1, 7).map((part: string | undefined) => (part ?? "").padStart(2, "0"));
  const [year, month, day, hour, minute, second] = parts;
  const text = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const ms = Date.parse(text);
  // JavaScript turns an invalid time into NaN or into another time.
  return Number.isNaN(ms) || new Date(ms).toISOString() !== text ? undefined : ms;
}
