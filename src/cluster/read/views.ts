import type {
  CoreV1Event,
  RbacV1Subject,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1FlowSchemaCondition,
  V1Lease,
  V1Namespace,
  V1ObjectMeta,
  V1RoleBinding,
  V1RoleRef,
  V1ServiceAccount,
} from "@kubernetes/client-node";
import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience, ObjectMetadata } from "../../api/controller-resilience";
import type { CLUSTER_KIND, KIND } from "../../api/names";
import { arrayOf, numberOf, objectOf, textOf, timeOf } from "../../core/json";
import { apiVersionOf, KINDS } from "../../core/kinds";
import type { Key } from "../../core/ports";
import type { LeaseView } from "../../core/leases";
import {
  type BindingKind,
  type BindingView,
  type ClusterKind,
  type ClusterObjectView,
  type NamespaceView,
  type RecreatingHook,
  type RoleView,
  type SandboxEventView,
  type ServiceAccountView,
  type SubjectView,
} from "../../core/views";
import {
  annotationsOf,
  identityOf,
  isSkipped,
  itemsOf,
  labelsOf,
  marksWrittenAfter,
  namedOwnerOf,
  ownerOf,
  present,
  projectAnnotationsOf,
  type Received,
} from "./received";

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
  const owner = namedOwnerOf(account.metadata);
  return present({ namespace, name, uid, createdAtMs, deletedAtMs, automount, hook, owner });
}

// Objects that Helm or Argo CD delete and create again, instead of updating them in place, by the annotations that say so.

const HELM = "helm.sh/hook";
const ARGO = "argocd.argoproj.io/hook";

/** All phases of Helm together are shorter. */
const MAX_CHARACTERS = 128;

/** Without a policy both tools delete the former object before they create it again. */
const DEFAULT_POLICIES = { [HELM]: "before-hook-creation", [ARGO]: "BeforeHookCreation" } as const;

/** Returns the hook that deletes and recreates an object with these annotations; undefined if none does. */
export function recreatingHookOf(annotations: Readonly<Record<string, string>>): RecreatingHook | undefined {
  const argo = wordsOf(annotations[ARGO]).filter(phase => phase !== "Skip");
  if (argo.length > 0) return hookOf("Argo CD", ARGO, annotations, "each sync of its Argo CD application");
  const phases = wordsOf(annotations[HELM]).map(phase => phase.replace(/^(pre|post)-/, ""));
  const occasions = ["install", "upgrade", "rollback"].filter(phase => phases.includes(phase));
  if (occasions.length === 0) return undefined;
  return hookOf("Helm", HELM, annotations, `each helm ${occasions.join(" or ")} of its release`);
}

function hookOf(
  tool: RecreatingHook["tool"],
  key: typeof HELM | typeof ARGO,
  annotations: Readonly<Record<string, string>>,
  occasion: string,
): RecreatingHook {
  const deletePolicy = wordsOf(annotations[`${key}-delete-policy`]).join(",") || DEFAULT_POLICIES[key];
  return { tool, annotation: `${key}: ${wordsOf(annotations[key]).join(",")}`, deletePolicy, occasion };
}

/** Others write annotations, and messages quote them: only what may be a name of a phase or policy counts, and no more than there are. */
function wordsOf(text = ""): string[] {
  return text
    .slice(0, MAX_CHARACTERS)
    .split(",")
    .map(word => word.trim())
    .filter(word => /^[a-z-]+$/i.test(word));
}

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
  return present({
    kind,
    ...identity,
    labels,
    annotations,
    writtenMs: Object.keys(writtenMs).length === 0 ? undefined : writtenMs,
    skip: isSkipped(metadata),
    owner: ownerOf(metadata) ?? anyOwnerOf(metadata),
    roleRef: role,
    subjects: itemsOf(subjects).map(subject => subjectView(subject, identity.namespace)),
  });
}

/** Just-in-time operators also set references without `controller`, and any kind may manage bindings: every reference counts. */
function anyOwnerOf(metadata: Parameters<typeof ownerOf>[0]): BindingView["owner"] {
  const [reference] = itemsOf(metadata?.ownerReferences);
  return reference && { kind: reference.kind ?? "", name: reference.name ?? "", uid: reference.uid ?? "" };
}

function roleOf({ apiGroup, kind, name }: Received<V1RoleRef>): BindingView["roleRef"] | null {
  return kind && name ? { apiGroup: apiGroup ?? "", kind, name } : null;
}

/**
 * Keeps a subject without kind or name, so that no subject disappears from the view. A ServiceAccount without a namespace is in that of its
 * RoleBinding (kubernetes/kubernetes pkg/registry/rbac/validation/rule.go, appliesToUser).
 */
function subjectView({ kind, name, apiGroup, namespace }: Received<RbacV1Subject>, ownNamespace: string): SubjectView {
  const isLocal = kind === "ServiceAccount" && ownNamespace !== "";
  return present({
    kind: kind ?? "",
    name: name ?? "",
    apiGroup: apiGroup === "" ? undefined : apiGroup,
    namespace: namespace ?? (isLocal ? ownNamespace : undefined),
  });
}

/** Returns the rules of a Role or ClusterRole. */
export function roleView(raw: unknown): RoleView {
  const { rules } = objectOf(raw) as Received<Pick<V1ClusterRole, "rules">>;
  return {
    rules: itemsOf(rules).map(({ apiGroups, resources, resourceNames, verbs }) => ({
      apiGroups: textsOf(apiGroups),
      resources: textsOf(resources),
      resourceNames: textsOf(resourceNames),
      verbs: textsOf(verbs),
    })),
  };
}

function textsOf(values: unknown): string[] {
  return Array.isArray(values) ? values.flatMap(value => textOf(value) ?? []) : [];
}

/** Returns the view of a Lease; null without uid, name or creation time. */
export function leaseView(raw: unknown): LeaseView | null {
  const { metadata, spec } = objectOf(raw) as Received<V1Lease>;
  const identity = identityOf(metadata);
  if (identity === null) return null;
  const { namespace, name, uid, resourceVersion } = identity;
  const seconds = spec?.leaseDurationSeconds;
  return present({
    ...{ namespace, name, uid, resourceVersion, holder: textOf(spec?.holderIdentity) ?? "" },
    durationMs: typeof seconds === "number" && seconds > 0 ? seconds * 1_000 : undefined,
    acquired: textOf(spec?.acquireTime),
    renewed: textOf(spec?.renewTime),
  });
}

/** What these kinds have in common. */
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
    ...present({ deletedAtMs, isDangling: isDangling(itemsOf(status?.conditions)) }),
  };
}

function isDangling(conditions: readonly Received<V1FlowSchemaCondition>[]): boolean | undefined {
  const status = conditions.find(({ type }) => type === "Dangling")?.status;
  return status === "True" || status === "False" ? status === "True" : undefined;
}

/** This project's own kinds. */
export interface OwnKinds {
  readonly [KIND]: ControllerResilience;
  readonly [CLUSTER_KIND]: ClusterControllerResilience;
}

export type OwnKind = keyof OwnKinds;

/** One of this project's own objects in a cache. */
export interface OwnView<O> {
  readonly uid: string;
  /** Empty for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  /** As a live read returns it. Passes share it, so no pass may change it. */
  readonly object: O;
}

/** What the cache of one of this project's own kinds has. */
export interface OwnCache<O> {
  /** resourceVersion of the whole cache: it has every change up to this one. Undefined while a list is due. */
  readonly version: string | undefined;
  get(key: Key): O | undefined;
  keys(): readonly Key[];
}

/** Returns the view of one of this project's own objects; null without uid, name or creation time. */
export function ownView<K extends OwnKind>(kind: K, raw: unknown): OwnView<OwnKinds[K]> | null {
  const object = objectOf(raw) as { readonly metadata: ObjectMetadata };
  const identity = identityOf(object.metadata);
  if (identity === null) return null;
  const { uid, namespace, name, resourceVersion } = identity;
  const typed = { ...object, apiVersion: apiVersionOf(KINDS[kind]), kind, metadata: onlyNeeded(object.metadata) };
  return { uid, namespace, name, resourceVersion, object: typed as unknown as OwnKinds[K] };
}

/** Drops managedFields and other metadata that no code reads; a status update ignores them. */
export function onlyNeeded(metadata: ObjectMetadata): ObjectMetadata {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp } = metadata;
  const { deletionTimestamp, labels, annotations, ownerReferences, finalizers } = metadata;
  return {
    ...{ name, namespace, uid, resourceVersion, generation, creationTimestamp },
    ...present({ deletionTimestamp, labels, annotations, ownerReferences, finalizers }),
  };
}

// Recognizes pod sandboxes that failed because the API server rejected a network plugin's credential with 401. Only this file reads the
// message of the Event, and no code keeps it.

/** Longest part that is read; kubelet messages are far shorter. */
const MAX_MESSAGE = 16_384;

/** The network setup or its end failed, and not the image, the runtime, a volume or a timeout. */
const NETWORK =
  /failed to (?:set ?up|destroy) network for (?:pod )?sandbox|error (?:adding|removing) pod \S+ (?:to|from) CNI network|networkPlugin cni failed to (?:set ?up|teardown) pod|plugin type="[^"]*"(?: name="[^"]*")? failed \((?:add|delete)\)/;

/**
 * The API server's 401 at the end of a chain of errors: only this word, without an explanation. Hence `Unauthorized: no basic auth
 * credentials`, `unexpected status: 401 Unauthorized` and `connection is unauthorized: ... is forbidden` do not match. A runtime quotes what a
 * plugin prints to stderr, with its line breaks escaped.
 */
const REJECTED =
  /: (?:Unauthorized|the server has asked for the client to provide credentials(?: \([^()]{0,200}\))?)(?:[.'"\])]|\\+[nr"'])*(?=\s*$|,|;|\s*\n)/;

/** URL of another server, which then sent the 401. */
const ELSEWHERE = /https?:\/\/(?![^\s"'/]+\/(?:api\/v1|apis)(?:[/?"'\s:]|$))[^\s"']+/;

/** Reports whether the message of an Event of {@link SANDBOX_REASONS} says that the API server rejected a network plugin's credential. */
export function isRejectedCredential(message: string): boolean {
  const text = message.slice(0, MAX_MESSAGE);
  const network = NETWORK.exec(text);
  if (network === null) return false;
  const chain = text.slice(network.index);
  return REJECTED.test(chain) && !ELSEWHERE.test(chain);
}

type Event = Received<CoreV1Event>;

/** The kubelet's reasons for a pod sandbox that could not be made, and for a pod that could not be ended. */
export const SANDBOX_REASONS = ["FailedCreatePodSandBox", "FailedKillPod"] as const;

/**
 * Returns the view of an Event, read through the core API; null without uid, name, node or time of its creation, or with another reason. The
 * view has a classification of the message instead of its text.
 */
export function sandboxEventView(raw: unknown): SandboxEventView | null {
  const event = objectOf(raw) as Event;
  if (!SANDBOX_REASONS.some(reason => reason === event.reason)) return null;
  const identity = identityOf(event.metadata);
  const node = nodeOf(event);
  if (identity === null || node === undefined) return null;
  const { namespace, name, uid, createdAtMs } = identity;
  const unauthorized = isRejectedCredential(textOf(event.message) ?? "");
  // The API server notes when each client last changed a field.
  const changesMs = arrayOf(event.metadata?.managedFields).flatMap(entry => timeOf(objectOf(entry)["time"]) ?? []);
  // Many clients can create Events, not only the kubelet. A value of another type must neither throw nor count, so types are checked.
  const counts = [event.series?.count, event.count].map(value => numberOf(value) ?? 1);
  const [storedMs, count] = [Math.max(createdAtMs, ...changesMs), Math.max(1, ...counts)];
  return { namespace, name, uid, node, storedMs, count, unauthorized };
}

/** The kubelet's recorder sets the host. Reporters of the newer API set their instance, which is the node for a kubelet. */
function nodeOf({ source, reportingInstance }: Event): string | undefined {
  const names = [source?.host, reportingInstance];
  return names.map(textOf).find(name => name !== undefined && name !== "");
}
