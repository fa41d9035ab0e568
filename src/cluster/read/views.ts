import {
  OWNER_ANNOTATION,
  REPLICAS_BEFORE_ANNOTATION,
  RESTARTED_AT_ANNOTATION,
  SKIP_ANNOTATION,
} from "../../api/names";
import type {
  BindingKind,
  BindingView,
  ContainerView,
  PodView,
  ServiceAccountView,
  SubjectView,
  WorkloadView,
} from "../../core/views";
import { identityOf } from "./identity";
import { arrayOf, type JsonObject, numberOf, objectOf, textOf, textsOf, timeOf } from "../../core/json";
import { marksWrittenAfter } from "./managers";

// Converts the API server's JSON to views. Pure and total: odd or missing fields never throw. An object without identity or creation
// time becomes null, since decisions depend on both.

export function podView(raw: unknown): PodView | null {
  const pod = objectOf(raw);
  const identity = identityOf(pod);
  if (identity === null) return null;
  const metadata = objectOf(pod["metadata"]);
  const spec = objectOf(pod["spec"]);
  const status = objectOf(pod["status"]);
  const nodeName = textOf(spec["nodeName"]);
  const owner = ownerOf(metadata);
  return {
    ...identity,
    phase: textOf(status["phase"]) ?? "Unknown",
    ...readiness(status),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(spec["hostNetwork"] === true ? { hostNetwork: true } : {}),
    ...(mountsCniFolder(spec) ? { cniFolder: true } : {}),
    serviceAccountName: serviceAccountNameOf(spec),
    ...tokenOf(spec),
    ...volumesReady(status),
    labels: textsOf(metadata["labels"]),
    skip: isSkipped(metadata),
    ...(owner === undefined ? {} : { owner }),
    containers: containersOf(spec, status),
  };
}

export function serviceAccountView(raw: unknown): ServiceAccountView | null {
  const identity = identityOf(objectOf(raw));
  if (identity === null) return null;
  const { namespace, name, uid, createdAtMs, deletedAtMs } = identity;
  const automount = objectOf(raw)["automountServiceAccountToken"];
  return {
    namespace,
    name,
    uid,
    createdAtMs,
    ...(deletedAtMs === undefined ? {} : { deletedAtMs }),
    ...(typeof automount === "boolean" ? { automount } : {}),
  };
}

export function workloadView(kind: WorkloadView["kind"], raw: unknown): WorkloadView | null {
  const workload = objectOf(raw);
  const identity = identityOf(workload);
  if (identity === null) return null;
  const metadata = objectOf(workload["metadata"]);
  const spec = objectOf(workload["spec"]);
  const template = objectOf(spec["template"]);
  const restartedAtMs = timeOf(objectOf(objectOf(template["metadata"])["annotations"])[RESTARTED_AT_ANNOTATION]);
  const { namespace, name, uid, resourceVersion } = identity;
  return {
    kind,
    namespace,
    name,
    uid,
    resourceVersion,
    labels: textsOf(metadata["labels"]),
    skip: isSkipped(metadata),
    serviceAccountName: serviceAccountNameOf(objectOf(template["spec"])),
    replicas:
      kind === "DaemonSet"
        ? (numberOf(objectOf(workload["status"])["desiredNumberScheduled"]) ?? 0)
        : (numberOf(spec["replicas"]) ?? 1),
    ...(restartedAtMs === undefined ? {} : { restartedAtMs }),
    ...scaledDown(textsOf(metadata["annotations"])),
  };
}

/** What can't be a number of replicas gives nobody anything back. */
function scaledDown(annotations: Readonly<Record<string, string>>): Pick<WorkloadView, "scaledDown"> {
  const [replicas, owner] = [annotations[REPLICAS_BEFORE_ANNOTATION] ?? "", annotations[OWNER_ANNOTATION]];
  if (owner === undefined || !/^[1-9][0-9]{0,8}$/.test(replicas)) return {};
  return { scaledDown: { replicas: Number(replicas), owner } };
}

/** What `kubectl apply` keeps: the whole object once more. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** An rbac.authorization.k8s.io/v1 RoleBinding or ClusterRoleBinding as a view; null without uid, name, creation time or role. */
export function bindingView(kind: BindingKind, raw: unknown): BindingView | null {
  const binding = objectOf(raw);
  const identity = identityOf(binding);
  const roleRef = objectOf(binding["roleRef"]);
  const roleKind = textOf(roleRef["kind"]);
  const roleName = textOf(roleRef["name"]);
  if (identity === null || roleKind === undefined || roleName === undefined) return null;
  const metadata = objectOf(binding["metadata"]);
  const annotations = textsOf(metadata["annotations"]);
  Reflect.deleteProperty(annotations, LAST_APPLIED);
  const labels = textsOf(metadata["labels"]);
  const keys = [...Object.keys(labels), ...Object.keys(annotations)];
  const fields = arrayOf(metadata["managedFields"]).map(objectOf);
  const writtenMs = marksWrittenAfter(identity.createdAtMs, keys, fields);
  const owner = ownerOf(metadata);
  return {
    kind,
    ...identity,
    labels,
    annotations,
    ...(Object.keys(writtenMs).length === 0 ? {} : { writtenMs }),
    skip: isSkipped(metadata),
    ...(owner === undefined ? {} : { owner }),
    roleRef: { apiGroup: textOf(roleRef["apiGroup"]) ?? "", kind: roleKind, name: roleName },
    subjects: arrayOf(binding["subjects"]).map(subjectView),
  };
}

/** Keeps a subject without kind or name, so that no subject disappears from the view. */
function subjectView(raw: unknown): SubjectView {
  const subject = objectOf(raw);
  const apiGroup = textOf(subject["apiGroup"]);
  const namespace = textOf(subject["namespace"]);
  return {
    kind: textOf(subject["kind"]) ?? "",
    name: textOf(subject["name"]) ?? "",
    ...(apiGroup === undefined || apiGroup === "" ? {} : { apiGroup }),
    ...(namespace === undefined ? {} : { namespace }),
  };
}

function conditionOf(status: JsonObject, type: string): JsonObject | undefined {
  return arrayOf(status["conditions"])
    .map(objectOf)
    .find(candidate => candidate["type"] === type);
}

/** Tokens with an explicit audience are not for the API server. */
function tokenOf(
  spec: JsonObject,
): Pick<PodView, "mountsToken" | "tokenExpirationSeconds" | "maxTokenExpirationSeconds"> {
  const tokens = arrayOf(spec["volumes"])
    .flatMap(volume => arrayOf(objectOf(objectOf(volume)["projected"])["sources"]))
    .map(source => objectOf(source)["serviceAccountToken"])
    .filter(token => typeof token === "object" && token !== null)
    .map(objectOf)
    .filter(token => (textOf(token["audience"]) ?? "") === "");
  const lives = tokens.map(token => numberOf(token["expirationSeconds"])).filter(life => life !== undefined);
  return {
    mountsToken: tokens.length > 0,
    ...(lives.length === 0
      ? {}
      : { tokenExpirationSeconds: Math.min(...lives), maxTokenExpirationSeconds: Math.max(...lives) }),
  };
}

/** Such as /etc/cni/net.d and /opt/cni/bin; distributions use other folders, but keep the word. */
const CNI_PATH = /(^|[/._-])cni([/._-]|$)/i;

function mountsCniFolder(spec: JsonObject): boolean {
  return arrayOf(spec["volumes"]).some(volume =>
    CNI_PATH.test(textOf(objectOf(objectOf(volume)["hostPath"])["path"]) ?? ""),
  );
}

function volumesReady(status: JsonObject): Pick<PodView, "volumesReadyMs"> {
  const condition = conditionOf(status, "PodReadyToStartContainers");
  const volumesReadyMs = condition?.["status"] === "True" ? timeOf(condition["lastTransitionTime"]) : undefined;
  return volumesReadyMs === undefined ? {} : { volumesReadyMs };
}

function readiness(status: JsonObject): Pick<PodView, "ready" | "readySinceMs"> {
  const condition = conditionOf(status, "Ready");
  const readySinceMs = timeOf(condition?.["lastTransitionTime"]);
  return { ready: condition?.["status"] === "True", ...(readySinceMs === undefined ? {} : { readySinceMs }) };
}

function ownerOf(metadata: JsonObject): PodView["owner"] {
  const reference = arrayOf(metadata["ownerReferences"])
    .map(objectOf)
    .find(candidate => candidate["controller"] === true);
  const kind = textOf(reference?.["kind"]);
  const name = textOf(reference?.["name"]);
  const uid = textOf(reference?.["uid"]);
  return kind === undefined || name === undefined || uid === undefined ? undefined : { kind, name, uid };
}

/** As in the API server, the default is `default`. */
function serviceAccountNameOf(podSpec: JsonObject): string {
  return textOf(podSpec["serviceAccountName"]) ?? textOf(podSpec["serviceAccount"]) ?? "default";
}

function isSkipped(metadata: JsonObject): boolean {
  return objectOf(metadata["annotations"])[SKIP_ANNOTATION] === "true";
}

function containersOf(spec: JsonObject, status: JsonObject): readonly ContainerView[] {
  const statuses = new Map<unknown, JsonObject>();
  for (const field of ["initContainerStatuses", "containerStatuses"]) {
    for (const entry of arrayOf(status[field]).map(objectOf)) statuses.set(entry["name"], entry);
  }
  const init = arrayOf(spec["initContainers"]).map(objectOf);
  const main = arrayOf(spec["containers"]).map(objectOf);
  const roles = [
    ...init.map(
      container => ({ container, role: container["restartPolicy"] === "Always" ? "sidecar" : "init" }) as const,
    ),
    ...main.map(container => ({ container, role: "main" }) as const),
  ];
  return roles.flatMap(({ container, role }) => {
    const name = textOf(container["name"]);
    return name === undefined ? [] : [containerView(name, role, objectOf(statuses.get(name)))];
  });
}

function containerView(name: string, role: ContainerView["role"], status: JsonObject): ContainerView {
  const state = objectOf(status["state"]);
  const running = typeof state["running"] === "object" && state["running"] !== null;
  const startedAtMs = timeOf(objectOf(running ? state["running"] : state["terminated"])["startedAt"]);
  const lastFinishedAtMs = timeOf(objectOf(objectOf(status["lastState"])["terminated"])["finishedAt"]);
  return {
    name,
    role,
    restartCount: numberOf(status["restartCount"]) ?? 0,
    running,
    ...(startedAtMs === undefined ? {} : { startedAtMs }),
    ...(lastFinishedAtMs === undefined ? {} : { lastFinishedAtMs }),
  };
}
