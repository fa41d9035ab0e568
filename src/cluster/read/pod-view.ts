import type {
  V1Container,
  V1ContainerStatus,
  V1Pod,
  V1PodCondition,
  V1PodSpec,
  V1PodStatus,
  V1ServiceAccountTokenProjection,
  V1Volume,
} from "@kubernetes/client-node";
import { objectOf, textOf, timeOf } from "../../core/json";
import { ADMISSION_PREFIX } from "../../core/text";
import type { ContainerView, PodView, PortView } from "../../core/views";
import { isCniFolder, isComponent, logsForeign401s, type Signs } from "./components";
import { identityOf, isSkipped, itemsOf, labelsOf, ownerOf, present, type Received } from "./received";

type Spec = Received<V1PodSpec>;
type Status = Received<V1PodStatus>;

/** Returns the view of a pod; null without uid, name or creation time. */
export function podView(raw: unknown): PodView | null {
  const pod = objectOf(raw) as Received<V1Pod>;
  const { metadata } = pod;
  const identity = identityOf(metadata);
  if (identity === null) return null;
  const [spec, status] = [pod.spec ?? {}, pod.status ?? {}];
  const { namespace, name } = identity;
  const [labels, serviceAccountName] = [labelsOf(metadata), serviceAccountNameOf(spec)];
  const signs = { namespace, names: [name, serviceAccountName], labels, ...signsOf(spec) };
  return present({
    ...identity,
    ...stateOf(status),
    nodeUnreachable: isNodeUnreachable(spec, status) || undefined,
    ...placeOf(spec),
    podIP: textOf(status.podIP) || undefined,
    ports: portsOf(spec),
    isComponent: isComponent(signs) || undefined,
    logsForeign401s: logsForeign401s(signs) || undefined,
    serviceAccountName,
    ...tokenOf(spec),
    hasDefaultTokenExtras: itemsOf(spec.volumes).some(hasExtras) || undefined,
    labels,
    skip: isSkipped(metadata),
    owner: ownerOf(metadata),
    containers: containersOf(spec, status),
  });
}

/** As in the API server, the default is `default`. */
export function serviceAccountNameOf(spec: Spec | null | undefined): string {
  return spec?.serviceAccountName ?? spec?.serviceAccount ?? "default";
}

function stateOf(status: Status): Pick<PodView, "phase" | "ready" | "readySinceMs" | "volumesReadyMs"> {
  const ready = conditionOf(status, "Ready");
  const volumes = conditionOf(status, "PodReadyToStartContainers");
  return present({
    phase: status.phase ?? "Unknown",
    ready: isTrue(ready),
    readySinceMs: timeOf(ready?.lastTransitionTime),
    volumesReadyMs: isTrue(volumes) ? timeOf(volumes?.lastTransitionTime) : undefined,
  });
}

/**
 * When a node stops answering, the node controller sets only the condition Ready of its pods to False (MarkPodsNotReady in
 * pkg/controller/util/node). The kubelet sets ContainersReady, too, or says that it waits for readiness gates; others only wait.
 */
function isNodeUnreachable({ readinessGates }: Spec, status: Status): boolean {
  const { status: ready, reason } = conditionOf(status, "Ready") ?? {};
  const others = ["ContainersReady", ...itemsOf(readinessGates).map(({ conditionType }) => conditionType)];
  return (
    ready === "False" && reason !== "ReadinessGatesNotReady" && others.every(type => isTrue(conditionOf(status, type)))
  );
}

function conditionOf({ conditions }: Status, type: string | null | undefined): Received<V1PodCondition> | undefined {
  return itemsOf(conditions).find(condition => condition.type === type);
}

function isTrue(condition: Received<V1PodCondition> | undefined): boolean {
  return condition?.status === "True";
}

function placeOf(spec: Spec): Pick<PodView, "nodeName" | "hostNetwork" | "cniFolder"> {
  return present({
    nodeName: spec.nodeName || undefined,
    hostNetwork: spec.hostNetwork === true ? true : undefined,
    cniFolder: hostPathsOf(spec).some(isCniFolder) || undefined,
  });
}

function portsOf({ containers }: Spec): readonly PortView[] | undefined {
  const ports = itemsOf(containers)
    .flatMap(container => itemsOf(container.ports))
    .filter(({ protocol }) => (protocol ?? "TCP") === "TCP")
    .map(({ name, containerPort }) => ({ name: name ?? "", port: containerPort ?? 0 }));
  return ports.length === 0 ? undefined : ports;
}

/** Returns what the spec of pods says about what they are. */
export function signsOf(spec: Spec): Required<Pick<Signs, "images" | "hostPaths" | "priorityClassName">> {
  const containers = [...itemsOf(spec.initContainers), ...itemsOf(spec.containers)];
  return {
    images: containers.map(({ image }) => textOf(image) ?? ""),
    hostPaths: hostPathsOf(spec),
    priorityClassName: textOf(spec.priorityClassName) ?? "",
  };
}

function hostPathsOf({ volumes }: Spec): string[] {
  return itemsOf(volumes).map(({ hostPath }) => textOf(hostPath?.path) ?? "");
}

function tokenOf(spec: Spec): Partial<PodView> {
  const sources = tokenSourcesOf(spec);
  const tokens = sources.filter(({ audience }) => (audience ?? "") === "");
  const lives = tokens.flatMap(({ expirationSeconds }) => expirationSeconds ?? []);
  const audienceTokens = sources.flatMap(({ audience, expirationSeconds }) =>
    (audience ?? "") === "" ? [] : [present({ audience: audience ?? "", expirationSeconds })],
  );
  const others = audienceTokens.length === 0 ? {} : { audienceTokens };
  if (lives.length === 0) return { mountsToken: tokens.length > 0, ...others };
  return {
    mountsToken: true,
    ...others,
    tokenExpirationSeconds: Math.min(...lives),
    maxTokenExpirationSeconds: Math.max(...lives),
  };
}

/** Kubernetes' own are the token, the CA and the namespace. OpenShift adds the CA of its services. */
function hasExtras({ name, projected }: Received<V1Volume>): boolean {
  return name?.startsWith(ADMISSION_PREFIX) === true && itemsOf(projected?.sources).length > 3;
}

/** Returns the serviceAccountToken sources of projected volumes. */
export function tokenSourcesOf({ volumes }: Spec): Received<V1ServiceAccountTokenProjection>[] {
  return itemsOf(volumes)
    .flatMap(({ projected }) => itemsOf(projected?.sources))
    .flatMap(({ serviceAccountToken }) => serviceAccountToken ?? []);
}

function containersOf(spec: Spec, status: Status): readonly ContainerView[] {
  const entries = [...itemsOf(status.initContainerStatuses), ...itemsOf(status.containerStatuses)];
  const statuses = new Map(entries.map(entry => [entry.name, entry]));
  const view = (container: Received<V1Container>, role: ContainerView["role"]): ContainerView | [] =>
    container.name ? containerView(container.name, role, statuses.get(container.name)) : [];
  return itemsOf(spec.initContainers)
    .flatMap(container => view(container, container.restartPolicy === "Always" ? "sidecar" : "init"))
    .concat(itemsOf(spec.containers).flatMap(container => view(container, "main")));
}

function containerView(
  name: string,
  role: ContainerView["role"],
  status: Received<V1ContainerStatus> = {},
): ContainerView {
  const { running, terminated } = status.state ?? {};
  return present({
    name,
    role,
    restartCount: status.restartCount ?? 0,
    running: Boolean(running),
    startedAtMs: timeOf((running ?? terminated)?.startedAt),
    lastFinishedAtMs: timeOf(status.lastState?.terminated?.finishedAt),
  });
}
