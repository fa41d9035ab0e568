import { setTimeout as sleep } from "node:timers/promises";
import { binding } from "../../enforcers/bindings";
import { EXPIRY } from "../../enforcers/rules";
import { SANDBOX_FAILED } from "../../../src/cluster/read/views";
import { createWorkload, NAME, type Scene, until } from "../scenario";
import { ROLE } from "./world";

const CRES = "/apis/controller-resilience.io/v1alpha1";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];

/** How often the operator carries out each action, whatever the fault: one pod is stale, one binding expires soon. */
export const ACTIONS: Readonly<Record<string, number>> = { "POST pods/eviction": 1, "PATCH rolebindings": 1 };

/** Name of the DaemonSet that is labelled as the agent of a network plugin, and of its ServiceAccount. */
export const AGENT = "agent";

/** Name of a Deployment whose healthy pods are created and deleted. */
export const CROWD = "crowd";

/** The sandbox failures end sooner, so they restart nothing. The stale pod is restarted without it, since it is older than its ServiceAccount. */
const NEVER_PERSISTENT = "10m";

/** The kubelet tries to start a pod again after 10 to 15 s. In milliseconds. */
const TRIED_AGAIN_MS = 15_000;

/** More than a second, so that creation times differ. In milliseconds. */
const OLDER_MS = 1_100;

/** Label of a ServiceAccount that was created after its pod. Creation times can't prove this, since they have whole seconds. */
export const RECREATED = "test.controller-resilience.io/recreated";

/** Paths of the objects of one namespace, by kind. */
export function pathsOf(namespace: string) {
  return {
    objects: `${CRES}/namespaces/${namespace}/controllerresiliences`,
    pods: `/api/v1/namespaces/${namespace}/pods`,
    accounts: `/api/v1/namespaces/${namespace}/serviceaccounts`,
    roleBindings: `${RBAC}/namespaces/${namespace}/rolebindings`,
    clusterRoleBindings: `${RBAC}/clusterrolebindings`,
    events: `/api/v1/namespaces/${namespace}/events`,
    deployments: `/apis/apps/v1/namespaces/${namespace}/deployments`,
    daemonSets: `/apis/apps/v1/namespaces/${namespace}/daemonsets`,
  };
}

/** Creates an object of each kind that the operator watches, so that some can be changed and deleted later. */
export async function prepare(scene: Scene): Promise<void> {
  const { admin, namespace } = scene;
  const paths = pathsOf(namespace);
  await Promise.all([createWorkload(scene, "Deployment", 1), createCrowd(scene), createAgent(scene)]);
  for (const name of ["changed", "doomed"]) {
    await bind(scene, "RoleBinding", name, 30 * DAY_MS);
    await bind(scene, "ClusterRoleBinding", name, 30 * DAY_MS);
    await admin.create(paths.objects, objectOf(name));
  }
  const targets = [
    { kind: "Deployment", name: NAME },
    { kind: "Deployment", name: CROWD },
    { kind: "DaemonSet", name: AGENT },
  ];
  const spec = {
    targets,
    tokenRestart: { minDuration: NEVER_PERSISTENT },
    bindingRenewal: { bindings: [{ kind: "RoleBinding", name: "soon" }], extendBy: "24h" },
  };
  await admin.create(paths.objects, { ...objectOf(NAME), spec });
}

/** Creates, changes and deletes objects of each kind; some of the changes require an action. */
export async function change(scene: Scene): Promise<void> {
  const { admin, namespace, node } = scene;
  const paths = pathsOf(namespace);
  await admin.create(paths.objects, objectOf("made"));
  await admin.patch(`${paths.objects}/changed`, { spec: { tokenRestart: { maxRestarts: 2 } } });
  await admin.delete(`${paths.objects}/doomed`);
  // The pod is now older than its ServiceAccount, also in whole seconds, and logs 401s.
  await sleep(OLDER_MS);
  await admin.delete(`${paths.accounts}/${NAME}`);
  await admin.create(paths.accounts, { metadata: { name: NAME, labels: { [RECREATED]: "true" } } });
  await node.reject(namespace, NAME);
  await removeOneOf(scene, CROWD);
  await admin.patch(`${paths.deployments}/${CROWD}`, { spec: { replicas: 3 } });
  await bind(scene, "RoleBinding", "soon", 7 * HOUR_MS);
  await bind(scene, "ClusterRoleBinding", "made", 40 * DAY_MS);
  const later = { metadata: { annotations: { [EXPIRY.ownExpiresAt]: at(60 * DAY_MS) } } };
  await admin.patch(`${paths.roleBindings}/changed`, later);
  await admin.patch(`${paths.clusterRoleBindings}/${namespace}-changed`, later);
  await admin.delete(`${paths.roleBindings}/doomed`);
  await admin.delete(`${paths.clusterRoleBindings}/${namespace}-doomed`);
  await admin.create(paths.events, sandboxEvent(scene));
}

/**
 * Runs `work` while the kubelet goes on trying to start the pod, as it does until the credential is valid. Needed where the operator learns
 * late of the failure: one that was not repeated for 90 s is over.
 */
export async function whileFailing<T>(scene: Scene, work: () => Promise<T>): Promise<T> {
  let count = 1;
  const timer = setInterval(() => void failAgain(scene, ++count).catch(() => undefined), TRIED_AGAIN_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** Counts a further failure of the sandbox, as the kubelet's recorder does. */
async function failAgain({ admin, namespace }: Scene, count: number): Promise<void> {
  const { events } = pathsOf(namespace);
  const { items } = await admin.get<{ items: { metadata: { name: string }; reason?: string }[] }>(events);
  for (const { metadata } of items.filter(({ reason }) => reason === SANDBOX_FAILED))
    await admin.patch(`${events}/${metadata.name}`, { count, lastTimestamp: at(AHEAD_MS) });
}

/** Deletes the objects that would need attention forever, and those that all namespaces share. */
export async function remove({ admin, namespace }: Scene): Promise<void> {
  const paths = pathsOf(namespace);
  for (const name of ["changed", "made"]) await admin.delete(`${paths.clusterRoleBindings}/${namespace}-${name}`);
  await admin.delete(paths.objects);
  await admin.delete(paths.events);
  await admin.delete(`/api/v1/namespaces/${namespace}`);
}

function objectOf(name: string): object {
  return {
    apiVersion: "controller-resilience.io/v1alpha1",
    kind: "ControllerResilience",
    metadata: { name },
    spec: { targets: [{ kind: "Deployment", name: "none" }], tokenRestart: {} },
  };
}

/** A binding of the workload's ServiceAccount that expires after this time. */
async function bind(scene: Scene, kind: string, name: string, leftMs: number): Promise<void> {
  const { admin, namespace } = scene;
  const paths = pathsOf(namespace);
  const shared = {
    role: ROLE,
    serviceAccount: { namespace, name: NAME },
    annotations: { [EXPIRY.ownExpiresAt]: at(leftMs) },
    renew: false,
  };
  if (kind === "RoleBinding") await admin.create(paths.roleBindings, binding({ ...shared, name, namespace }));
  else await admin.create(paths.clusterRoleBindings, binding({ ...shared, name: `${namespace}-${name}` }));
}

function at(leftMs: number): string {
  return new Date(Date.now() + leftMs).toISOString().replace(/\.\d+/, "");
}

async function createCrowd({ admin, namespace }: Scene): Promise<void> {
  const paths = pathsOf(namespace);
  await admin.create(paths.accounts, { metadata: { name: CROWD } });
  const containers = [{ name: "main", image: "none" }];
  const template = spec({ serviceAccountName: CROWD, containers, tolerations: [{ operator: "Exists" }] }, CROWD);
  await admin.create(paths.deployments, { metadata: { name: CROWD }, spec: { replicas: 2, ...template } });
  await untilReady({ admin, path: `${paths.deployments}/${CROWD}`, field: "readyReplicas", count: 2 });
}

async function createAgent({ admin, namespace }: Scene): Promise<void> {
  const paths = pathsOf(namespace);
  await admin.create(paths.accounts, { metadata: { name: AGENT } });
  const volumes = [{ name: "cni", hostPath: { path: "/etc/cni/net.d" } }];
  const volumeMounts = [{ name: "cni", mountPath: "/host/etc/cni/net.d" }];
  const containers = [{ name: "main", image: "none", volumeMounts }];
  const template = spec({ serviceAccountName: AGENT, hostNetwork: true, containers, volumes }, AGENT);
  await admin.create(paths.daemonSets, { metadata: { name: AGENT }, spec: template });
  await untilReady({ admin, path: `${paths.daemonSets}/${AGENT}`, field: "numberReady", count: 1 });
  // Failures count only if its agent has been Ready for longer than a node's clock may be wrong.
  const { items } = await admin.get<{ items: { metadata: { name: string } }[] }>(
    `${paths.pods}?labelSelector=app%3D${AGENT}`,
  );
  const conditions = [{ type: "Ready", status: "True", lastTransitionTime: at(-HOUR_MS) }];
  for (const { metadata } of items)
    await admin.patch(`${paths.pods}/${metadata.name}/status`, { status: { conditions } });
}

function spec(pod: object, app: string): object {
  return { selector: { matchLabels: { app } }, template: { metadata: { labels: { app } }, spec: pod } };
}

async function untilReady(
  workload: Pick<Scene, "admin"> & { path: string; field: string; count: number },
): Promise<void> {
  const { admin, path, field, count } = workload;
  await until(`pods of ${path}`, async () => {
    const { status } = await admin.get<{ status: Record<string, number> }>(path);
    return status[field] === count;
  });
}

async function removeOneOf({ admin, namespace }: Scene, app: string): Promise<void> {
  const { pods } = pathsOf(namespace);
  const list = await admin.get<{ items: { metadata: { name: string } }[] }>(`${pods}?labelSelector=app%3D${app}`);
  const [first] = list.items;
  if (first !== undefined) await admin.delete(`${pods}/${first.metadata.name}`);
}

/** Time by which the clock of the Event's node is ahead, in milliseconds: the operator goes by the API server's. */
const AHEAD_MS = 600_000;

/** An Event as the kubelet's recorder writes it when a network plugin's credential is answered 401. */
function sandboxEvent({ namespace, node }: Scene): object {
  const cause = "error getting ClusterInformation: connection is unauthorized: Unauthorized";
  return {
    metadata: { generateName: "web-" },
    involvedObject: { kind: "Pod", namespace, name: "web-1" },
    reason: SANDBOX_FAILED,
    message: `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "5d": plugin type="calico" failed (add): ${cause}`,
    type: "Warning",
    source: { component: "kubelet", host: node.name },
    firstTimestamp: at(AHEAD_MS),
    lastTimestamp: at(AHEAD_MS),
    count: 1,
  };
}
