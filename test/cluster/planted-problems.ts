import type { Admin } from "./admin";
import { roleBinding } from "./objects";

// Problems that an audit must find, and lookalikes that it must not report. Nothing here depends on a real node or a controller.

/** What an audit finds: severity, check and object. */
export type Expected = readonly [severity: string, check: string, object: string];

/** What was planted, and what an audit must report for it and nothing else. */
export interface Planted {
  readonly namespace: string;
  readonly expected: readonly Expected[];
  /** What it reports besides with `--logs`. */
  readonly expectedOfLogs: readonly Expected[];
  /** What the kubelet of the pods answers. */
  readonly logs: Readonly<Record<string, string>>;
}

/** A word of the planted logs that must not be printed. */
export const LOG_WORD = "planted-secret-word";

const GROUPS: Readonly<Record<string, string>> = {
  deployments: "/apis/apps/v1",
  daemonsets: "/apis/apps/v1",
  leases: "/apis/coordination.k8s.io/v1",
  rolebindings: "/apis/rbac.authorization.k8s.io/v1",
};
const VIEW = { kind: "ClusterRole", name: "view" } as const;
const containers = [{ name: "main", image: "example.com/none:1" }];

/** Creates everything in one new namespace. The pods with logs are on this node, whose kubelet must serve `logs`. */
export async function plantProblems(admin: Admin, node: string): Promise<Planted> {
  const namespace = await admin.namespace("planted");
  const pathOf = (resource: string): string => `${GROUPS[resource] ?? "/api/v1"}/namespaces/${namespace}/${resource}`;
  const create = (resource: string, name: string, body: object = {}, metadata: object = {}) =>
    admin.create<{ metadata: { uid: string } }>(pathOf(resource), { metadata: { name, ...metadata }, ...body });
  const ground: Ground = { admin, namespace, pathOf, create };
  for (const name of ACCOUNTS) await create("serviceaccounts", name);
  for (const [name, annotations] of Object.entries(HOOKS)) await create("serviceaccounts", name, {}, { annotations });
  for (const name of ["recreated", "logging", "agent"]) await bind(ground, `uses-${name}`, name);
  for (const name of ["recreated", "logging", "helm-hook", "argo-hook", "test-hook"])
    await create("deployments", name, workload(name, { replicas: 0 }));
  await create("daemonsets", "agent", workload("agent", {}));
  const logs = logsOf(namespace);
  for (const name of Object.keys(logs)) {
    const serviceAccountName = name === "unbound" ? name : "logging";
    await create("pods", name, { spec: { nodeName: node, serviceAccountName, containers } });
    await start(ground, name, name === "ended" ? "Succeeded" : "Running");
  }
  for (const name of ["gone", "healthy", "holder"]) await create("pods", name, pod(name));
  // It has got its token on its node.
  await create("pods", "recreated", { spec: { nodeName: node, serviceAccountName: "recreated", containers } });
  await start(ground, "holder", "Running");
  await plantTokenFailures(ground);
  await plantLeases(ground);
  await plantBindings(ground);
  for (const name of ["gone", "recreated"]) await admin.delete(`${pathOf("serviceaccounts")}/${name}`);
  // The API server keeps whole seconds.
  await new Promise(resolve => setTimeout(resolve, 1_100));
  await create("serviceaccounts", "recreated");
  const inside = ([level, check, kind, name]: Finding): Expected => [level, check, `${kind} ${namespace}/${name}`];
  return { namespace, logs, expected: EXPECTED.map(inside), expectedOfLogs: OF_LOGS.map(inside) };
}

type Finding = readonly [severity: string, check: string, kind: string, name: string];

const EXPECTED: readonly Finding[] = [
  ["critical", "MissingServiceAccount", "Pod", "gone"],
  ["warning", "OldToken", "Pod", "recreated"],
  ["critical", "FailedToken", "Pod", "no-token"],
  ["critical", "FailedToken", "Pod", "expired-token"],
  ["warning", "RecreatedByHook", "ServiceAccount", "helm-hook"],
  ["warning", "RecreatedByHook", "ServiceAccount", "argo-hook"],
  ["critical", "StaleLease", "Lease", "stale"],
  ["critical", "ExpiringBinding", "RoleBinding", "soon"],
  ["critical", "ExpiringBinding", "RoleBinding", "kyverno"],
  ["warning", "ExpiringBinding", "RoleBinding", "ttl"],
  ["notice", "ExpiringBinding", "RoleBinding", "later"],
  ["notice", "Unprotected", "Deployment", "recreated"],
  ["notice", "Unprotected", "Deployment", "logging"],
  ["notice", "Unprotected", "DaemonSet", "agent"],
];

const OF_LOGS: readonly Finding[] = [
  ["critical", "RejectedNow", "Pod", "rejected"],
  ["warning", "RejectedNow", "Pod", "rejected-once"],
  ["warning", "ForbiddenNow", "Pod", "denied"],
  ["warning", "ForbiddenNow", "Pod", "unbound"],
];

const ACCOUNTS = ["recreated", "gone", "healthy", "mounts", "logging", "unbound", "holder", "agent"];

/** ServiceAccounts that hooks recreate; those that only a Job uses, or that only a test creates, do no harm. */
const HOOKS = {
  "helm-hook": { "helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-weight": "-5" },
  "argo-hook": {
    "argocd.argoproj.io/hook": "PreSync",
    "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation",
  },
  "job-hook": { "helm.sh/hook": "pre-install" },
  "test-hook": { "helm.sh/hook": "test" },
};

/** Where things are planted. */
interface Ground {
  readonly admin: Admin;
  readonly namespace: string;
  readonly pathOf: (resource: string) => string;
  readonly create: (
    resource: string,
    name: string,
    body?: object,
    metadata?: object,
  ) => Promise<{ metadata: { uid: string } }>;
}

/** Pods for which the kubelet gets no token now; one for which it got none an hour ago, and one that lacks another volume. */
async function plantTokenFailures({ namespace, create }: Ground): Promise<void> {
  const noToken = 'MountVolume.SetUp failed for volume "kube-api-access-x" : failed to fetch token: ';
  const denied = `${noToken}serviceaccounts "mounts" is forbidden: no tokens here`;
  const token = `token "mounts"/"${namespace}"/[]string(nil)/3607/v1.BoundObjectReference{Kind:"Pod"}`;
  const expired = `MountVolume.SetUp failed for volume "x" : ${token} expired and refresh failed: context deadline exceeded`;
  const failures = [
    ["no-token", denied, 60],
    ["expired-token", expired, 60],
    ["had-no-token", denied, 3600],
    ["no-file", 'MountVolume.SetUp failed for volume "c" : configmap "c" not found', 60],
  ] as const;
  for (const [name, message, ageSeconds] of failures) {
    const { uid } = (await create("pods", name, pod("mounts"))).metadata;
    const lastTimestamp = ago(ageSeconds);
    await create("events", `${name}.1`, {
      ...{ type: "Warning", reason: "FailedMount", message, firstTimestamp: lastTimestamp, lastTimestamp, count: 3 },
      involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name, uid },
      source: { component: "kubelet" },
    });
  }
}

/** Controllers that log persistent 401s, a single one, and 403s, one of them without any binding; those that have ended, that try a right twice, and that are well. */
function logsOf(namespace: string): Record<string, string> {
  const unauthorized = `E1120 reflector.go:227] "Failed to watch" err="failed to list *v1.Pod: Unauthorized" ${LOG_WORD}`;
  const forbidden = (account: string): string =>
    `pods is forbidden: User "system:serviceaccount:${namespace}:${account}" cannot list resource "pods" in API group "" ${LOG_WORD}`;
  return {
    unbound: lines(forbidden("unbound"), 10),
    rejected: lines(unauthorized, 10),
    "rejected-once": lines(unauthorized, 1),
    denied: lines(forbidden("logging"), 10),
    probing: lines(forbidden("logging"), 2),
    well: lines(`synced 401 objects ${LOG_WORD}`, 10),
    ended: lines(unauthorized, 10),
  };
}

/** The container of a pod has run for 20 minutes. */
function start({ admin, pathOf }: Ground, name: string, phase: string): Promise<unknown> {
  const state = { running: { startedAt: ago(1200) } };
  const status = { name: "main", ready: true, restartCount: 0, image: "none", imageID: "none", state };
  return admin.patch(`${pathOf("pods")}/${name}/status`, { status: { phase, containerStatuses: [status] } });
}

/** A Lease that its running holder does not renew; one whose holder is gone, and one that is fresh. */
async function plantLeases({ create }: Ground): Promise<void> {
  const leases = [
    ["stale", "holder_6f1c", 600],
    ["abandoned", "deleted-pod_6f1c", 600],
    ["fresh", "holder_6f1c", -600],
  ] as const;
  for (const [name, holderIdentity, ageSeconds] of leases) {
    const renewTime = ago(ageSeconds).replace("Z", ".000000Z");
    await create("leases", name, { spec: { holderIdentity, leaseDurationSeconds: 1, renewTime } });
  }
}

/** Bindings in each convention, and one that never expires. */
async function plantBindings(ground: Ground): Promise<void> {
  const inDays = (days: number): string => ago(-days * 86_400);
  await bind(ground, "soon", "nobody", { annotations: { "controller-resilience.io/expires-at": inDays(3) } });
  await bind(ground, "ttl", "nobody", { annotations: { "janitor/ttl": "20d" } });
  await bind(ground, "later", "nobody", { annotations: { "janitor/expires": inDays(90) } });
  await bind(ground, "kyverno", "nobody", { labels: { "cleanup.kyverno.io/ttl": "2d" } });
  await bind(ground, "kept", "nobody", { annotations: { note: inDays(1) } });
}

async function bind({ namespace, create }: Ground, name: string, account: string, metadata: object = {}) {
  await create("rolebindings", name, roleBinding({ namespace, name, ...metadata }, VIEW, { namespace, name: account }));
}

function ago(seconds: number): string {
  return `${new Date(Date.now() - seconds * 1000).toISOString().slice(0, 19)}Z`;
}

/** Lines of a log, one each 25 seconds, as the kubelet serves them with timestamps. */
function lines(text: string, count: number): string {
  return Array.from({ length: count }, (_, i) => `${ago(25 * (count - i))} ${text}\n`).join("");
}

function pod(serviceAccountName: string): object {
  return { spec: { serviceAccountName, containers } };
}

/** A workload whose ServiceAccount has its name. */
function workload(name: string, spec: object): object {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { serviceAccountName: name, containers } };
  return { spec: { selector: { matchLabels: labels }, template, ...spec } };
}
