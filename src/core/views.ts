import type { LabelSelector } from "../api/controller-resilience";
import { SERVICE_ACCOUNT_USERS } from "./text";

// Views of the cluster's objects: they keep only the fields that the operator reads, so that thousands of pods need little memory.
// Times are milliseconds since the epoch.

/** What identifies an object, and its age. */
export interface Identity {
  /** Empty for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly createdAtMs: number;
  /** Present while the object is being deleted: the token of a pod is dead by design then. */
  readonly deletedAtMs?: number;
}

/** An owner reference of an object. */
export interface OwnerView {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** One container of a pod. */
export interface ContainerView {
  readonly name: string;
  /** Init containers are listed too; `sidecar` ones (restartPolicy Always) run beside the others. */
  readonly role: "main" | "init" | "sidecar";
  /** Counts the container's lives from 0. */
  readonly restartCount: number;
  readonly running: boolean;
  readonly startedAtMs?: number;
  /** End of the life before this one, if the kubelet still knows it. */
  readonly lastFinishedAtMs?: number;
}

/** A port that a container declares. */
export interface PortView {
  /** Empty: it has none. */
  readonly name: string;
  readonly port: number;
}

/** A pod. */
export interface PodView extends Identity {
  readonly phase: string;
  readonly ready: boolean;
  /** When the Ready condition last changed. */
  readonly readySinceMs?: number;
  readonly nodeName?: string;
  /** The node controller marked the pod as not ready because its node does not answer; the kubelet reports ready containers. */
  readonly nodeUnreachable?: boolean;
  /** It is in the network of its node, as every agent of a network plugin has to be. Absent: it is not. */
  readonly hostNetwork?: boolean;
  /** Its own address, which the kubelet reports. Absent: none yet. */
  readonly podIP?: string;
  /** TCP ports that its containers declare. Absent: none. */
  readonly ports?: readonly PortView[];
  /** It mounts a CNI folder of its node (`cni` is a part of its path), which it needs to write a credential there. Absent: it doesn't. */
  readonly cniFolder?: boolean;
  /** A component of the cluster. Absent: it is not. */
  readonly isComponent?: boolean;
  /** As {@link WorkloadView.logsForeign401s}. */
  readonly logsForeign401s?: boolean;
  readonly serviceAccountName: string;
  /**
   * A projected ServiceAccount token for the API server (a serviceAccountToken source without its own audience) is
   * among its volumes. Absent: not known.
   */
  readonly mountsToken?: boolean;
  /** Its projected ServiceAccount tokens with an audience of their own, which may be the API server's. Absent: none. */
  readonly audienceTokens?: readonly AudienceToken[];
  /** Shortest `expirationSeconds` of those sources. Absent: the default of 3607 s. */
  readonly tokenExpirationSeconds?: number;
  /** The longest of them. */
  readonly maxTokenExpirationSeconds?: number;
  /** Admission's volume of the default token has more sources than those of Kubernetes. Absent: it has not, or there is none. */
  readonly hasDefaultTokenExtras?: boolean;
  /**
   * When the condition PodReadyToStartContainers became True: its volumes, hence its first token, were there before that.
   * Absent: the kubelet does not report it.
   */
  readonly volumesReadyMs?: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The skip annotation is set on it. */
  readonly skip: boolean;
  /** The controller ownerReference: ReplicaSet, StatefulSet, DaemonSet or whatever owns it. */
  readonly owner?: OwnerView;
  readonly containers: readonly ContainerView[];
}

/** A serviceAccountToken source with an audience. */
export interface AudienceToken {
  readonly audience: string;
  readonly expirationSeconds?: number;
}

/** A Deployment, StatefulSet or DaemonSet. */
export interface WorkloadView extends Omit<Identity, "createdAtMs" | "deletedAtMs"> {
  readonly kind: "Deployment" | "StatefulSet" | "DaemonSet";
  readonly labels: Readonly<Record<string, string>>;
  readonly skip: boolean;
  /** This project's, whose keys begin with its API group. Absent: none. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly serviceAccountName: string;
  /** automountServiceAccountToken of its pod template; absent: not set, so that of its ServiceAccount holds. */
  readonly automount?: boolean;
  /**
   * Audiences of the projected ServiceAccount tokens among the volumes of its pod template; empty text stands for the API server's own.
   * Absent: no such token.
   */
  readonly tokenAudiences?: readonly string[];
  /** Desired replicas; for a DaemonSet the number of nodes it is scheduled to. */
  readonly replicas: number;
  /** Ready pods as its controller counts them. Absent: it has not counted yet. */
  readonly readyReplicas?: number;
  /** terminationGracePeriodSeconds of its pod template. Absent: not set. */
  readonly graceMs?: number;
  /** A component of the cluster, as its pod template or name shows. Absent: it is not. */
  readonly isComponent?: boolean;
  /** It logs the 401s of others, so those are no evidence against its own token. Absent: it does not. */
  readonly logsForeign401s?: boolean;
  /** Absent: not known. */
  readonly createdAtMs?: number;
  /** Absent: not known. */
  readonly rollout?: RolloutView;
}

/** How far the pods of a workload have its present template. */
export interface RolloutView {
  /** RollingUpdate, Recreate or OnDelete. */
  readonly strategy: string;
  /** Every pod has the present template. */
  readonly isComplete: boolean;
  /** Its controller is replacing pods of an earlier template, or has not seen the present spec yet. */
  readonly isInProgress: boolean;
  /** progressDeadlineSeconds of a Deployment. */
  readonly progressDeadlineMs?: number;
  /** Label that the pods of the present template have, and no others. Absent: not known. */
  readonly currentLabel?: { readonly key: string; readonly value: string };
}

/** A DaemonSet with its pod template, for those who change it. */
export interface DaemonSetView extends WorkloadView {
  readonly kind: "DaemonSet";
  readonly generation: number;
  /** Generation that the DaemonSet controller has seen. */
  readonly observedGeneration: number;
  /** RollingUpdate or OnDelete. */
  readonly updateStrategy: string;
  /** This project's field manager owns the type of the update strategy, so it has set it. */
  readonly ownsUpdateStrategy?: boolean;
  /** Another field manager owns it; with neither, the API server has defaulted it. */
  readonly strategyManager?: string;
  /** Pods or percent that a rolling update replaces at once, before their successors start; absent: 1. */
  readonly maxUnavailable?: number | string;
  /** Pods or percent that a rolling update replaces at once, after their successors are available; absent: 0. */
  readonly maxSurge?: number | string;
  /** Pods of the present template. */
  readonly updatedPods: number;
  readonly availablePods: number;
  /** spec.template as it is. */
  readonly template: Readonly<Record<string, unknown>>;
  /** Audiences of the API server: a token of the template that names one is for it. Absent: none is known. */
  readonly apiAudiences?: readonly string[];
  /** Volumes of the template whose projected sources this project's field manager owns, alone or with others. */
  readonly ownedVolumes: readonly string[];
  /** The last other field manager of the object's spec. */
  readonly lastManager?: string;
  /** The controller ownerReference, such as that of an operator that writes the template. */
  readonly owner?: OwnerView;
}

/** Kinds of bindings. */
export type BindingKind = "RoleBinding" | "ClusterRoleBinding";

/** A RoleBinding or ClusterRoleBinding. */
export interface BindingView extends Identity {
  readonly kind: BindingKind;
  readonly labels: Readonly<Record<string, string>>;
  /** Without what `kubectl apply` keeps there. */
  readonly annotations: Readonly<Record<string, string>>;
  /** When those of the labels and annotations were written, by key, that are younger than the binding; absent where none is. */
  readonly writtenMs?: Readonly<Record<string, number>>;
  readonly skip: boolean;
  /** The controller ownerReference, or else the first one of any kind. */
  readonly owner?: OwnerView;
  readonly roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string };
  readonly subjects: readonly SubjectView[];
}

/** A subject of a binding. */
export interface SubjectView {
  readonly apiGroup?: string;
  readonly kind: string;
  readonly name: string;
  /** Of a ServiceAccount, also if the binding leaves it out. */
  readonly namespace?: string;
}

/** The ServiceAccount that a subject is, also by its user name, as `namespace/name`; undefined: none. */
export function serviceAccountOf({ kind, name, namespace, apiGroup }: SubjectView): string | undefined {
  if (kind === "User" && name.startsWith(SERVICE_ACCOUNT_USERS))
    return name.slice(SERVICE_ACCOUNT_USERS.length).replace(":", "/");
  const isAccount = kind === "ServiceAccount" && apiGroup === undefined && namespace !== undefined;
  return isAccount ? `${namespace}/${name}` : undefined;
}

const GROUP_OF_NAMESPACE = "system:serviceaccounts:";

/** As {@link serviceAccountOf}; of the group of all ServiceAccounts of a namespace, `namespace/`. */
export function accountsOf(subject: SubjectView): string | undefined {
  const isGroup = subject.kind === "Group" && subject.name.startsWith(GROUP_OF_NAMESPACE);
  return isGroup ? `${subject.name.slice(GROUP_OF_NAMESPACE.length)}/` : serviceAccountOf(subject);
}

/** Reports whether a subject stands for a ServiceAccount, given as `namespace/name`: by itself, or as one of its namespace. */
export function standsFor(subject: SubjectView, account: string): boolean {
  return [account, account.slice(0, account.indexOf("/") + 1)].includes(accountsOf(subject) ?? "");
}

/** A Role or ClusterRole. */
export interface RoleView {
  readonly rules: readonly RoleRule[];
}

/** What a role allows; an empty list allows nothing. */
export interface RoleRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** Empty or absent: every object. */
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** An Event `FailedCreatePodSandBox` or `FailedKillPod`: on a node a pod could not be started, or ended. */
export interface SandboxEventView {
  /** Of the Event and of the pod that could not be started: the API server refuses an Event about a pod of another namespace. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  /** When the API server stored it last, by its own clock: the times inside are those of the node's clock, which may be off. */
  readonly storedMs: number;
  readonly count: number;
  /** The cause is a network plugin's credential that the API server answered 401. Of the message nothing else is kept. */
  readonly unauthorized: boolean;
}

/** A ServiceAccount. */
export interface ServiceAccountView extends Omit<Identity, "resourceVersion"> {
  /** automountServiceAccountToken; absent: not set, which means true. */
  readonly automount?: boolean;
  /** Present if Helm or Argo CD deletes it and creates it again. */
  readonly hook?: RecreatingHook;
  /** Its controller, or else its first owner: it creates it again, and the garbage collector deletes it after that owner. */
  readonly owner?: OwnerView;
}

/** A Namespace. */
export interface NamespaceView extends Omit<Identity, "resourceVersion" | "createdAtMs"> {
  readonly labels: Readonly<Record<string, string>>;
  /** Only this project's, whose keys begin with its API group. */
  readonly annotations: Readonly<Record<string, string>>;
  /** The skip annotation is set on it. */
  readonly skip: boolean;
}

/** Kinds outside of every namespace that the operator makes objects of. */
export type ClusterKind = "FlowSchema" | "PriorityLevelConfiguration";

/** An object outside of every namespace, of a kind that the operator makes objects of. */
export interface ClusterObjectView extends Omit<Identity, "namespace"> {
  /** Group and v1. */
  readonly apiVersion: string;
  readonly kind: ClusterKind;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** As it is, with everything that the API server has defaulted. */
  readonly spec: Readonly<Record<string, unknown>>;
  /** The level of this FlowSchema does not exist, so the API server ignores it. Absent: the API server has not looked yet. */
  readonly isDangling?: boolean | undefined;
}

/** Why a tool recreates an object. */
export interface RecreatingHook {
  readonly tool: "Helm" | "Argo CD";
  /** The annotation that makes the object a hook, such as `helm.sh/hook: pre-upgrade`. */
  readonly annotation: string;
  /** When the tool deletes it, such as `before-hook-creation`. */
  readonly deletePolicy: string;
  /** What a person does that recreates it. */
  readonly occasion: string;
}

/** What a ServiceAccount says of who recreates it, in parentheses; empty if nothing. @param how such as `recreates it` */
export function describeRecreator({ hook, owner }: Pick<ServiceAccountView, "hook" | "owner">, how: string): string {
  if (hook !== undefined) return ` (a ${hook.tool} hook ${how}: ${hook.annotation})`;
  return owner === undefined ? "" : ` (its owner ${owner.kind} ${owner.name} ${how}, or is itself recreated by a hook)`;
}

/** Groups items by a key, such as views by their namespace. */
export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** Reports whether labels match a selector, by the rules of the API server: an empty selector matches everything. */
export function matchesSelector(labels: Readonly<Record<string, string>>, selector: LabelSelector): boolean {
  const all = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return all && (selector.matchExpressions ?? []).every(requirement => meets(labels, requirement));
}

type Requirement = NonNullable<LabelSelector["matchExpressions"]>[number];

function meets(labels: Readonly<Record<string, string>>, { key, operator, values = [] }: Requirement): boolean {
  // A key such as constructor is no label of every object.
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
  }
}
