import type { Obj, Spec, Status } from "../server/objects";
import { matches } from "../server/selectors";
import type { Store } from "../server/store";
import { workloadOf } from "./sight";

// What ControllerResiliences ask for, as a person reads them: without the operator's code.

/** Fields of blocks that the checker reads; each block has some of them. */
export interface Block extends Partial<Record<"cooldown" | "minDuration" | "extendBy" | "onStall", string>> {
  readonly maxUnavailable?: number;
  readonly maxRestarts?: number;
  readonly evidence?: readonly string[];
  readonly containers?: readonly string[];
  readonly progress?: readonly { readonly for?: string }[];
  readonly metrics?: object;
  readonly renewBefore?: string;
  readonly warnBefore?: string;
  readonly renewUntil?: string;
  readonly bindings?: readonly { readonly kind: string; readonly name: string }[];
  readonly requestRate?: { readonly onRunaway?: string };
}

/** One of spec's blocks; empty if it is absent. */
export function blockOf({ spec }: Obj, name: string): Block {
  return (spec?.[name] ?? {}) as Block;
}

/** Whether an object has a block, and acts: it does not only observe, and is not suspended. */
export function acts({ spec }: Obj, block: string): boolean {
  return spec?.[block] !== undefined && spec.mode !== "Observe" && spec.suspend !== true;
}

/** Whether an object asks for restarts where a program stands still. */
export function restartsStalls(object: Obj): boolean {
  return blockOf(object, "stallDetection").onStall === "Restart";
}

/** Whether a pod or a workload is not to be touched. */
export function isSkipped({ metadata }: Obj): boolean {
  return metadata.annotations?.["controller-resilience.io/skip"] === "true";
}

/** The objects that have a pod's workload among their targets. */
export function objectsOf(store: Store, pod: Obj): Obj[] {
  return objectsFor(store, pod.metadata.namespace, workloadOf(pod) ?? "");
}

/** The workload `Kind/name` of a namespace. */
export function workloadIn(store: Store, namespace: string | undefined, id: string): Obj | undefined {
  const [kind = "", name = ""] = id.split("/");
  return kind === "" ? undefined : store.get(`${kind.toLowerCase()}s`, namespace, name);
}

/** The objects that have the workload `Kind/name` of a namespace among their targets. */
export function objectsFor(store: Store, namespace: string | undefined, id: string): Obj[] {
  const [kind = "", name = ""] = id.split("/");
  const workload = workloadIn(store, namespace, id);
  const isIt = (target: NonNullable<Spec["targets"]>[number]): boolean =>
    target.kind === kind &&
    (target.name === undefined ? matches(target.selector, workload?.metadata.labels) : target.name === name);
  return store.list("controllerresiliences", namespace).filter(({ spec }) => spec?.targets?.some(isIt));
}

/** The pods of the workload `namespace/Kind/name`. */
export function podsOf(store: Store, key: string): Obj[] {
  const [namespace = "", kind = "", name = ""] = key.split("/");
  return store.list("pods", namespace).filter(pod => workloadOf(pod) === `${kind}/${name}`);
}

/** How many pods that workload should have; 0 without it. */
export function desiredOf(store: Store, key: string): number {
  const [namespace = "", kind = "", name = ""] = key.split("/");
  const workload = workloadIn(store, namespace, `${kind}/${name}`);
  if (workload === undefined) return 0;
  return kind === "DaemonSet" ? (workload.status?.desiredNumberScheduled ?? 0) : (workload.spec?.replicas ?? 1);
}

/** The objects that may restart a pod. */
export function actingOn(store: Store, pod: Obj): Obj[] {
  return objectsOf(store, pod).filter(
    object => acts(object, "tokenRestart") || (acts(object, "stallDetection") && restartsStalls(object)),
  );
}

/** Whether a trial of a shorter token, or its end, may replace a pod, although it works: the pod has another template than its DaemonSet by now. */
export function mayBeTried(store: Store, pod: Obj): boolean {
  const { namespace, labels } = pod.metadata;
  const [kind, name = ""] = (workloadOf(pod) ?? "").split("/");
  if (kind !== "DaemonSet" || !objectsOf(store, pod).some(object => acts(object, "tokenLifetime"))) return false;
  const annotations = store.get("daemonsets", namespace, name)?.metadata.annotations;
  return labels?.["pod-template-generation"] !== annotations?.["deprecated.daemonset.template.generation"];
}

/** When an object was created, since 1970. */
export function createdMs({ metadata }: Obj): number {
  return Date.parse(metadata.creationTimestamp);
}

/** The pod that holds a Lease: its identity is the pod's name and a random part. */
export function holderOf(lease: Obj | undefined): string | undefined {
  const { holderIdentity = "" } = lease?.spec ?? {};
  return holderIdentity === "" ? undefined : holderIdentity.replace(/_[^_]*$/, "");
}

/** An entry of status.restarts. */
export type RestartEntry = NonNullable<Status["restarts"]>[number];

/** status.restarts. */
export function entriesOf({ status }: Obj): readonly RestartEntry[] {
  return status?.restarts ?? [];
}

/** Uids of the pods in status.restarts. */
export function restartsOf(object: Obj): readonly (string | undefined)[] {
  return entriesOf(object).map(({ podUID }) => podUID);
}
