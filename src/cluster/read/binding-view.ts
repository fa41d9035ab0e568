import type { RbacV1Subject, V1ClusterRoleBinding, V1RoleBinding, V1RoleRef } from "@kubernetes/client-node";
import { objectOf } from "../../core/json";
import type { BindingKind, BindingView, SubjectView } from "../../core/views";
import { annotationsOf, identityOf, isSkipped, labelsOf, ownerOf } from "./identity";
import { marksWrittenAfter } from "./managers";
import { itemsOf, present, type Received } from "./received";

/** What `kubectl apply` keeps: the whole object once more. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Returns the view of a RoleBinding or ClusterRoleBinding; null without uid, name, creation time or role. */
export function bindingView(kind: BindingKind, raw: unknown): BindingView | null {
  const { metadata, roleRef, subjects } = objectOf(raw) as Received<V1RoleBinding | V1ClusterRoleBinding>;
  const identity = identityOf(metadata);
  const role = roleOf(roleRef ?? {});
  if (identity === null || role === null) return null;
  const annotations = annotationsOf(metadata);
  Reflect.deleteProperty(annotations, LAST_APPLIED);
  const labels = labelsOf(metadata);
  const keys = [...Object.keys(labels), ...Object.keys(annotations)];
  const writtenMs = marksWrittenAfter(identity.createdAtMs, keys, itemsOf(metadata?.managedFields));
  return {
    kind,
    ...identity,
    labels,
    annotations,
    ...(Object.keys(writtenMs).length === 0 ? {} : { writtenMs }),
    skip: isSkipped(metadata),
    ...present({ owner: ownerOf(metadata) ?? anyOwnerOf(metadata) }),
    roleRef: role,
    subjects: itemsOf(subjects).map(subjectView),
  };
}

/** Just-in-time operators also set references without `controller`, and any kind may manage bindings: every reference counts. */
function anyOwnerOf(metadata: Parameters<typeof ownerOf>[0]): BindingView["owner"] {
  const [reference] = itemsOf(metadata?.ownerReferences);
  return reference && { kind: reference.kind ?? "", name: reference.name ?? "", uid: reference.uid ?? "" };
}

function roleOf({ apiGroup, kind, name }: Received<V1RoleRef>): BindingView["roleRef"] | null {
  return kind && name ? { apiGroup: apiGroup ?? "", kind, name } : null;
}

/** Keeps a subject without kind or name, so that no subject disappears from the view. */
function subjectView({ kind, name, apiGroup, namespace }: Received<RbacV1Subject>): SubjectView {
  return {
    kind: kind ?? "",
    name: name ?? "",
    ...present({ apiGroup: apiGroup === "" ? undefined : apiGroup, namespace }),
  };
}
