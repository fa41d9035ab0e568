import type { V1FlowSchemaCondition, V1ObjectMeta } from "@kubernetes/client-node";
import { objectOf } from "../../core/json";
import { apiVersionOf, KINDS } from "../../core/kinds";
import type { ClusterKind, ClusterObjectView, ConditionView } from "../../core/views";
import { annotationsOf, identityOf, labelsOf } from "./identity";
import { lastManagerOf, lastWriteMsOf } from "./managers";
import { itemsOf, present, type Received } from "./received";

/** What these kinds have in common; client-node has no v1 type of MutatingAdmissionPolicy yet. */
interface ClusterObject {
  readonly metadata?: V1ObjectMeta;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: { readonly conditions?: V1FlowSchemaCondition[] };
}

/** Returns the view of a cluster-scoped object; null without uid, name or creation time. */
export function clusterObjectView(kind: ClusterKind, raw: unknown): ClusterObjectView | null {
  const { metadata, spec, status } = objectOf(raw) as Received<ClusterObject>;
  const identity = identityOf(metadata);
  if (identity === null) return null;
  const { name, uid, resourceVersion, createdAtMs, deletedAtMs } = identity;
  const fields = itemsOf(metadata?.managedFields);
  return {
    apiVersion: apiVersionOf(KINDS[kind]),
    kind,
    name,
    uid,
    resourceVersion,
    createdAtMs,
    labels: labelsOf(metadata),
    annotations: annotationsOf(metadata),
    spec: spec ?? {},
    conditions: itemsOf(status?.conditions).map(conditionView),
    ...present({ deletedAtMs, writtenAtMs: lastWriteMsOf(fields), lastManager: lastManagerOf(fields) }),
  };
}

function conditionView({ type, status, reason, message }: Received<V1FlowSchemaCondition>): ConditionView {
  return { type: type ?? "", status: status ?? "Unknown", reason: reason ?? "", message: message ?? "" };
}
