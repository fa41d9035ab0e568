// When a binding is due, by the published rules of the enforcers, for the values that tests and the operator write. Written from these rules, and
// deliberately not from the code of src/remedies/binding-renewal: an enforcer with the operator's mistakes would not detect them.
//
//   kube-janitor         README of codeberg.org/hjacobs/kube-janitor
//   Kyverno              kyverno.io/docs/guides/ttl-cleanup, and pkg/controllers/ttl of v1.19
//   this project's own   docs/api.md
import type { Binding } from "../cluster/client";

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

interface Convention {
  readonly key: string;
  readonly in: "labels" | "annotations";
  /** kube-janitor ignores cluster-scoped objects. */
  readonly clusterScoped?: false;
  /** Milliseconds from the creation of the binding. */
  readonly life?: (value: string) => number | undefined;
  /** The moment itself, as RFC 3339 has it in UTC. */
  readonly moment?: (value: string) => string;
}

const conventions: readonly Convention[] = [
  { key: EXPIRY.janitorTtl, in: "annotations", clusterScoped: false, life: duration },
  { key: EXPIRY.janitorExpires, in: "annotations", clusterScoped: false, moment: value => value },
  {
    ...{ key: EXPIRY.kyverno, in: "labels", life: duration },
    // A label has no colons.
    moment: value => value.replace(/T(\d\d)(\d\d)(\d\d)Z$/, "T$1:$2:$3Z"),
  },
  { key: EXPIRY.ownExpiresAt, in: "annotations", moment: value => value },
  { key: EXPIRY.ownSeconds, in: "annotations", life: value => duration(`${value}s`) },
];

/** All deadlines of a binding, the earliest first. Invalid values have none, since the enforcers ignore them. */
export function deadlinesOf({ metadata }: Binding): Deadline[] {
  return conventions
    .flatMap(({ key, in: where, clusterScoped, life, moment }) => {
      const value = metadata[where]?.[key];
      if (value === undefined || (clusterScoped === false && metadata.namespace === undefined)) return [];
      const lifeMs = life?.(value);
      const dueMs = lifeMs === undefined ? momentOf(moment?.(value)) : Date.parse(metadata.creationTimestamp) + lifeMs;
      return Number.isNaN(dueMs) ? [] : [{ key, dueMs }];
    })
    .sort((a, b) => a.dueMs - b.dueMs);
}

/** When the first enforcer deletes a binding; Infinity if none ever does. */
export function dueMs(binding: Binding): number {
  return deadlinesOf(binding)[0]?.dueMs ?? Infinity;
}

const MS_OF: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 };

/** A whole number of one unit. */
function duration(value: string): number | undefined {
  const [, count, unit = ""] = /^(\d+)([smhdw])$/.exec(value) ?? [];
  return count === undefined ? undefined : Number(count) * (MS_OF[unit] ?? NaN);
}

function momentOf(text = ""): number {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text) ? Date.parse(text) : NaN;
}
