import { apiVersionOf, KINDS } from "../../core/kinds";
import type { ClusterKind, ClusterObjectView, ConditionView } from "../../core/views";
import { identityOf } from "./identity";
import { arrayOf, objectOf, textsOf } from "../../core/json";
import { lastManagerOf, lastWriteMsOf } from "./managers";

/** Returns the view of a cluster-scoped object; null without uid, name or creation time. */
export function clusterObjectView(kind: ClusterKind, raw: unknown): ClusterObjectView | null {
  const object = objectOf(raw);
  const identity = identityOf(object);
  if (identity === null) return null;
  const metadata = objectOf(object["metadata"]);
  const { name, uid, resourceVersion, createdAtMs, deletedAtMs } = identity;
  const fields = arrayOf(metadata["managedFields"]).map(objectOf);
  const [lastManager, writtenAtMs] = [lastManagerOf(fields), lastWriteMsOf(fields)];
  return {
    apiVersion: apiVersionOf(KINDS[kind]),
    kind,
    name,
    uid,
    resourceVersion,
    createdAtMs,
    ...(deletedAtMs === undefined ? {} : { deletedAtMs }),
    labels: textsOf(metadata["labels"]),
    annotations: textsOf(metadata["annotations"]),
    spec: objectOf(object["spec"]),
    conditions: arrayOf(objectOf(object["status"])["conditions"]).map(conditionView),
    ...(writtenAtMs === undefined ? {} : { writtenAtMs }),
    ...(lastManager === undefined ? {} : { lastManager }),
  };
}

function conditionView(raw: unknown): ConditionView {
  const { type, status, reason, message } = textsOf(raw);
  return { type: type ?? "", status: status ?? "Unknown", reason: reason ?? "", message: message ?? "" };
}
