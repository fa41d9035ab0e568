import type { BindingStatus } from "../../api/controller-resilience";
import type { Intent, ObjectRef } from "../../core/intent";
import { toSeconds } from "../../core/time";
import type { BindingView } from "../../core/views";
import type { Change } from "./conventions";
import type { Renewal } from "./schedule";

/** API version of bindings. */
const RBAC = "rbac.authorization.k8s.io/v1";

/** 0000-01-01T00:00:00Z: the first moment that RFC 3339 can say. */
const FIRST_MS = -62_167_219_200_000;

/** `RoleBinding edit`, as sentences name it. Names of bindings may hold any character but a slash, so odd ones are quoted. */
export function nameOf({ kind, name }: Pick<BindingStatus, "kind" | "name">): string {
  return `${kind} ${/^[\w.:-]+$/.test(name) ? name : JSON.stringify(name)}`;
}

/** RFC 3339 in whole seconds. */
export function timeOf(ms: number): string {
  return toSeconds(new Date(Math.max(ms, FIRST_MS)));
}

/** The object itself, with its preconditions. */
export function refOf(view: BindingView): ObjectRef {
  const { kind, namespace, name, uid, resourceVersion } = view;
  return { apiVersion: RBAC, kind, ...(namespace === "" ? {} : { namespace }), name, uid, resourceVersion };
}

/** What the name of a binding that is gone points at. */
export function refOfGone({ kind, namespace, name }: BindingStatus): ObjectRef {
  return { apiVersion: RBAC, kind, ...(namespace === undefined ? {} : { namespace }), name };
}

/** What status tells of a binding of which no renewal is planned. */
export function withoutPlan(entry: BindingStatus): BindingStatus {
  const copy = { ...entry };
  delete copy.renewTime;
  delete copy.renewingUntil;
  return copy;
}

/** What status tells of a binding once it was renewed. */
export function renewed(entry: BindingStatus, { expiryTime, generation }: NonNullable<Intent["renewal"]>, now: Date) {
  const times = { lastRenewalTime: toSeconds(now), renewedUntil: expiryTime, renewedGeneration: generation };
  return { ...withoutPlan(entry), ...times };
}

/** What an intent says of itself: why, and for which generation of the ControllerResilience. */
interface Words {
  readonly why: string;
  readonly generation: number;
}

/** Writes the expiry, nothing else. */
export function buildRenewal(view: BindingView, renewal: Renewal, { why, generation }: Words): Intent {
  return {
    verb: "patch",
    target: refOf(view),
    body: { metadata: metadataOf(renewal.changes) },
    why,
    eventReason: "BindingRenewed",
    renewal: { expiryTime: timeOf(renewal.expiryMs), generation },
  };
}

/** Creates it again as it was, with another expiry. That it does not exist is its own precondition. */
export function buildRestore(record: BindingStatus, renewal: Renewal, { why, generation }: Words): Intent {
  const { labels, annotations } = metadataOf(renewal.changes);
  return {
    verb: "create",
    target: refOfGone(record),
    body: {
      metadata: { labels: { ...record.labels, ...labels }, annotations: { ...record.annotations, ...annotations } },
      roleRef: record.roleRef,
      subjects: record.subjects,
    },
    why,
    eventReason: "BindingRestored",
    renewal: { expiryTime: timeOf(renewal.expiryMs), generation },
  };
}

type Metadata = Partial<Record<Change["place"], Record<string, string>>>;

function metadataOf(changes: readonly Change[]): Metadata {
  const metadata: Metadata = {};
  for (const { place, key, value } of changes) metadata[place] = { ...metadata[place], [key]: value };
  return metadata;
}
