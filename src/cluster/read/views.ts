import type {
  V1DaemonSet,
  V1Deployment,
  V1Namespace,
  V1PodSpec,
  V1ServiceAccount,
  V1StatefulSet,
} from "@kubernetes/client-node";
import { isComponent, logsForeign401s, type Signs } from "../../core/components";
import { objectOf } from "../../core/json";
import { recreatingHookOf } from "../../core/recreating-hooks";
import type { NamespaceView, ServiceAccountView, WorkloadView } from "../../core/views";
import { annotationsOf, identityOf, isSkipped, labelsOf, projectAnnotationsOf } from "./identity";
import { serviceAccountNameOf, signsOf, tokenSourcesOf } from "./pod-view";
import { present, type Received } from "./received";
import { rolloutView } from "./rollout-view";
import { sharedText } from "./shared-text";

/** Returns the view of a Namespace; null without uid, name or creation time. */
export function namespaceView(raw: unknown): NamespaceView | null {
  const { metadata } = objectOf(raw) as Received<V1Namespace>;
  const identity = identityOf(metadata);
  if (identity === null) return null;
  const { name, uid, deletedAtMs } = identity;
  return {
    ...{ namespace: "" as const, name, uid },
    ...{ labels: labelsOf(metadata), annotations: projectAnnotationsOf(metadata) },
    skip: isSkipped(metadata),
    ...present({ deletedAtMs }),
  };
}

/** Returns the view of a ServiceAccount; null without uid, name or creation time. */
export function serviceAccountView(raw: unknown): ServiceAccountView | null {
  const account = objectOf(raw) as Received<V1ServiceAccount>;
  const identity = identityOf(account.metadata);
  if (identity === null) return null;
  const { namespace, name, uid, createdAtMs, deletedAtMs } = identity;
  const automount = account.automountServiceAccountToken;
  const hook = recreatingHookOf(annotationsOf(account.metadata));
  return { namespace, name, uid, createdAtMs, ...present({ deletedAtMs, automount, hook }) };
}

/** Returns the view of a Deployment, StatefulSet or DaemonSet; null without uid, name or creation time. */
export function workloadView(kind: WorkloadView["kind"], raw: unknown): WorkloadView | null {
  const { metadata, spec } = objectOf(raw) as Received<V1Deployment | V1StatefulSet | V1DaemonSet>;
  const identity = identityOf(metadata);
  if (identity === null) return null;
  const { namespace, name, uid, resourceVersion, createdAtMs } = identity;
  const template = spec?.template;
  const pods = template?.spec ?? {};
  const [labels, serviceAccountName] = [labelsOf(metadata), serviceAccountNameOf(pods)];
  return {
    kind,
    namespace,
    name,
    uid,
    resourceVersion,
    createdAtMs,
    labels,
    skip: isSkipped(metadata),
    serviceAccountName,
    ...podsOf(pods),
    replicas: replicasOf(kind, raw),
    ...present({
      annotations: unlessEmpty(projectAnnotationsOf(metadata)),
      ...programOf({ namespace, names: [name, serviceAccountName], labels, ...signsOf(pods) }),
      rollout: rolloutView(kind, raw),
    }),
  };
}

function programOf(signs: Signs): Pick<WorkloadView, "isComponent" | "logsForeign401s"> {
  return {
    ...(isComponent(signs) && { isComponent: true }),
    ...(logsForeign401s(signs) && { logsForeign401s: true }),
  };
}

type PodFields = Pick<WorkloadView, "automount" | "tokenAudiences">;

function podsOf(spec: Received<V1PodSpec>): PodFields {
  return present({
    automount: spec.automountServiceAccountToken,
    tokenAudiences: unlessEmpty(distinct(tokenSourcesOf(spec).map(({ audience }) => audience ?? ""))),
  });
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].map(sharedText);
}

function unlessEmpty<T extends object>(value: T): T | undefined {
  return Object.keys(value).length === 0 ? undefined : value;
}

function replicasOf(kind: WorkloadView["kind"], raw: unknown): number {
  const object = objectOf(raw);
  if (kind === "DaemonSet") return (object as Received<V1DaemonSet>).status?.desiredNumberScheduled ?? 0;
  return (object as Received<V1Deployment | V1StatefulSet>).spec?.replicas ?? 1;
}
