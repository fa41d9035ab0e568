import type { BindingStatus } from "../../api/controller-resilience";
import type { Intent, ObjectRef } from "../../core/intent";
import { toSeconds } from "../../core/conditions";
import type { BindingView } from "../../core/views";
import type { Change } from "./conventions";
import type { Renewal } from "./schedule";

/** API version of bindings. */
const RBAC = "rbac.authorization.k8s.io/v1";

/** `RoleBinding edit`, as sentences name it. */
export function nameOf({ kind, name }: Pick<BindingStatus, "kind" | "name">): string {
  return `${kind} ${name}`;
}

/** RFC 3339 in whole seconds. */
export function timeOf(ms: number): string {
  return toSeconds(new Date(ms));
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

/** What status tells of a binding whose next renewal is not known. */
export function withoutRenewTime(entry: BindingStatus): BindingStatus {
  const copy = { ...entry };
  delete copy.renewTime;
  return copy;
}

/** Writes the expiry, nothing else. */
export function buildRenewal(view: BindingView, renewal: Renewal, why: string): Intent {
  return {
    verb: "patch",
    target: refOf(view),
    body: { metadata: metadataOf(renewal.changes) },
    why,
    eventReason: "BindingRenewed",
    renewal: { expiryTime: timeOf(renewal.expiryMs) },
  };
}

/** Creates it again as it was, with another expiry. That it does not exist is its own precondition. */
export function buildRestore(record: BindingStatus, renewal: Renewal, why: string): Intent {
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
    renewal: { expiryTime: timeOf(renewal.expiryMs) },
  };
}

type Metadata = Partial<Record<Change["place"], Record<string, string>>>;

function metadataOf(changes: readonly Change[]): Metadata {
  const metadata: Metadata = {};
  for (const { place, key, value } of changes) metadata[place] = { ...metadata[place], [key]: value };
  return metadata;
}
