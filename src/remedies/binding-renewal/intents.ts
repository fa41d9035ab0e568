import type { BindingStatus } from "../../api/controller-resilience";
import type { Intent, ObjectRef } from "../../core/intent";
import type { BindingView } from "../../core/views";
import type { Change } from "./conventions";
import { timeOf } from "./record";
import type { Renewal } from "./schedule";

const RBAC = "rbac.authorization.k8s.io/v1";

/** The object, with uid and resourceVersion as preconditions. */
export function refOf(view: BindingView): ObjectRef {
  const { kind, namespace, name, uid, resourceVersion } = view;
  return { apiVersion: RBAC, kind, ...(namespace === "" ? {} : { namespace }), name, uid, resourceVersion };
}

/** The name of a binding that is gone. */
export function refOfGone({ kind, namespace, name }: BindingStatus): ObjectRef {
  return { apiVersion: RBAC, kind, ...(namespace === undefined ? {} : { namespace }), name };
}

interface Purpose {
  /** Note of the Event. */
  readonly why: string;
  /** Of spec.bindingRenewal. */
  readonly specHash: string;
}

/** Writes the expiry and nothing else. */
export function buildRenewal(view: BindingView, renewal: Renewal, { why, specHash }: Purpose): Intent {
  return {
    verb: "patch",
    target: refOf(view),
    body: { metadata: metadataOf(renewal.changes) },
    why,
    eventReason: "BindingRenewed",
    renewal: { expiryTime: timeOf(renewal.expiryMs), specHash },
  };
}

type Metadata = Partial<Record<Change["place"], Record<string, string>>>;

function metadataOf(changes: readonly Change[]): Metadata {
  const metadata: Metadata = {};
  for (const { place, key, value } of changes) metadata[place] = { ...metadata[place], [key]: value };
  return metadata;
}
