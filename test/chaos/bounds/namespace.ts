import { setTimeout as sleep } from "node:timers/promises";
import { OWNER_UID_LABEL } from "../../../src/api/names";
import { GoneError } from "../../../src/core/errors";
import { describeCall } from "../calls";
import type { Rig } from "../rig";
import { createWorkload, protect, readObject, type Scene, until } from "../scenario";
import type { Finding } from "../suite";

const FLOW_SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";

/** The API server's times are whole seconds, and a pod has to be older than its ServiceAccount by one; in milliseconds. */
const A_SECOND_LATER_MS = 2_000;

/** Lines of warnings and errors for one namespace: a handful of writes that come too late, and none of them again and again. */
const MOST_COMPLAINTS = 20;

/** Longer than a loaded machine takes; in milliseconds. */
const PATIENCE_MS = 240_000;

/** A namespace is deleted while a pod in it is replaced and flows are isolated for it, and others with it. */
export async function deleted(rig: Rig, others: readonly Scene[], print: (line: string) => void): Promise<Finding> {
  const scene = await rig.scene("deleted");
  const uid = await begin(scene);
  const complaintsBefore = complaints(rig).length;
  const all = [scene, ...others];
  await Promise.all(all.map(({ admin, namespace }) => admin.delete(`/api/v1/namespaces/${namespace}`)));
  print(`${all.length} namespaces are being deleted, one in the middle of two remedies`);
  await until(
    "the namespaces to be gone",
    async () => (await Promise.all(all.map(isGone))).every(Boolean),
    PATIENCE_MS,
  );
  const left = (await flowSchemas(scene, uid)).length;
  const complained = complaints(rig).slice(complaintsBefore);
  void rig.proxy.watch({ namespace: scene.namespace, kill: rig.kill });
  await sleep(A_SECOND_LATER_MS);
  const { writes } = rig.proxy;
  print(`all are gone; ${left} FlowSchemas left, ${complained.length} warnings and errors`);
  const most = MOST_COMPLAINTS * all.length;
  return {
    fault: `${all.length} namespaces deleted, one in the middle of an eviction and an isolation`,
    times: all.length,
    promised: `they go, nothing is left, no more than ${most} complaints, no write after`,
    seen: `all gone, ${left} FlowSchemas left, ${complained.length} complaints, ${writes.length} writes after`,
    failures: [
      ...(left > 0 ? [`${left} FlowSchemas are left`] : []),
      ...(complained.length > most ? [`${complained.length} complaints, such as ${complained.at(-1) ?? ""}`] : []),
      ...writes.map(write => `after the namespace had gone: ${describeCall(write)}`),
    ],
  };
}

/** Returns the uid of the object when both remedies are under way. */
async function begin(scene: Scene): Promise<string> {
  const { admin, namespace, node } = scene;
  await createWorkload(scene, "Deployment", 1);
  await sleep(A_SECOND_LATER_MS);
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await admin.delete(`${account}/web`);
  await admin.create(account, { metadata: { name: "web" } });
  await node.reject(namespace);
  await protect(scene, "Deployment", { tokenRestart: {}, flowIsolation: {} });
  let uid = "";
  await until("both remedies to be under way", async () => {
    const object = await readObject(scene);
    uid = object?.metadata.uid ?? "";
    return (object?.status?.restarts?.length ?? 0) > 0 && (await flowSchemas(scene, uid)).length > 0;
  });
  return uid;
}

async function flowSchemas({ admin }: Scene, uid: string): Promise<readonly unknown[]> {
  const query = `labelSelector=${encodeURIComponent(`${OWNER_UID_LABEL}=${uid}`)}`;
  return (await admin.get<{ items: unknown[] }>(`${FLOW_SCHEMAS}?${query}`)).items;
}

async function isGone({ admin, namespace }: Scene): Promise<boolean> {
  try {
    await admin.get(`/api/v1/namespaces/${namespace}`);
    return false;
  } catch (error) {
    return error instanceof GoneError;
  }
}

function complaints({ operator }: Rig): string[] {
  return operator.log.filter(({ level }) => level === "warn" || level === "error").map(line => JSON.stringify(line));
}
