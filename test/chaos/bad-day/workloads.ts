import type { ControllerResilience } from "../../../src/api/controller-resilience";
import { forEach } from "../bounds/many";
import { POOL_LABEL } from "../node";
import { createWorkload, protect, readObject, type Scene, until } from "../scenario";

/** Longer than any step takes on a busy machine, in milliseconds. */
const PATIENCE_MS = 240_000;

/** Creates Deployments with one pod and a ServiceAccount each, protects each by an object of its name, and waits until their tokens are accepted. */
export async function protectedWorkloads(
  scene: Scene,
  names: readonly string[],
  tokenRestart: object = {},
): Promise<void> {
  await forEach(names.length, async i => {
    await createWorkload(scene, "Deployment", 1, names[i]);
    await protect(scene, "Deployment", { tokenRestart }, names[i]);
  });
  await untilAccepted(scene, names);
}

/** Creates a DaemonSet on the nodes of a pool, and waits for its pods. */
export async function createDaemonSet(
  scene: Scene,
  { name, pool, pods, spec = {} }: { name: string; pool: string; pods: number; spec?: object },
): Promise<void> {
  const { admin, namespace } = scene;
  await admin.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  const labels = { app: name };
  const template = {
    metadata: { labels },
    spec: {
      serviceAccountName: name,
      nodeSelector: { [POOL_LABEL]: pool },
      tolerations: [{ operator: "Exists" }],
      containers: [{ name: "main", image: "none" }],
      ...spec,
    },
  };
  const path = `/apis/apps/v1/namespaces/${namespace}/daemonsets`;
  await admin.create(path, { metadata: { name }, spec: { selector: { matchLabels: labels }, template } });
  const isReady = async (): Promise<boolean> => {
    const { status } = await admin.get<{ status: { numberReady?: number } }>(`${path}/${name}`);
    return status.numberReady === pods;
  };
  await until(`the ${pods} pods of DaemonSet ${name}`, isReady, PATIENCE_MS);
}

/** Makes the tokens of these workloads' pods invalid, and their pods say so. */
export async function recreateServiceAccounts(scene: Scene, names: readonly string[]): Promise<void> {
  const path = `/api/v1/namespaces/${scene.namespace}/serviceaccounts`;
  await forEach(names.length, async i => {
    await scene.admin.delete(`${path}/${names[i] ?? ""}`);
    await scene.admin.create(path, { metadata: { name: names[i] } });
    await scene.node.reject(scene.namespace, names[i]);
  });
}

/** The scene's objects of these names. */
export async function objectsOf(scene: Scene, names: readonly string[]): Promise<ControllerResilience[]> {
  const objects = await Promise.all(names.map(name => readObject(scene, name)));
  return objects.flatMap(object => object ?? []);
}

/** Restarts of the objects, and whether each of them has helped. */
export function restartsOf(objects: readonly ControllerResilience[]) {
  return objects.flatMap(({ status }) => status?.restarts ?? []);
}

/** The reason of a condition; "" without it. */
export function reasonOf({ status }: ControllerResilience, type: string): string {
  return status?.conditions?.find(condition => condition.type === type)?.reason ?? "";
}

/** The message of a condition; "" without it. */
export function messageOf({ status }: ControllerResilience, type: string): string {
  return status?.conditions?.find(condition => condition.type === type)?.message ?? "";
}

/** Whether a person must act for the object. */
export function isStalled({ status }: ControllerResilience): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Stalled" && is === "True") ?? false;
}

/** Waits until the tokens of these workloads are accepted. */
export async function untilAccepted(scene: Scene, names: readonly string[], withinMs = PATIENCE_MS): Promise<void> {
  const look = async (): Promise<boolean> => {
    const objects = await objectsOf(scene, names);
    return objects.length === names.length && objects.every(one => reasonOf(one, "TokensAccepted") === "Accepted");
  };
  await until("the tokens to be accepted", look, withinMs);
}

/** The uids of the pods with that label `app`, or of all, that are not being deleted. */
export async function podsOf({ admin, namespace }: Scene, app?: string): Promise<readonly PodOnNode[]> {
  const query = app === undefined ? "" : `?labelSelector=app%3D${app}`;
  const { items } = await admin.get<{ items: PodOnNode[] }>(`/api/v1/namespaces/${namespace}/pods${query}`);
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/** The parts of a pod that stories compare. */
interface PodOnNode {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}
