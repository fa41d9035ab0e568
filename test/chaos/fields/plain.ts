import { LATEST_EXPIRY_ANNOTATION, LIFE_ANNOTATION } from "../../../src/api/names";
import { type JsonObject, objectOf } from "../../../src/core/json";
import { NAMESPACE } from "./world";

// Removes the parts of an object that differ from run to run.

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

/** Fields of status that record how the current state was reached. All other fields must not depend on earlier values. */
const HISTORY: Readonly<Record<string, string>> = {
  uid: "other objects",
  podUID: "other pods",
  generation: "counts the changes of the spec",
  observedGeneration: "the same",
  changes: "counted per generation: correct objects are not written again",
  appliedTime: "the time of a template change, kept after its release",
  watchTime: "the same",
  previous: "the original template value, kept after its release",
  previousExpirationSeconds: "the same",
  lastRenewalTime: "renewals are not reverted",
  latestExpiryTime: "the same",
  specHash: "the same",
};

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;

/** Hashes of uids at the end of names. */
const HASH = /-[0-9a-f]{16}\b/g;

/** Annotations that Kubernetes controllers write to workloads, and in which the operator remembers renewals, which are not reverted. */
const NOTED = [
  "deployment.kubernetes.io/revision",
  "deprecated.daemonset.template.generation",
  LATEST_EXPIRY_ANNOTATION,
  LIFE_ANNOTATION,
];

/** Returns a value without times, uids and the namespace's name. Pure. */
export function plain(value: unknown, namespace: string): unknown {
  if (typeof value === "string") {
    return value.replaceAll(namespace, NAMESPACE).replace(TIME, "TIME").replace(HASH, "-HASH");
  }
  if (Array.isArray(value)) return value.map(item => plain(item, namespace));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => HISTORY[key] === undefined);
  return Object.fromEntries(entries.map(([key, inner]) => [key, plain(inner, namespace)]));
}

/** Returns the parts of an object that a client can change: all but its status and the metadata that the API server manages. Pure. */
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
