import { type JsonObject, objectOf } from "../../../src/core/json";
import { NAMESPACE } from "./world";

// What is left of an object when everything is taken away that differs from run to run, whatever has happened.

/** An object as the API server returns it. */
export interface Raw extends JsonObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly generation?: number;
    readonly finalizers?: readonly string[];
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** What status rightly remembers of the way by which it came to where it is, and why. Everything else has to be as if nothing had been before. */
const HISTORY: Readonly<Record<string, string>> = {
  uid: "other objects",
  podUID: "other pods",
  generation: "counts the changes of the spec",
  observedGeneration: "the same",
  changes: "counted for each generation: what was right before it is not made again",
  appliedTime: "when the operator changed a template, also once it was given back",
  watchTime: "the same",
  previous: "what stood in a template before the operator owned it, also where that stands there again",
  previousExpirationSeconds: "the same",
  lastRenewalTime: "a renewal is not taken back",
  renewedUntil: "the same",
  specHash: "the same",
};

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;

/** A life is a second longer where a binding was created a moment before the next full second; told in minutes. */
const LIFE = "lifeSeconds";

/** Hashes of uids, at the end of names. */
const HASH = /-[0-9a-f]{16}\b/g;

/** What controllers of Kubernetes note on workloads. */
const NOTED = ["deployment.kubernetes.io/revision", "deprecated.daemonset.template.generation"];

/** A value without times, uids and the namespace's name. Pure. */
export function plain(value: unknown, namespace: string): unknown {
  if (typeof value === "string") {
    return value.replaceAll(namespace, NAMESPACE).replace(TIME, "TIME").replace(HASH, "-HASH");
  }
  if (Array.isArray(value)) return value.map(item => plain(item, namespace));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => HISTORY[key] === undefined);
  return Object.fromEntries(
    entries.map(([key, inner]) => [key, key === LIFE ? Math.round(Number(inner) / 60) : plain(inner, namespace)]),
  );
}

/** What somebody may have changed of an object: all but its status and what the API server keeps for itself. Pure. */
export function content({ metadata, ...rest }: Raw, namespace: string): JsonObject {
  const { labels = {}, finalizers = [] } = metadata;
  const annotations = Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).filter(([key]) => !NOTED.includes(key)),
  );
  const { spec, roleRef, subjects } = rest;
  return objectOf(plain({ labels: withoutOwner(labels), annotations, finalizers, spec, roleRef, subjects }, namespace));
}

function withoutOwner(labels: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(
    Object.entries(labels).map(([key, value]) => [key, key.endsWith("/owner-uid") ? "UID" : value]),
  );
}
